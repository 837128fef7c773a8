"""Reference pages of what `import hedgerow` offers, from its docstrings: `make reference` writes them to build/reference."""

from __future__ import annotations

import sys
from pathlib import Path

import pdoc

MODULES = (
    "hedgerow",
    *(f"!hedgerow.{name}" for name in ("answers", "calibrator", "diagram")),
    *(f"!hedgerow.{name}" for name in ("calibration[.]", "lexicon", "proxy")),
)
"""The package without the files whose names it offers itself, and without the parts whose pages are the files of this folder."""


def write(folder: Path) -> None:
    """The pages, as HTML without a server."""
    pdoc.render.configure(docformat="numpy", show_source=False, include_undocumented=False)
    pdoc.pdoc(*MODULES, output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
