"""docs/python.md: its code runs as it stands and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import matplotlib
import pytest

from hedgerow.calibration import MapRegistry
from tests.support.servers import serving
from tests.support.upstream import Upstream, says

matplotlib.use("Agg")
PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning"
)  # LiteLLM's own
def test_the_page_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From samples to a map in the registry and on to other libraries, as one program."""
    litellm = pytest.importorskip("litellm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(litellm, "callbacks", [])
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    blocks = re.findall(r"```(python)?\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    printed = ""
    with serving(Upstream(default=says("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra."))) as address:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        for kind, text in blocks:
            if not kind:
                assert printed == text
                continue
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, str(PAGE), "exec"), names)
            printed = out.getvalue()
    assert MapRegistry(tmp_path / "maps").versions() == ("notebook-1",)
    matplotlib.pyplot.close("all")
