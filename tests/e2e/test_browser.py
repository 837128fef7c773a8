"""The pages in a real Chromium: what a person sees, with keys, on a telephone, in the dark, and on paper."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from tests.contract.test_costs import PRICED
from tests.contract.test_long_answers import ANSWERS, UNCALIBRATED
from tests.support.keys import new_key
from tests.support.promises import certificate, stored
from tests.support.traffic import CAPITALS, ask, fill, judge
from tests.support.upstream import Upstream, fails, says

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE_MS = 90_000
"""As long as any test waits: the machine may be busy."""
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # playwright's own pipes, at its end
]
AXE = Axe().axe_script
AUSTRALIA = "What is the capital of Australia?"

CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (el) => { for (; el; el = el.parentElement) { const c = parse(getComputedStyle(el).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const el = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || !el.checkVisibility() || el.closest("script, title, .skip, textarea")) continue;
    const style = getComputedStyle(el), ink = parse(el instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(el))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""


def violations(page: Any) -> list[str]:
    """What axe finds on the page as it stands, each with the first place."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[str] = page.evaluate(
        """axe.run({resultTypes: ["violations"]}).then(
        (all) => all.violations.map((one) => `${one.id}: ${one.help} (${one.nodes[0].target})`))"""
    )
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests of this file."""
    with playwright.sync_playwright() as run:
        started = run.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Watched:
    """A page with everything that it asked for and complained about."""

    def __init__(self, browser: Any, address: str, width: int = 1280) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, base_url=address)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.page.on(
            "console", lambda line: self.complaints.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda r: self.complaints.append(r.url) if not r.url.startswith(address) else None)

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, kind: Any, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.complaints == []


def test_a_question_is_asked_and_judged_without_a_mouse(
    browser: Any, serve: Any, upstream: Upstream, tmp_path: Path
) -> None:
    """The answer with its groups, both curves, hedges and times appears; a verdict settles its divergence."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    address = serve()
    with Watched(browser, address) as page:
        page.goto("/")
        page.keyboard.type(AUSTRALIA)  # the field has the focus
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-verdict]")
        assert "Canberra" in page.inner_text(".answer")
        assert page.inner_text(".groups li.largest .size") == "6 of 10"
        assert page.locator(".curve.raw, .curve.calibrated").count() == 2
        assert page.locator("tr.used").count() == 1
        assert page.inner_text(".times").startswith("sample")
        page.focus('[data-verdict="false"]')
        page.keyboard.press("Enter")
        page.wait_for_selector("text=A reader who believed the wording is")
        page.screenshot(path=tmp_path / "try.png", full_page=True)
        row = httpx.get(
            address + page.get_attribute("text=Its audit row", "href").replace("/dashboard/answers", "/v1/audit")
        ).json()
        assert [verdict["correct"] for verdict in row["verdicts"]] == [0.0]
        page.click("text=Its audit row")
        assert page.inner_text("h1") == AUSTRALIA


@pytest.mark.parametrize("width", [1280, 390])
def test_an_answer_on_the_page_is_usable_by_everyone(
    browser: Any, serve: Any, upstream: Upstream, tmp_path: Path, width: int
) -> None:
    """Both voices with what a reader believes, in light and dark; a term opens by Tab and by a tap, inside the window, and Escape puts it away."""
    upstream.default = says(*CAPITALS[AUSTRALIA])
    with Watched(browser, serve(), width) as page:
        page.goto("/")
        page.keyboard.type(AUSTRALIA)
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-verdict]")
        voices = page.inner_text(".voices")
        assert re.search(r"The model alone\s+Canberra\.\s+sounds 93.%", voices)
        assert re.search(r"Hedgerow\s+.*Canberra.*\s+sounds \d\d.% sure", voices)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == []
            assert page.evaluate(CONTRASTS) == []
            page.screenshot(path=tmp_path / f"answer-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        terms = page.locator("#story .term:visible")
        for at in range(terms.count()):
            term, tip = terms.nth(at), terms.nth(at).locator(".tip")
            term.focus()
            assert tip.is_visible()
            place = tip.bounding_box()
            assert place["x"] >= 0
            assert place["x"] + place["width"] <= width
            page.keyboard.press("Escape")
            assert not tip.is_visible()
        surprise = page.locator("#story .term", has_text="FD ").nth(1)
        page.evaluate("document.activeElement.blur()")
        surprise.hover()
        assert "as surprising as a 1-in-" in surprise.locator(".tip").inner_text()
        assert violations(page) == []


def test_what_asks_for_no_claim_is_answered_plainly_and_says_why(browser: Any, serve: Any, upstream: Upstream) -> None:
    upstream.default = says("Hello! How can I help?")
    with Watched(browser, serve()) as page:
        page.goto("/")
        page.keyboard.type("Hello, how are you?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".wording .note")
        assert page.inner_text(".wording .answer") == "Hello! How can I help?"
        assert "Nothing is asked that could be right or wrong" in page.inner_text(".wording .note")
        # samples stay until the page is drawn anew
        page.wait_for_function("!document.querySelector('.voices, .groups, .curve')")


def test_an_error_says_what_the_upstream_says(browser: Any, serve: Any, upstream: Upstream) -> None:
    upstream.default = fails(401, {"error": {"message": "Incorrect API key provided: sk-x."}})
    with Watched(browser, serve()) as page:
        page.goto("/")
        page.keyboard.type(AUSTRALIA)
        page.keyboard.press("Enter")
        page.wait_for_selector("#error:not([hidden])")
        said = "the upstream answered with status 401: Incorrect API key provided: sk-x."
        assert page.inner_text("#error") == said
        assert violations(page) == []


def test_answers_appear_steadily(browser: Any, serve: Any, upstream: Upstream) -> None:
    """One line for every answer from the first moment to the last: text comes into it, and no line moves or starts again."""
    at_once = says(*CAPITALS[AUSTRALIA])

    async def slow(request: Any, body: Any) -> Any:
        await asyncio.sleep(0.3)
        return at_once(request, body)

    upstream.default = slow
    with Watched(browser, serve(upstream_settings={"honours_n": False})) as page:
        page.goto("/")
        page.evaluate(
            """() => { document.querySelector('#story').hidden = false; window.seen = [];
            const place = document.querySelector('[data-section=samples]');
            new MutationObserver(() => { const all = [...place.querySelectorAll('.drawing li')].map((line) => line.textContent);
              if (all.length) window.seen.push({all, moving: document.getAnimations().length}); }).observe(place, {childList: true}); }"""
        )
        page.keyboard.type(AUSTRALIA)
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-verdict]")
        seen = page.evaluate("window.seen")
        assert {len(moment["all"]) for moment in seen} == {10}
        assert {moment["moving"] for moment in seen} == {0}


def test_claims_are_opened_and_judged_one_by_one_with_keys(browser: Any, serve: Any, upstream: Upstream) -> None:
    """Each with the answers that say so; what is pressed settles that claim alone, and the focus stays with it."""
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED)
    with Watched(browser, address, 390) as page:
        page.goto("/")
        page.keyboard.type("Tell me about the Atomium.")
        page.keyboard.press("Enter")
        page.wait_for_selector("#was-it")
        claims = page.locator(".claims > li")
        assert claims.count() == 4
        assert "It is 102 metres tall." in claims.nth(2).inner_text()
        assert "its words are in 4 of 9" in claims.nth(2).inner_text()
        assert not claims.nth(2).locator(".bearings").is_visible()
        claims.nth(2).locator("summary").focus()
        page.keyboard.press("Enter")
        assert claims.nth(2).locator(".bearings li").count() == 9
        assert "Answer 3 has its words\nIt is 102 metres tall." in claims.nth(2).locator(".says").nth(0).inner_text()
        assert claims.nth(2).locator(".silent, .against").nth(0).inner_text().endswith("It is 165 metres tall.")
        for _ in range(3):  # past the term "Raw" and "Right"
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # "Wrong"
        page.wait_for_selector("text=Judged wrong.")
        assert page.evaluate("document.activeElement.textContent").startswith("Judged wrong.")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        row = httpx.get(
            address + page.get_attribute("text=Its audit row", "href").replace("/dashboard/answers", "/v1/audit")
        ).json()
        assert [(told["claim"], told["correct"]) for told in row["claim_verdicts"]] == [(2, 0.0)]
        assert row["verdicts"] == []


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
    told = []
    for name in names:
        row = httpx.get(f"{address}/v1/audit/{name}").json()
        told.append(
            ([v["correct"] for v in row["verdicts"]], {v["claim"]: v["correct"] for v in row["claim_verdicts"]})
        )
    assert sorted(told, key=lambda each: len(each[0])) == [([], {0: 1.0, 2: 0.0}), ([0.0], {1: 1.0})]


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
    address, names = everything_shown(serve, upstream, tmp_path)
    with Watched(browser, address) as page:
        page.goto("/dashboard/routes/test")
        page.select_option("#mode select", "shadow")
        page.fill("#mode [name=actor]", "Anna")
        page.fill("#mode [name=note]", "One day of measuring.")
        page.click("#mode button")
        playwright.expect(page.locator("body")).to_contain_text(
            "Anna", timeout=PATIENCE_MS
        )  # where it fails, it says what the page says
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
                if (needed := page.evaluate("document.documentElement.scrollWidth")) > width:
                    faults.append((path, f"{needed} of {width} px"))
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    faults += [(path, scheme, one) for one in page.evaluate(CONTRASTS) + violations(page)]
                    name = path.strip("/").replace("/", "-") or "try"
                    page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)
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


def test_review_by_single_keys(browser: Any, serve: Any, upstream: Upstream) -> None:
    """R and W tell the audit and bring the next; S brings the next and tells nothing."""
    address = serve()
    names = fill(address, upstream, rounds=1, judged=False)
    with Watched(browser, address) as page:
        page.goto("/dashboard/review")
        shown = []
        for key in ("s", "w", "r"):
            shown.append(page.get_attribute("[name=id]", "value"))
            with page.expect_navigation():
                page.keyboard.press(key)
        assert len(set(shown)) == 3
    told = {name: [v["correct"] for v in httpx.get(f"{address}/v1/audit/{name}").json()["verdicts"]] for name in names}
    assert [told[name] for name in shown] == [[], [0.0], [1.0]]


def test_signing_in_leads_to_the_page_that_was_asked_for(browser: Any, serve: Any, upstream: Upstream) -> None:
    """With the keyboard alone; scripts cannot read the session."""
    address = serve(settings={"server": {"admin_key": "sesame"}})
    seen = Watched(browser, address)
    with seen as page:
        page.goto("/dashboard/changes")
        page.wait_for_selector("#key:focus")
        assert violations(page) == []
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=That is not the admin key.")
        page.wait_for_selector("#key:focus")
        page.keyboard.type("sesame")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Changes and alarms")
        assert page.url == f"{address}/dashboard/changes"
        assert page.evaluate("document.cookie") == ""
        page.click("text=Sign out")
        page.goto("/dashboard")
        assert "/sign-in" in page.url
        assert "403" in seen.complaints.pop()  # the wrong key, as the browser's console tells it


def test_signing_in_and_what_is_refused_are_legible_everywhere(browser: Any, serve: Any, tmp_path: Path) -> None:
    """The door with a provider and a wrong key, a page that a role may not see, one that is not there: at both widths, light and dark."""
    oidc = {
        "name": "Example SSO", "issuer": "http://127.0.0.1:9", "client_id": "c", "client_secret": "s",
        "public_url": "http://pages.test", "roles": {"staff": "viewer"},
    }  # fmt: skip
    address = serve(settings={"server": {"admin_key": "sesame"}, "access": {"oidc": oidc}})
    viewer = new_key(f"sqlite:///{tmp_path}/audit.db", "anna", role="viewer")
    faults = []

    def look(page: Any, name: str) -> None:
        if (needed := page.evaluate("document.documentElement.scrollWidth")) > width:
            faults.append((name, f"{needed} of {width} px"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            faults.extend((name, scheme, one) for one in page.evaluate(CONTRASTS) + violations(page))
            page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)

    for width in (1280, 390):
        context = browser.new_context(viewport={"width": width, "height": 900}, base_url=address)
        page = context.new_page()
        page.goto("/dashboard/changes")
        look(page, "sign-in")
        page.fill("#key", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("#wrong")
        look(page, "wrong-key")
        page.fill("#key", viewer)
        page.keyboard.press("Enter")
        page.wait_for_selector("text=Changes and alarms")
        look(page, "as-a-viewer")
        page.goto("/dashboard/review")
        page.wait_for_selector("text=This needs the role reviewer")
        look(page, "refused")
        page.goto("/dashboard/answers/hr_unknown")
        page.wait_for_selector("text=Not found")
        look(page, "missing")
        context.close()
    assert faults == []


def test_nothing_said_becomes_markup(browser: Any, serve: Any, upstream: Upstream) -> None:
    """A question and answers that are markup stay text, live and later."""
    evil = "<img src=x onerror=alert(1)>"
    address = serve()
    judge(address, ask(address, upstream, evil, (evil,) * 5), False)
    with Watched(browser, address) as page:
        page.goto("/")
        page.fill("#question", evil)
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-section=verdict] a")
        assert evil in page.inner_text("#story")
        for path in ("/dashboard", "/dashboard/surprises"):
            assert page.locator("main img").count() == 0
            page.goto(path)


def test_paper_and_stillness(browser: Any, serve: Any) -> None:
    """Printed pages leave out what cannot be pressed; who wants no motion gets none."""
    with Watched(browser, serve()) as page:
        page.goto("/")
        page.emulate_media(media="print")
        assert not page.is_visible("header nav")
        page.emulate_media(media="screen", reduced_motion="reduce")
        page.evaluate("document.querySelector('#story').hidden = false")
        page.evaluate(
            "document.querySelector('[data-section=samples]').innerHTML = '<ol class=drawing><li>x</li></ol>'"
        )
        assert page.evaluate("document.getAnimations().length") == 0
