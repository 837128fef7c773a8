"""The circuit of one upstream, on a clock that the test moves."""

from __future__ import annotations

import pytest

from hedgerow.proxy.config import CircuitSettings as Settings
from hedgerow.proxy.upstreams.circuits import LONGEST_REST_S, Circuit


class Clock:
    """Seconds, as the test wants them."""

    now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


@pytest.fixture
def circuit(clock: Clock) -> Circuit:
    """Opens after three failures in a row, for ten seconds."""
    return Circuit(Settings(failures=3, cool_down_s=10.0), clock)


def test_only_failures_in_a_row_open_it(circuit: Circuit) -> None:
    """A success between them begins the count anew."""
    for failed in (True, True, False, True, True):
        assert not (circuit.failed() if failed else circuit.succeeded())
        assert circuit.state == "closed"
    assert circuit.failed()
    assert (circuit.state, circuit.admits) == ("open", False)


def test_one_request_tries_after_the_cool_down(circuit: Circuit, clock: Clock) -> None:
    """The others stay away while it does, also where nobody learns what became of it: then the next one tries a cool-down later."""
    for _ in range(3):
        circuit.failed()
    clock.now += 10.0
    assert (circuit.state, circuit.admits) == ("half-open", True)
    circuit.take()
    assert not circuit.admits
    clock.now += 10.0
    assert circuit.admits


@pytest.mark.parametrize("succeeds", [True, False])
def test_what_becomes_of_the_try_decides(circuit: Circuit, clock: Clock, succeeds: bool) -> None:
    """Success closes, one failure opens for another cool-down."""
    for _ in range(3):
        circuit.failed()
    clock.now += 10.0
    circuit.take()
    clock.now += 1.0
    if succeeds:
        assert circuit.succeeded()
        assert circuit.state == "closed"
    else:
        assert not circuit.failed()  # it was open before
        clock.now += 9.9
        assert circuit.state == "open"
        clock.now += 0.1
        assert circuit.state == "half-open"


@pytest.mark.parametrize(("asked_s", "rests_s"), [(0.5, 10.0), (30.0, 30.0), (86_400.0, LONGEST_REST_S)])
def test_a_rest_that_is_asked_for_is_given(circuit: Circuit, clock: Clock, asked_s: float, rests_s: float) -> None:
    """At once, at least for the cool-down, and not for ever."""
    assert circuit.failed(asked_s)
    clock.now += rests_s - 0.1
    assert not circuit.admits
    clock.now += 0.1
    assert circuit.admits
