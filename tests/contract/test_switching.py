"""Switching a route's mode on its page: what happens to requests, and what stands in the record."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.test_pages import csrf_of
from tests.support.keys import new_key
from tests.support.traffic import CAPITALS
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

AUSTRALIA = "What is the capital of Australia?"
ROUTE = "/dashboard/routes/test"


def reworded(address: str, upstream: Upstream) -> bool:
    upstream.default = says(*CAPITALS[AUSTRALIA])
    body = {"model": "m", "messages": [{"role": "user", "content": AUSTRALIA}]}
    return "hedgerow" in httpx.post(f"{address}/v1/chat/completions", json=body).json()


@pytest.fixture
def browser(serve: Any) -> Any:
    with httpx.Client(base_url=serve(), follow_redirects=True) as client:
        yield client


def switch(browser: httpx.Client, **fields: str) -> httpx.Response:
    csrf = csrf_of(browser.get(ROUTE).text)
    return browser.post(f"{ROUTE}/mode", data={"csrf": csrf, "actor": "Ada", "note": "map v3 <fits>"} | fields)


def test_a_mode_is_switched_and_recorded(browser: httpx.Client, upstream: Upstream) -> None:
    """The next request has it; who, from what, to what and why stand on the page, escaped; the configuration takes it back."""
    address = str(browser.base_url)
    assert reworded(address, upstream)
    page = switch(browser, mode="shadow")
    assert page.status_code == 200
    assert not reworded(address, upstream)
    assert "set by Ada" in page.text
    assert "map v3 &lt;fits&gt;" in page.text
    assert "the configuration says on" in page.text
    switch(browser, mode="configured", note="done")
    assert reworded(address, upstream)
    record = browser.get(ROUTE).text.partition('class="changes"')[2]
    assert record.index("done") < record.index("map v3")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"mode": "loud"}, "Choose one of the modes"),
        ({"mode": "off", "note": " "}, "Say why"),
        ({"mode": "off", "note": "x" * 2001}, "Say why"),
    ],
)
def test_a_switch_that_cannot_be_recorded_changes_nothing(
    browser: httpx.Client, upstream: Upstream, fields: dict[str, str], says: str
) -> None:
    """And says what is missing."""
    reply = switch(browser, **fields)
    assert reply.status_code == 400
    assert says in reply.text
    assert reworded(str(browser.base_url), upstream)


def test_a_route_that_is_not_configured_and_a_post_from_elsewhere_are_refused(browser: httpx.Client) -> None:
    """Neither reaches the store."""
    csrf = csrf_of(browser.get(ROUTE).text)
    wanted = {"mode": "off", "note": "x"}
    assert browser.post("/dashboard/routes/none/mode", data=wanted | {"csrf": csrf}).status_code == 400
    assert browser.post(f"{ROUTE}/mode", data=wanted).status_code == 403
    assert "Nothing was changed at run time" in browser.get("/dashboard/changes").text


def test_only_operators_switch_and_the_record_has_their_names(serve: Any, tmp_path: Path) -> None:
    """A reviewer sees the mode and its record, and no form; a post of theirs changes nothing."""
    address = serve(settings={"server": {"admin_key": "k" * 20}})
    secrets = {role: new_key(f"sqlite:///{tmp_path}/audit.db", role, role=role) for role in ("reviewer", "operator")}

    def signed_in(role: str) -> httpx.Client:
        client = httpx.Client(base_url=address, follow_redirects=True)
        key = {"key": secrets[role]}  # which the proxy has still to read
        until(lambda: "/sign-in" not in str(client.post("/sign-in", data=key).url))
        return client

    with closing(signed_in("operator")) as operator, closing(signed_in("reviewer")) as reviewer:
        page = switch(operator, mode="off", actor="somebody else", note="too dear")
        assert "set by operator" in page.text
        seen = reviewer.get(ROUTE).text
        assert "too dear" in seen
        assert f'action="{ROUTE}/mode"' not in seen
        csrf = csrf_of(seen)
        posted = reviewer.post(f"{ROUTE}/mode", data={"csrf": csrf, "mode": "on", "note": "please"})
        assert posted.status_code == 403
        assert "please" not in operator.get(ROUTE).text
