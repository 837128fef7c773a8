"""HTML reports of evaluations and comparisons: one file each, without scripts or external files.

`hedgerow.proxy.monitoring.diagrams` computes the diagrams, the templates draw them as SVG.
"""

from .page import render, render_comparison

__all__ = ["render", "render_comparison"]
