"""The page of an evaluation: one HTML file without scripts, fonts or pictures from elsewhere.

`figures` computes what is drawn, the templates draw it as SVG.
"""

from proxy.report.page import render

__all__ = ["render"]
