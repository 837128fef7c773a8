"""Clients that are installed here, direct and through the proxy in every mode; `make compat` runs all of them."""

from __future__ import annotations

import sys

import pytest

from tests.compat.__main__ import MODES, addresses, command, run, verdict
from tests.compat.provider import Provider

HERE = ("openai_python.py", "anthropic_python.py", "litellm_.py", "Jdk.java", "curl.sh")


@pytest.mark.slow
@pytest.mark.parametrize("client", HERE)
def test_a_client_sees_what_it_would_see_direct_but_for_the_words(client: str) -> None:
    """Off and shadow are the same to the last character; on and append change words and nothing else."""
    how = command(client, sys.executable)
    if how is None:
        pytest.skip(f"nothing here runs {client}")
    provider, seen = Provider(), {}
    with addresses(provider) as found:
        for mode, address in found.items():
            provider.reset()
            seen[mode] = run(how, address, None)
    assert "error" not in seen["direct"]
    verdicts = {mode: verdict(mode, seen["direct"], seen[mode]) for mode in MODES}
    assert verdicts["off"] == verdicts["shadow"] == "same"
    assert {verdicts["on"], verdicts["append"]} <= {"same", "calibrated"}
