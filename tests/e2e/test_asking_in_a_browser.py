"""The page on which anybody asks, in a real Chromium: with the keyboard, on a telephone, in the dark, and on paper."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.test_long_answers import ANSWERS, UNCALIBRATED
from tests.support.browser import Watched, hindrances, violations
from tests.support.traffic import CAPITALS, ask, judge
from tests.support.upstream import Upstream, fails, says

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # playwright's own pipes, at its end
AUSTRALIA = "What is the capital of Australia?"


def audit_row(address: str, page: Any) -> Any:
    """The audit row of the answer on the page."""
    link = page.get_attribute("text=Its audit row", "href")
    return httpx.get(address + link.replace("/dashboard/answers", "/v1/audit")).json()


def test_a_question_is_asked_and_judged_without_a_mouse(browser: Any, serve: Any, upstream: Upstream) -> None:
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
        page.wait_for_selector('[data-section="verdict"] >> text=Wrong. Recorded.')
        row = audit_row(address, page)
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
        assert hindrances(page, tmp_path / "answer") == []
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


def test_a_verdict_that_does_not_arrive_says_so_and_can_be_given_again(
    browser: Any, serve: Any, upstream: Upstream
) -> None:
    upstream.default = says(*CAPITALS[AUSTRALIA])
    seen = Watched(browser, serve())
    with seen as page:
        page.goto("/")
        page.keyboard.type(AUSTRALIA)
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-verdict]")
        page.route("**/verdict", lambda route: route.abort())
        page.click('[data-verdict="false"]')
        page.wait_for_selector("#error:not([hidden])")
        assert page.inner_text("#error") == "The proxy cannot be reached. Is it still running?"
        assert [line[:23] for line in seen.complaints] == ["Failed to load resource"]  # the browser's own
        seen.complaints.clear()
        page.unroute("**/verdict")
        page.click('[data-verdict="false"]')
        page.wait_for_selector('[data-section="verdict"] >> text=Wrong. Recorded.')
        assert not page.is_visible("#error")


def test_a_late_transition_puts_nothing_older_over_what_came_meanwhile(
    browser: Any, serve: Any, upstream: Upstream
) -> None:
    """The browser draws a transition a frame later; on a busy machine the rest of the answer has come by then."""
    upstream.default = says(*CAPITALS[AUSTRALIA])

    def groups_first(route: Any) -> None:
        """The server's own answer, its groups sent ahead with hedges of which none is chosen yet."""
        lines = route.fetch().text().splitlines()
        groups = next(html for line in map(json.loads, lines) if "groups" in (html := line.get("samples", "")))
        route.fulfill(body="\n".join([json.dumps({"samples": groups, "hedges": "none chosen yet"}), *lines, ""]))

    with Watched(browser, serve()) as page:
        page.route("**/try", groups_first)
        page.add_init_script(
            """{ const start = document.startViewTransition.bind(document);
              window.transition = new Promise((done) => { document.startViewTransition = (draw) => { const one = start(draw); done(one.finished); return one; }; }); }"""
        )
        page.goto("/")
        page.keyboard.type(AUSTRALIA)
        page.keyboard.press("Enter")
        page.evaluate("window.transition")
        assert page.locator("tr.used").count() == 1
        assert page.locator("[data-verdict]").count() == 2


def test_what_asks_for_no_claim_is_answered_plainly_and_says_why(browser: Any, serve: Any, upstream: Upstream) -> None:
    upstream.default = says("Hello! How can I help?")
    with Watched(browser, serve()) as page:
        page.goto("/")
        page.keyboard.type("Hello, how are you?")
        page.keyboard.press("Enter")
        page.wait_for_selector(".wording .note")
        assert page.inner_text(".wording .answer") == "Hello! How can I help?"
        assert "Nothing is asked that could be right or wrong" in page.inner_text(".wording .note")
        # samples stay until the page is drawn anew; a wait by script would be refused by the page's own policy
        page.wait_for_selector(".voices, .groups, .curve", state="detached")


def test_an_error_says_what_the_upstream_says(browser: Any, serve: Any, upstream: Upstream) -> None:
    upstream.default = fails(401, {"error": {"message": "Incorrect API key provided: sk-x."}})
    with Watched(browser, serve()) as page:
        page.goto("/")
        page.keyboard.type(AUSTRALIA)
        page.keyboard.press("Enter")
        page.wait_for_selector("#error:not([hidden])")
        message = "the upstream answered with status 401: Incorrect API key provided: sk-x."
        assert page.inner_text("#error") == message
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
        row = audit_row(address, page)
        assert [(verdict["claim"], verdict["correct"]) for verdict in row["claim_verdicts"]] == [(2, 0.0)]
        assert row["verdicts"] == []


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
