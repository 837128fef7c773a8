"""What the documents name is there: links, files, commands, configuration keys, metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hedgerow.proxy.outcomes import Reason, Status, Uncovered
from tests.support.tables import cases

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])


def _slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cases("page", PAGES, ids=_name)
def test_links_and_files_lead_somewhere(page: Path) -> None:
    """Links and pictures inside the project, their anchors, and paths named in code."""
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE)
            assert anchor in map(_slug, headings), link
    for named in re.findall(r"`((?:proxy|calibration|lexicon|benchmarks|tests|deploy|docs)/[\w./-]*)`", text):
        assert (ROOT / named).exists(), named


def test_the_readme_is_short() -> None:
    """Ten minutes of a newcomer."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 190


def test_statuses_and_reasons_are_explained_as_in_the_code() -> None:
    """docs/api.md lists every status and every reason with the sentence that the code has for it, and no other."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, flags=re.MULTILINE))
    reasons = text[text.index("## Reasons") : text.index("## The request header")]
    assert {code for code, _ in re.findall(r"^\| `(\w+)` \| (.*) \|$", reasons, flags=re.MULTILINE)} == set(Reason)
    assert {code: rows.get(code) for code in [*Status, *Reason]} == {code: code.sentence for code in [*Status, *Reason]}


def test_what_promises_do_not_cover_is_explained_as_in_the_code() -> None:
    """docs/promises.md lists every reason why no promise covers an answer."""
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text[text.index("| reason |") :], flags=re.MULTILINE))
    assert rows == {code: code.sentence for code in Uncovered}


def _commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        prose = re.sub(r"^```(?:python|diff)\n.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for line in prose.splitlines():
            for command in re.findall(r"(?:`|^\s*|&& )hedgerow ([a-z][^`#|]*)", line):
                yield _name(page), command


def test_commands_and_their_options_exist() -> None:
    """Every `hedgerow ...` that a document tells a reader to type."""
    from hedgerow.proxy.cli import COMMANDS

    seen = 0
    for page, typed in _commands():
        first, *words = typed.split()
        assert first in COMMANDS, f"{page}: hedgerow {typed}"
        command = COMMANDS[first].load(first)
        while words and not words[0].startswith("-") and hasattr(command, "commands"):
            name = words.pop(0)
            assert name in command.commands, f"{page}: hedgerow {typed}"
            command = command.commands[name]
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        wrong = {word for word in words if re.fullmatch(r"--[a-z-]+", word)} - options - {"--help"}
        assert not wrong, f"{page}: hedgerow {typed}"
        seen += 1
    assert seen > 30


def test_metrics_in_documents_and_alerts_exist() -> None:
    """The names in prose, in the alerts and in Grafana's dashboard."""
    known = set(re.findall(r"`(hedgerow_\w+)`", (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")))
    files = [*PAGES, *(path for path in (ROOT / "deploy").rglob("*") if path.suffix in (".yaml", ".json"))]
    for path in files:
        for name in re.findall(
            r"\b(hedgerow_[a-z_]+(?:_total|_seconds|_nats|_rows|_flight|_alarm|_yellow|_ece|_shift))\b",
            path.read_text(),
        ):
            assert name in known, f"{_name(path)}: {name}"
