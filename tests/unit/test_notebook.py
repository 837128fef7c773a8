"""docs/notebooks/first-map.ipynb: runs from its first cell to its last, and prints what it shows."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent
NAME = Path("docs", "notebooks", "first-map.ipynb")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Jupyter's own event loop and sockets
def test_the_notebook_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy, since it writes maps and a configuration beside itself. Cells tagged `varies` show the day, or what a model says."""
    (tmp_path / NAME).parent.mkdir(parents=True)
    shutil.copy(ROOT / NAME, tmp_path / NAME)
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shown = nbformat.read(ROOT / NAME, as_version=4)
    run = nbformat.read(tmp_path / NAME, as_version=4)
    where = {"metadata": {"path": str((tmp_path / NAME).parent)}}
    NotebookClient(run, timeout=300, resources=where).execute()
    for before, after in zip(shown.cells, run.cells, strict=True):
        if before.cell_type == "code" and "varies" not in before.metadata.get("tags", ()):
            assert _printed(after) == _printed(before), before.source
    assert "map notebook-1" in _printed(run.cells[-2])


def _printed(cell: Any) -> str:
    """What a cell printed. (Pictures, and drawings of values, differ by versions of the libraries.)"""
    return "".join(output.text for output in cell.outputs if output.output_type == "stream")
