"""The pages of an evaluation and of an experiment: one HTML file without scripts, fonts or pictures from elsewhere.

`hedgerow.proxy.monitoring.diagrams` computes what is drawn, the templates draw it as SVG.
"""

from hedgerow.proxy.lab.report.page import render, render_experiment

__all__ = ["render", "render_experiment"]
