"""The pages of an evaluation, of a comparison, of an experiment and of a search for regimes: one HTML file without scripts, fonts or pictures from elsewhere.

`hedgerow.proxy.monitoring.diagrams` computes what is drawn, the templates draw it as SVG.
"""

from hedgerow.proxy.lab.report.page import render, render_comparison, render_experiment
from hedgerow.proxy.lab.report.regimes import render_regimes

__all__ = ["render", "render_comparison", "render_experiment", "render_regimes"]
