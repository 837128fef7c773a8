"""Signals beyond counting: sentences borne out by other samples, and the model's own verdict."""

from __future__ import annotations

from math import log
from typing import Any

import anyio
import pytest

from hedgerow.proxy.clustering.support import SentenceSupport
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.signals.consistency import ConsistencySignal
from hedgerow.proxy.signals.linguistic import LinguisticSignal
from hedgerow.proxy.signals.p_true import probability
from hedgerow.proxy.types import Clustering, Sample
from tests.support.tables import cases


def _answer(*top: tuple[str, float]) -> Any:
    given = [{"token": token, "logprob": log(p)} for token, p in top]
    return {"choices": [{"logprobs": {"content": [given[0] | {"top_logprobs": given}]}}]}


def test_each_sentence_has_its_own_support() -> None:
    """The year stands in both samples; the number of rooms is another in one, and the other does not speak of rooms."""
    draft = "It opened in 1969. It has 12 rooms."
    others = ["It opened in 1969. It has 15 rooms.", "It opened in 1969."]
    first, second = anyio.run(SentenceSupport().measure, "", draft, others)
    assert first > 0.7
    assert second < first - 0.1


def test_a_draft_alone_has_no_consistency() -> None:
    """There is nothing to compare it with."""
    with pytest.raises(StepFailed) as caught:
        anyio.run(ConsistencySignal().measure, "", [Sample("1969")], Clustering(((0,),)))
    assert caught.value.reason == "too_few_samples"


def test_what_cannot_be_read_has_no_linguistic_confidence() -> None:
    """No letter, no digit."""
    with pytest.raises(StepFailed) as caught:
        anyio.run(LinguisticSignal().measure, "", [Sample("\U0001f600")], Clustering(((0,),)))
    assert caught.value.reason == "unreadable"


def test_spellings_of_a_verdict_add_up() -> None:
    """.5 and .1 say true, .2 says false, the rest says neither."""
    assert probability(_answer(("True", 0.5), (" true", 0.1), ("False", 0.2), ("Maybe", 0.2))) == pytest.approx(0.75)


@cases(
    ("answer", "reason"),
    [({"choices": [{"logprobs": None}]}, "no_logprobs"), (_answer(("Maybe", 0.9)), "no_verdict")],
)
def test_no_verdict_is_a_failed_step(answer: Any, reason: str) -> None:
    """Never a made-up confidence."""
    with pytest.raises(StepFailed) as caught:
        probability(answer)
    assert caught.value.reason == reason
