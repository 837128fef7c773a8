"""The pages as a browser's requests meet them: who is let in, what a post must carry, what the headers forbid."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from starlette.routing import Mount, compile_path

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from tests.contract.test_failures import rows_of
from tests.support.traffic import CAPITALS, ask, fill
from tests.support.upstream import Upstream, fails, says

KEY = "correct horse battery staple"
LOCKED: Any = {"server": {"admin_key": KEY}}
PAGES = (
    "/",
    "/dashboard",
    "/dashboard/routes/test",
    "/dashboard/requests",
    "/dashboard/surprises",
    "/dashboard/review",
    "/dashboard/changes",
)
AUSTRALIA = "What is the capital of Australia?"


def csrf_of(html: str) -> str:
    """The token that a page's posts carry."""
    match = re.search(r'name="csrf" value="(\w+)"', html)
    assert match
    return match[1]


def lines_of(reply: httpx.Response) -> list[dict[str, Any]]:
    return [json.loads(line) for line in reply.text.splitlines()]


def test_every_page_is_served() -> None:
    """The addresses that the application hands to the pages are all that the pages have."""
    from hedgerow.proxy import app as own
    from hedgerow.proxy.dashboard import site

    handed = [re.compile(compile_path(path)[0].pattern) for path in own.PAGES]
    for route in site.routes():
        asked = route.path.replace("{", "").replace("}", "") + "/style.css" * isinstance(route, Mount)
        assert any(pattern.match(asked) for pattern in handed), asked


@pytest.mark.parametrize("path", PAGES)
def test_every_page_forbids_what_it_does_not_need(serve: Any, path: str) -> None:
    """No script, style, font or request from elsewhere, nothing inline, no frame; and the page holds none."""
    reply = httpx.get(serve() + path)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert not re.search(r'https?://(?!www\.w3\.org)|<style|style=|\son\w+="', reply.text)
    assert not re.search(r"<script(?! src=| type=.application/json.)", reply.text)


def test_an_empty_audit_says_what_to_do_next(serve: Any) -> None:
    """On every page that shows figures."""
    address = serve()
    for path, said in (
        ("/dashboard", "base_url"),
        ("/dashboard/routes/test", "ask a question here"),
        ("/dashboard/surprises", "Review some answers"),
        ("/dashboard/review", "Nothing waits"),
        ("/dashboard/changes", "No alarm was ever raised"),
    ):
        assert said in httpx.get(address + path).text, path


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "proxy.example"},
        {"x-forwarded-for": "203.0.113.9"},
        {"forwarded": "for=203.0.113.9"},
        {"host": "[::1"},
    ],
)
def test_without_a_key_the_pages_are_this_machines_alone(serve: Any, headers: dict[str, str]) -> None:
    """A name that leads here may be another site's, and a proxy before us serves others: both are refused."""
    address = serve()
    for path in PAGES:
        reply = httpx.get(address + path, headers=headers)
        assert reply.status_code == 403
        assert "server.admin_key" in reply.text
    assert httpx.post(address + "/try", json={}, headers=headers).status_code == 403


def test_with_a_key_every_page_asks_for_it(serve: Any) -> None:
    """Also on this machine; the form leads back to the page that was asked for, and to no other site."""
    address = serve(settings=LOCKED)
    for path in PAGES:
        reply = httpx.get(address + path)
        assert reply.status_code == 303
        assert reply.headers["location"].startswith("/sign-in?next=/")
    assert httpx.post(address + "/try", json={"question": "x"}).status_code == 403
    for elsewhere in ("//evil.example", "https://evil.example", "/\\evil.example"):
        reply = httpx.post(address + "/sign-in", params={"next": elsewhere}, data={"key": KEY})
        assert reply.headers["location"] == "/dashboard"


def test_signing_in_and_out(serve: Any) -> None:
    """The session is a cookie that scripts cannot read and other sites cannot send; a wrong key, or a forged cookie, opens nothing."""
    address = serve(settings=LOCKED)
    with httpx.Client(base_url=address) as client:
        assert "not the admin key" in client.post("/sign-in", data={"key": "guess"}).text
        assert not client.cookies
        reply = client.post("/sign-in", params={"next": "/dashboard/review"}, data={"key": KEY})
        assert reply.headers["location"] == "/dashboard/review"
        assert {"HttpOnly", "SameSite=strict"} <= set(reply.headers["set-cookie"].split("; "))
        assert KEY not in reply.headers["set-cookie"]
        page = client.get("/dashboard")
        assert page.status_code == 200
        assert client.post("/sign-out", data={"csrf": "0" * 64}).status_code == 403
        client.post("/sign-out", data={"csrf": csrf_of(page.text)})
        assert client.get("/dashboard").status_code == 303
    good = reply.cookies["hedgerow_session"]
    expiry, rest = good.split(".", 1)
    for forged in (f"{int(expiry) + 1}.{rest}", good[:-1] + ("0" if good[-1] != "0" else "1"), "", "x" * 64):
        assert httpx.get(address + "/dashboard", cookies={"hedgerow_session": forged}).status_code == 303


def test_a_session_ends(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After twelve hours the key is asked for again."""
    from hedgerow.proxy.dashboard import visitor

    address = serve(settings=LOCKED)
    cookies = httpx.post(address + "/sign-in", data={"key": KEY}).cookies
    assert httpx.get(address + "/dashboard", cookies=cookies).status_code == 200
    real = visitor.time.time
    monkeypatch.setattr(visitor.time, "time", lambda: real() + 12 * 3600 + 1)
    assert httpx.get(address + "/dashboard", cookies=cookies).status_code == 303


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}])
def test_another_sites_post_does_nothing(
    serve: Any, upstream: Upstream, tmp_path: Any, headers: dict[str, str]
) -> None:
    """Even with the cookie and the token; and neither does one of ours without the token."""
    address = serve()
    name = ask(address, upstream, AUSTRALIA, CAPITALS[AUSTRALIA])
    with httpx.Client(base_url=address) as client:
        token = csrf_of(client.get("/").text)
        form = {"csrf": token, "id": name, "correct": True}
        assert client.post("/verdict", json=form, headers=headers).status_code == 403
        assert client.post("/verdict", json=form | {"csrf": "0" * 64}).status_code == 403
        assert client.post("/verdict", json={"id": name, "correct": True}).status_code == 403
        assert not httpx.get(f"{address}/v1/audit/{name}").json()["verdicts"]
        assert client.post("/verdict", json=form).status_code == 200
    (verdict,) = httpx.get(f"{address}/v1/audit/{name}").json()["verdicts"]
    assert verdict["correct"] == 1.0


def test_a_trial_is_told_step_by_step(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Samples before confidence before wording; the last line names the row, which is an ordinary one."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    with httpx.Client(base_url=serve()) as client:
        form = {"csrf": csrf_of(client.get("/").text), "question": AUSTRALIA, "route": "test", "model": "m"}
        lines = lines_of(client.post("/try", json=form))
    whole = {name: html for line in lines for name, html in line.items()}
    assert "<b>6</b> of 10" in whole["samples"]
    assert "mean 60" in whole["confidence"].replace("\u202f", " ")
    assert "Canberra" in whole["wording"]
    assert 'aria-label="used"' in whole["hedges"]
    assert lines[-1]["end"]["status"] == "hedged"
    (row,) = rows_of(tmp_path, 1)
    assert (row["id"], row["status"], row["route"]) == (lines[-1]["end"]["id"], "hedged", "test")
    assert upstream.calls[0]["model"] == "m"


def test_an_answer_that_stands_as_it_is_is_not_compared_with_itself(
    serve: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The page said the same of the model's words and of Hedgerow's, which are one and the same."""
    made = Provenance(500, 0.4, "0" * 64, "semantic", "m", datetime.now(UTC))
    MapRegistry(tmp_path / "maps").add("kept", FittedMap(PlattMap(1.0, 0.0), made))
    address = serve(map="kept")
    asked = {name: ask(address, upstream, name, answers) for name, answers in CAPITALS.items()}
    hedged, plain = (
        httpx.get(f"{address}/dashboard/answers/{asked[name]}").text
        for name in (AUSTRALIA, "What is the capital of France?")
    )
    assert "a reader of Hedgerow's would believe it as it deserves" in hedged
    assert "The model's own words stand: a reader would" in plain
    assert "a reader of Hedgerow's" not in plain


def test_a_trial_that_fails_says_why(serve: Any, upstream: Upstream) -> None:
    """The stream has begun, so the sentence is its last line."""
    upstream.default = fails(500, {"error": {"message": "down"}})
    with httpx.Client(base_url=serve()) as client:
        form = {"csrf": csrf_of(client.get("/").text), "question": AUSTRALIA, "route": "test"}
        assert "error" in lines_of(client.post("/try", json=form))[-1]
        assert client.post("/try", json=form | {"question": "  "}).json()["error"]["message"] == "Type a question."
        assert client.post("/try", json=form | {"route": "no"}).status_code == 400
        assert client.post("/try", content=b"[1]", headers={"content-type": "application/json"}).status_code == 400
        assert client.post("/try", content=b"x" * 200_000).status_code == 400


def test_the_key_on_the_page_goes_upstream_and_nowhere_else(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Where the upstream takes the client's own key."""
    upstream.default = says("Paris.")
    with httpx.Client(base_url=serve()) as client:
        form = {"csrf": csrf_of(client.get("/").text), "question": "x?", "route": "test", "key": "sk-typed-in"}
        client.post("/try", json=form)
    assert upstream.headers[0]["authorization"] == "Bearer sk-typed-in"
    assert b"sk-typed-in" not in b"".join(path.read_bytes() for path in tmp_path.glob("audit.db*"))


def test_what_was_said_is_escaped(serve: Any, upstream: Upstream) -> None:
    """A question or an answer is text on every page that shows it, never markup."""
    address = serve()
    evil = "<img src=x onerror=alert(1)>"
    name = ask(address, upstream, evil, (f"It is {evil}.",) * 5)
    for path in (f"/dashboard/answers/{name}", "/dashboard/review"):
        html = httpx.get(address + path).text
        assert "&lt;img src=x" in html
        assert "<img" not in html


def test_the_overview_counts_what_happened(serve: Any, upstream: Upstream) -> None:
    """Requests, verdicts and how many were right, as the audit has them; a route that is not there is not found."""
    address = serve()
    fill(address, upstream)
    html = httpx.get(address + "/dashboard").text.replace("\u202f", " ")
    assert "28 requests" in html
    assert "Of 28 with a verdict, 71 % were right" in html
    assert "generalised ECE" in html
    assert "most of the time before it is left out of the charts" in html
    assert "uncalibrated" in httpx.get(address + "/dashboard/routes/test").text
    assert httpx.get(address + "/dashboard/routes/nowhere").status_code == 404
    assert httpx.get(address + "/dashboard/answers/hr_nowhere").status_code == 404


def test_text_that_is_not_kept_is_not_shown(serve: Any, upstream: Upstream) -> None:
    """The figures are, and the page says what is missing."""
    address = serve(store_text="none")
    name = ask(address, upstream, AUSTRALIA, CAPITALS[AUSTRALIA])
    html = httpx.get(f"{address}/dashboard/answers/{name}").text
    assert "The question was not kept" in html
    assert "Canberra" not in html
    assert "<b>6</b> of 10" in html


def test_decisions_are_told_in_words() -> None:
    """How pairs of answers were decided stands in the audit as codes; a page says what they mean."""
    from hedgerow.proxy.dashboard.render import decision_words

    assert decision_words("undecided") == "not decided by the rules"
    assert decision_words("veto:number") == "apart by number"
    assert decision_words("judge_failed:timeout") == "decided by judge failed, timeout"


def test_a_verdict_on_the_page_of_an_answer_counts(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Right or wrong is recorded as a person's; anything else records nothing. Both lead back to the answer."""
    with httpx.Client(base_url=serve()) as client:
        name = ask(str(client.base_url).rstrip("/"), upstream, AUSTRALIA, CAPITALS[AUSTRALIA])
        page = f"/dashboard/answers/{name}"
        fields = {"csrf": csrf_of(client.get(page).text)}
        for verdict in ("perhaps", "wrong"):
            reply = client.post(f"{page}/verdict", data=fields | {"verdict": verdict})
            assert (reply.status_code, reply.headers["location"]) == (303, page)
    with sqlite3.connect(tmp_path / "audit.db") as audit:
        assert audit.execute("SELECT answer_id, correct, kind FROM verdicts").fetchall() == [(name, 0.0, "human")]


def test_an_answer_that_is_skipped_comes_last(serve: Any, upstream: Upstream) -> None:
    """The queue goes on with the others; a verdict takes an answer out of it."""
    with httpx.Client(base_url=serve(), follow_redirects=True) as client:
        address = str(client.base_url).rstrip("/")
        names = {ask(address, upstream, question, answers) for question, answers in list(CAPITALS.items())[:2]}
        shown = client.get("/dashboard/review").text
        (first,) = set(re.findall(r'name="id" value="(\w+)"', shown))
        (second,) = names - {first}
        fields = {"csrf": csrf_of(shown), "skipped": ""}
        after_skip = client.post("/dashboard/review/verdict", data=fields | {"id": first, "verdict": "skip"}).text
        assert set(re.findall(r'name="id" value="(\w+)"', after_skip)) == {second}
        fields["skipped"] = first
        after_verdict = client.post("/dashboard/review/verdict", data=fields | {"id": second, "verdict": "right"}).text
        assert set(re.findall(r'name="id" value="(\w+)"', after_verdict)) == {first}


def test_the_api_is_described_where_people_look_for_it(serve: Any) -> None:
    """At `/docs`, with this server's address and every endpoint of its own; and a browser that asks for an icon gets one."""
    address = serve()
    page = httpx.get(address + "/redoc", follow_redirects=True)
    assert page.url.path == "/docs"
    assert f"{address}/v1/chat/completions" in page.text
    for path in httpx.get(address + "/openapi.json").json()["paths"]:
        assert path in page.text, path
    icon = httpx.get(address + "/favicon.ico", follow_redirects=True)
    assert icon.headers["content-type"] == "image/svg+xml"
