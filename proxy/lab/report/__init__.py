"""HTML reports of evaluations, comparisons and regimes: one file each, without scripts or external files.

`hedgerow.proxy.monitoring.diagrams` computes the diagrams, the templates draw them as SVG.
"""

from .page import render, render_comparison
from .regimes import render_regimes

__all__ = ["render", "render_comparison", "render_regimes"]
