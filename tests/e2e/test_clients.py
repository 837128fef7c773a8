"""Clients that are installed here, direct and through the proxy in every mode, and their programs in docs/clients.md; `make compat` runs all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import structlog

from tests.compat.environments import KNOWN, Environment
from tests.compat.running import Place, everywhere, faults, good, places, verdict
from tests.compat.snippets import fault, snippets
from tests.support.servers import serving
from tests.support.waiting import until

OWN = Environment.own()
HERE = [client for client in KNOWN if OWN.version(client) is not None]


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Place]]:
    """The provider directly, and behind the proxy in each mode."""
    with places() as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("client", HERE)
def test_a_client_sees_what_it_would_see_direct_but_for_the_words(client: str, found: dict[str, Place]) -> None:
    """Off and shadow are the same to the last character; on and append change words and nothing else; a policy holds back calls in doubt; a
    client that leaves has a row. No proxy logs an error.
    """
    with faults() as logged:
        seen = everywhere(client, OWN, found)
    verdicts = {place: verdict(place, seen["direct"], seen[place]) for place in seen if place != "direct"}
    assert {place: cell for place, cell in verdicts.items() if not good(cell)} == {}
    assert logged == []


@pytest.mark.slow
@pytest.mark.parametrize("client", sorted(snippets().keys() & set(HERE)))
def test_the_programs_of_the_document_print_the_confidence(client: str, found: dict[str, Place]) -> None:
    """As they stand, but for the address."""
    assert fault(snippets()[client], OWN, found["on"]) is None


def test_what_a_proxy_logs_as_an_error_is_noticed() -> None:
    """By a logger of its own, by the server, and by the event loop."""

    async def faulty(_scope: Any, _receive: Any, _send: Any) -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        structlog.get_logger().error("row_lost")
        structlog.get_logger().warning("slow")
        raise ValueError

    with faults() as logged:
        with serving(faulty) as address:
            assert httpx.get(address).status_code == 500
        assert len(until(lambda: [*logged], lambda lines: len(lines) >= 3)) == 3


def test_what_make_test_installs_is_among_the_clients_that_are_tried() -> None:
    """The others have environments of their own."""
    assert {"openai_python.py", "anthropic_python.py", "litellm_.py", "leaving_openai.py"} <= set(HERE)


def test_every_client_has_a_program_in_the_document() -> None:
    """Some programs are further ways of a client that has one."""
    further = {"accumulating_openai.mjs", "langchain_standard.py", "pydantic_ai_anthropic.py"} | {
        name for name in KNOWN if KNOWN[name].leaves
    }
    assert set(snippets()) == set(KNOWN) - further
