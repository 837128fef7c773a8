"""The reference pages: whole, without a warning, and with every public name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hedgerow
from hedgerow.calibration import metrics

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_every_public_name_is_documented(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error::UserWarning:pdoc", ROOT / "docs" / "reference.py", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Warn" not in done.stderr
    face = (tmp_path / "hedgerow.html").read_text()
    assert [name for name in hedgerow.__all__ if name != "metrics" and f'id="{name}"' not in face] == []
    figures = (tmp_path / "hedgerow" / "metrics.html").read_text()
    assert [name for name in metrics.__all__ if f'id="{name}"' not in figures] == []
    assert "Parameters" in face
