"""With `store_text: none` what was said is nowhere: not in the store, the spool, the log, the metrics or the answers of operators' endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.support.upstream import Upstream, fails, says

QUESTION, ANSWER = "Where did Wolfgang Quizzelbert live?", "In Zanzaborough."
SAID = (b"Quizzelbert", b"Zanzaborough", b"sk-private")
HEADERS = {"authorization": "Bearer sk-private-key"}
ROUTES: dict[str, Any] = {
    "buffered": {},
    "shadow": {"mode": "shadow"},
    "append": {"stream": "append"},
    "kept samples": {"sampling": {"cache": {"ttl_s": 60}}},
    "editor that fails": {"rewriting": {"by": "editor"}, "sampling": {"share": False}},
    "judge that talks": {"equivalence": "llm", "judge": {"strict": True}},
}


def _written(folder: Path, lines: list[Any]) -> bytes:
    files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return files + orjson.dumps(lines)


def _ask(address: str, *, stream: bool) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}], "stream": stream}
    return httpx.post(address + "/v1/chat/completions", json=body, headers=HEADERS, timeout=20)


@pytest.mark.parametrize("kind", ROUTES)
def test_nothing_that_was_said_is_kept(serve: Any, upstream: Upstream, tmp_path: Path, lines: Any, kind: str) -> None:
    """Whatever the route does with the answer, and whatever the upstream says when asked to edit or to judge."""
    upstream.default = says(ANSWER, ANSWER, "In Potsdam.")
    address = serve(store_text="none", **ROUTES[kind])
    assert _ask(address, stream=kind == "append").status_code == 200
    name = lines.requests(1)[0]["id"]
    pages = [httpx.get(address + path).content for path in (f"/v1/audit/{name}", "/metrics")]
    httpx.post(address + "/v1/feedback", json={"id": name, "correct": False})
    for page in ("surprises", f"answers/{name}", "review"):
        pages.append(httpx.get(f"{address}/dashboard/{page}").content)
    found = _written(tmp_path, lines) + b"".join(pages)
    assert name.encode() in found
    assert not [said for said in SAID if said in found]


def test_an_upstream_that_quotes_the_question_is_quoted_nowhere(
    serve: Any, upstream: Upstream, tmp_path: Path, lines: Any
) -> None:
    """The client reads the upstream's own error; the row and the line hold a code."""
    upstream.default = fails(400, {"error": {"message": f"cannot answer: {QUESTION}"}})
    reply = _ask(serve(store_text="none"), stream=False)
    assert "Quizzelbert" in reply.text
    assert lines.requests(1)
    assert not [said for said in SAID if said in _written(tmp_path, lines)]


def test_a_fault_that_quotes_the_question_is_logged_without_it(
    serve: Any, upstream: Upstream, tmp_path: Path, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a library's exception the log holds the kind and the place, and of its causes too."""
    from hedgerow.lexicon import Retriever

    def broken(*_: Any, **__: Any) -> Any:
        try:
            float(ANSWER)
        except ValueError as error:
            raise KeyError(QUESTION) from error

    monkeypatch.setattr(Retriever, "nearest", broken)
    upstream.default = says(ANSWER, ANSWER, "In Potsdam.")
    assert _ask(serve(store_text="none"), stream=False).json()["hedgerow"]["reason"] == "step_fault"
    (line,) = lines.of("step_failed")
    assert "KeyError" in line["exception"]
    assert "ValueError" in line["exception"]
    assert "in broken" in line["exception"]
    assert not [said for said in SAID if said in _written(tmp_path, lines)]


def test_rows_that_wait_in_the_spool_hold_no_text(serve: Any, upstream: Upstream, tmp_path: Path, lines: Any) -> None:
    """The store goes away under the proxy; what waits for it is what it would have got."""
    import sqlite3

    upstream.default = says(ANSWER, ANSWER, "In Potsdam.")
    address = serve(store_text="none")
    with sqlite3.connect(tmp_path / "audit.db") as taken:
        taken.execute("ALTER TABLE answers RENAME TO elsewhere")
    assert _ask(address, stream=False).status_code == 200
    assert list((tmp_path / "spool").glob("*.spool"))
    assert not [said for said in SAID if said in _written(tmp_path, lines)]
