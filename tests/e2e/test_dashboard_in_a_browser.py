"""The dashboard in a real Chromium: every page, review, and signing in, with keys, on a telephone and in the dark."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from tests.contract.test_costs import PRICED
from tests.contract.test_long_answers import ANSWERS, UNCALIBRATED
from tests.support.browser import PATIENCE_MS, Watched, hindrances, violations
from tests.support.keys import new_key
from tests.support.promises import certificate, stored
from tests.support.traffic import CAPITALS, ask, fill
from tests.support.upstream import Upstream, completion, says

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # playwright's own pipes, at its end
AUSTRALIA = "What is the capital of Australia?"


def test_a_reviewer_marks_claims(browser: Any, serve: Any, upstream: Upstream) -> None:
    """With the answer as a whole or alone; the next answer comes."""
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    names = [ask(address, upstream, "Tell me about the Atomium.", tuple(ANSWERS)) for _ in range(2)]
    with Watched(browser, address, 390) as page:
        page.goto("/dashboard/review")
        page.check("input[name=claim-2][value=wrong]")
        page.check("input[name=claim-0][value=right]")
        page.click("text=Claims only")
        page.wait_for_selector("text=1 waiting")
        page.check("input[name=claim-1][value=right]")
        page.focus("h1")
        page.locator("button[data-key=w]").click()
        page.wait_for_selector("text=Nothing waits")
    verdicts = []
    for name in names:
        row = httpx.get(f"{address}/v1/audit/{name}").json()
        of_claims = {v["claim"]: v["correct"] for v in row["claim_verdicts"]}
        verdicts.append(([v["correct"] for v in row["verdicts"]], of_claims))
    assert sorted(verdicts, key=lambda each: len(each[0])) == [([], {0: 1.0, 2: 0.0}), ([0.0], {1: 1.0})]


def everything_shown(serve: Any, upstream: Upstream, tmp_path: Path) -> tuple[str, list[str]]:
    """A proxy with prices, budgets, named keys, promises, and a map that is newer than its answers; and the answers' ids,
    the last one's a long answer."""
    store = f"sqlite:///{tmp_path}/audit.db"
    stored(store, certificate())
    test = {"name": "test", "upstream": "scripted", "mode": "on"}
    careful = {"name": "careful", "upstream": "scripted", "mode": "on", "map": "identity", "promises": {}}
    routes = [careful | {"match": {"model": "careful"}}]
    before = serve(settings=PRICED | {"routes": [*routes, test]})
    names = fill(before, upstream)
    names.append(ask(before, upstream, "Tell me about the Atomium.", tuple(ANSWERS)))
    secret = new_key(store, "search", team="web", requests_per_minute=600)
    made = Provenance(500, 0.4, "0" * 64, "semantic", "m", datetime.now(UTC))
    MapRegistry(tmp_path / "maps").add("newer", FittedMap(PlattMap(1.0, -0.5), made))
    budgets = [
        {"route": "*", "unit": "dollars", "soft": 0.2, "hard": 900.0},
        {"unit": "tokens", "hard": 100},
        {"key": "*", "unit": "tokens", "hard": 100_000},
    ]
    settings = PRICED | {"budgets": budgets, "routes": [*routes, test | {"map": "newer"}]}
    address = serve(settings=settings | {"access": {"require_key": False}})
    body = {"model": "m", "messages": [{"role": "user", "content": AUSTRALIA}]}
    for turn in range(2):
        upstream.default = says(*CAPITALS[AUSTRALIA])
        asked = body | {"messages": [{"role": "user", "content": f"{AUSTRALIA} ({turn})"}]}
        httpx.post(f"{address}/v1/chat/completions", json=asked, headers={"authorization": f"Bearer {secret}"})
    return address, names


def test_every_page_is_legible_everywhere(browser: Any, serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Wide and narrow, light and dark, with everything on them that there is: nothing that axe finds fault with, no sideways scrolling, WCAG AA
    contrast of all text, no request to elsewhere, no complaint."""
    from playwright.sync_api import expect

    address, names = everything_shown(serve, upstream, tmp_path)
    with Watched(browser, address) as page:
        page.goto("/dashboard/routes/test")
        page.select_option("#mode select", "shadow")
        page.fill("#mode [name=actor]", "Anna")
        page.fill("#mode [name=note]", "One day of measuring.")
        page.click("#mode button")
        expect(page.locator("body")).to_contain_text("Anna", timeout=PATIENCE_MS)  # a failure quotes the page
        seen = page.inner_text("main")
        assert "What today's map would have said" in seen
        assert "Budgets today" in seen
        page.goto("/dashboard")
        for _ in range(300):  # until the watcher has looked
            if page.locator(".promises").count():
                break
            page.wait_for_timeout(200)
            page.reload()
        assert page.locator(".promises").count()
    pages = (
        "/",
        "/dashboard",
        "/dashboard/routes/test",
        "/dashboard/requests",
        "/dashboard/requests?text=nothing+like+it",
        "/dashboard/surprises",
        f"/dashboard/answers/{names[0]}",
        f"/dashboard/answers/{names[-1]}",
        "/dashboard/keys",
        "/docs",
    )
    faults = []
    for width in (1280, 390):
        with Watched(browser, address, width) as page:
            for path in (*pages, "/dashboard/review", "/dashboard/changes"):
                page.goto(path)
                faults += hindrances(page, tmp_path / (path.strip("/").replace("/", "-") or "try"))
    assert faults == []


def test_charts_are_drawn_and_can_be_read_without_them(browser: Any, serve: Any, upstream: Upstream) -> None:
    """A canvas for each, and the same figures as a table; the reliability diagram says its error to a screen reader."""
    address = serve()
    fill(address, upstream)
    with Watched(browser, address) as page:
        page.goto("/dashboard")
        assert page.locator(".plot canvas").count() == page.locator("[data-plot]").count() >= 2
        page.click("summary >> nth=0")
        assert "28" in page.inner_text("details[open] table")
        labels = page.locator("svg.reliability").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
        assert any(label.startswith("Calibrated: generalised ECE 0.") for label in labels)


WRITTEN = """const write = CanvasRenderingContext2D.prototype.fillText;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  if (this.canvas.closest("[data-plot=tokens]")) written.push(text);
  return write.call(this, text, ...at);
};"""
"""Keeps what is written on the canvas of one chart."""


@pytest.mark.parametrize(
    ("top", "marks"),
    [
        (12_000, ["0", "5k", "10k"]),
        (12_000_000, ["0", "5M", "10M"]),
        (900, ["0", "250", "500", "750", "1000"]),
        (0.011, ["0", "0.005", "0.010"]),
    ],
)
def test_the_marks_of_an_axis_are_of_one_form(
    browser: Any, serve: Any, upstream: Upstream, top: float, marks: list[str]
) -> None:
    """One unit and as many decimals for each; times also where all came within seconds."""
    address = serve()
    fill(address, upstream, rounds=1, judged=False)
    moments = [1_700_000_000 + 10 * i for i in range(3)]
    columns = json.dumps([moments, [0, top / 2, top], [0, 0, 0], [0, 0, 0]])

    def other_figures(route: Any) -> None:
        page = route.fetch()
        chart = r'(data-plot="tokens".*?<script type="application/json">).*?(</script>)'
        route.fulfill(response=page, body=re.sub(chart, rf"\g<1>{columns}\g<2>", page.text(), flags=re.DOTALL))

    with Watched(browser, address) as page:
        page.add_init_script(WRITTEN)
        page.route("**/dashboard", other_figures)
        page.goto("/dashboard")
        written = page.evaluate("written")
    assert [text for text in written if ":" not in text] == marks
    assert len({text for text in written if ":" in text}) >= 2


def test_a_chart_without_figures_is_left_out(browser: Any, serve: Any, upstream: Upstream) -> None:
    """Where the upstream counts no tokens."""
    address = serve(mode="off")
    uncounted = completion("Canberra.")
    del uncounted["usage"]
    upstream.default = lambda *_: JSONResponse(uncounted)
    body = {"model": "m", "messages": [{"role": "user", "content": AUSTRALIA}]}
    assert httpx.post(address + "/v1/chat/completions", json=body).status_code == 200
    with Watched(browser, address) as page:
        page.goto("/dashboard")
        assert page.locator("[data-plot=requests]").count() == 1
        assert page.locator("[data-plot=tokens]").count() == 0


def test_review_by_single_keys(browser: Any, serve: Any, upstream: Upstream) -> None:
    """R and W record a verdict and bring the next answer; S brings the next without one."""
    address = serve()
    fill(address, upstream, rounds=1, judged=False)
    with Watched(browser, address) as page:
        page.goto("/dashboard/review")
        shown = []
        for key in ("s", "w", "r"):
            shown.append(page.get_attribute("[name=id]", "value"))
            with page.expect_navigation():
                page.keyboard.press(key)
        assert len(set(shown)) == 3
    rows = [httpx.get(f"{address}/v1/audit/{name}").json() for name in shown]
    assert [[verdict["correct"] for verdict in row["verdicts"]] for row in rows] == [[], [0.0], [1.0]]


def test_signing_in_leads_to_the_page_that_was_asked_for(browser: Any, serve: Any, upstream: Upstream) -> None:
    """With the keyboard alone; scripts cannot read the session."""
    address = serve(settings={"server": {"admin_key": "sesame, open yourself"}})
    seen = Watched(browser, address)
    with seen as page:
        page.goto("/dashboard/changes")
        page.wait_for_selector("#key:focus")
        assert violations(page) == []
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=That is not the admin key.")
        page.wait_for_selector("#key:focus")
        page.keyboard.type("sesame, open yourself")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Changes and alarms")
        assert page.url == f"{address}/dashboard/changes"
        assert page.evaluate("document.cookie") == ""
        page.click("text=Sign out")
        page.goto("/dashboard")
        assert "/sign-in" in page.url
        assert "403" in seen.complaints.pop()  # the wrong key, in the browser's console


def test_signing_in_and_what_is_refused_are_legible_everywhere(browser: Any, serve: Any, tmp_path: Path) -> None:
    """The door with a provider and a wrong key, a page that a role may not see, one that is not there: at both widths, light and dark."""
    oidc = {
        "name": "Example SSO", "issuer": "http://127.0.0.1:9", "client_id": "c", "client_secret": "secret-of-the-client",
        "public_url": "http://pages.test", "roles": {"staff": "viewer"},
    }  # fmt: skip
    address = serve(settings={"server": {"admin_key": "sesame, open yourself"}, "access": {"oidc": oidc}})
    viewer = new_key(f"sqlite:///{tmp_path}/audit.db", "anna", role="viewer")
    faults = []
    for width in (1280, 390):
        context = browser.new_context(viewport={"width": width, "height": 900}, base_url=address)
        page = context.new_page()
        page.goto("/dashboard/changes")
        faults += hindrances(page, tmp_path / "sign-in")
        page.fill("#key", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#wrong")
        faults += hindrances(page, tmp_path / "wrong-key")
        page.fill("#key", viewer)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Changes and alarms")
        faults += hindrances(page, tmp_path / "as-a-viewer")
        page.goto("/dashboard/review")
        page.wait_for_selector("text=This needs the role reviewer")
        faults += hindrances(page, tmp_path / "refused")
        page.goto("/dashboard/answers/hr_unknown")
        page.wait_for_selector("text=Not found")
        faults += hindrances(page, tmp_path / "missing")
        context.close()
    assert faults == []
