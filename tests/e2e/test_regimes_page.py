"""The regimes of a route's map in a real Chromium."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Watched, hindrances
from tests.support.regimes import reads_questions

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # playwright's own pipes, at its end


def test_a_routes_page_shows_the_regimes_of_its_map(browser: Any, serve: Any, tmp_path: Path) -> None:
    """Sign, words, verdicts and how far off the confidence is, with its interval; readable at any width, by everybody."""
    reads_questions(tmp_path)
    address = serve()
    faults = []
    for width in (1280, 390):
        with Watched(browser, address, width) as page:
            page.goto("/dashboard/routes/test")
            rows = page.locator(".regimes tbody tr")
            assert rows.count() == 2
            first, second = (" ".join(rows.nth(i).inner_text().split()) for i in (0, 1))
            assert first.startswith("1 overconfident: court, trial, judge")
            assert re.search(
                r"\b90 33 % −47 −56 to −37 −47 −56 to −37\b", first.replace("\u202f", " ").replace("\xa0", " ")
            )
            assert second.startswith("2 underconfident 10 100")
            assert second.endswith("– –")
            faults += hindrances(page, tmp_path / "regimes")
    assert faults == []
