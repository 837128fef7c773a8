"""Watching a request changes nothing about it, and shows what is being written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.proxy.audit.operators import Alarm
from hedgerow.proxy.dashboard.render import alarm_words
from hedgerow.proxy.dashboard.requests import RequestView, grouped
from hedgerow.proxy.dashboard.site import StreamingUpstream
from hedgerow.proxy.monitoring.diagrams import CELLS, central, curves, density
from hedgerow.proxy.monitoring.figures import percent
from hedgerow.proxy.protocols import Call
from tests.support.tables import cases
from tests.support.upstream import completion


class Writing:
    """An upstream that writes two answers piece by piece, and tells."""

    honours_n = True

    async def complete(self, call: Call) -> Any:
        assert call.on_text is not None
        for index, piece in ((0, "Par"), (1, "Ly"), (0, "is.")):
            call.on_text(index, piece)
            await asyncio.sleep(0)
        return completion("Paris.", "Lyon.")


def test_what_is_being_written_can_be_read_along() -> None:
    """Each piece of each answer is told of, and in the end the answers stand as they came."""
    seen: list[list[str]] = []

    async def run() -> None:
        streaming = StreamingUpstream(Writing(), lambda: seen.append(list(streaming.texts)))  # type: ignore[arg-type]
        await streaming.complete(Call("/chat/completions", {"n": 2}))

    asyncio.run(run())
    assert ["Paris.", "Ly"] in seen
    assert seen[-1] == ["Paris.", "Lyon."]


positive = st.floats(1e-6, 1e5)


@given(alpha=positive, beta=positive)
def test_a_drawn_density_holds_all_probability(alpha: float, beta: float) -> None:
    """Its cells add up to one, and the central interval lies inside [0, 1]."""
    held = Beta(alpha, beta)
    assert sum(density(held)) / CELLS == pytest.approx(1.0)
    low, high = central(held)
    assert 0.0 <= low <= high <= 1.0


@given(betas=st.lists(st.tuples(positive, positive), min_size=1, max_size=3))
def test_no_curve_is_flattened_by_another(betas: list[tuple[float, float]]) -> None:
    """The lowest of several peaks still fills a third of the frame, whatever spike stands beside it."""
    drawn = curves([(str(i), Beta(*held)) for i, held in enumerate(betas)])
    assert min(max(curve.heights) for curve in drawn) > 1 / 3


def test_wordings_are_counted_within_their_group() -> None:
    """The commonest first; where no text was kept, only how many there are."""
    (first, second) = grouped([[0, 2, 3], [1]], ["Oslo.", "Rome.", "Oslo", "Oslo. "])
    assert [(w.text, w.count) for w in first.wordings] == [("Oslo.", 2), ("Oslo", 1)]
    assert second.size == 1
    assert grouped([[0, 1]], None)[0].wordings[0].text is None


@cases(("share", "shown"), [(0.0, "0"), (1e-7, "<1"), (0.5, "50"), (1 - 1e-7, ">99"), (1.0, "100"), (None, "–")])
def test_nearly_none_and_nearly_all_are_not_none_and_all(share: float | None, shown: str) -> None:
    """Rounding never says "impossible" or "certain" of what is neither."""
    assert percent(share).replace("\u202f%", "") == shown


@cases(
    ("signal", "raw", "agreeing"),
    [("semantic", Beta(7.0, 3.0), 7), ("semantic", Beta(8.5, 1.5), None), ("consistency", Beta(7.0, 3.0), None)],
)
def test_raw_is_the_share_that_agrees_only_where_it_is(signal: str, raw: Beta, agreeing: int | None) -> None:
    """A long answer's confidence comes from its claims; the page does not explain it by the size of a group."""
    assert RequestView(signal=signal, raw=raw, groups=grouped([range(7), range(7, 10)], None)).agreeing == agreeing


def test_an_alarm_names_the_side_of_its_threshold() -> None:
    """Evidence alarms from above, a p-value from below."""
    outcomes = Alarm(1.0, "r", "m", "outcomes", 5.2, 4.6, None, None)
    assert alarm_words(outcomes).endswith("(evidence 5.2, alarm from 4.6)")
    inputs = Alarm(1.0, "r", "m", "inputs", 1e-5, 0.001, None, None)
    assert alarm_words(inputs).endswith("(p-value 1e-05, alarm below 0.001)")
