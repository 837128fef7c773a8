"""One look for every picture of the evidence: dark on white, colour-blind safe (Okabe & Ito), legible at half its size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import ROOT

FOLDER = ROOT / "docs" / "evidence"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE = {
    "font.size": 12, "axes.titlesize": 13, "axes.labelsize": 12, "legend.fontsize": 11, "lines.linewidth": 2, "lines.markersize": 6,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.8,
    "axes.axisbelow": True, "legend.frameon": False, "text.color": "#111111", "axes.labelcolor": "#111111", "figure.facecolor": "white",
    "savefig.facecolor": "white", "svg.fonttype": "path",
}  # fmt: skip


@contextmanager
def picture(
    name: str, columns: int = 1, rows: int = 1, size: tuple[float, float] = (5.5, 4.2), **options: Any
) -> Iterator[Any]:
    """Axes to draw on, an array of them as `plt.subplots` gives it; saved as docs/evidence/<name>.svg, the same bytes every time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({**STYLE, "svg.hashsalt": name}):
        figure, axes = plt.subplots(
            rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="constrained", squeeze=False, **options
        )
        yield axes
        FOLDER.mkdir(parents=True, exist_ok=True)
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)
