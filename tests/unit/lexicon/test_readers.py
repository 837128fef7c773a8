"""Model readers read what their models say, and refuse nonsense instead of guessing."""

import asyncio

import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon import LexiconError, ModelReader, Reader, TextTooLong
from hedgerow.lexicon.hedges.build import parse_score
from tests.support.hostile import growth
from tests.support.tables import cases


def reader(*answers: str, passes: int = 1) -> ModelReader:
    """One model for each answer."""

    async def say(answer: str) -> str:
        return answer

    return ModelReader([lambda _, answer=answer: say(answer) for answer in answers], passes)  # type: ignore[misc]


def perceived(by: Reader, text: str = "It was probably Rome.") -> Beta:
    return asyncio.run(by.read(text))


def test_an_ensemble_is_heard_at_its_scores() -> None:
    """The mean of the likelihood fit lies by the mean of the scores."""
    assert perceived(reader("70", "Score: 75", "I would say 80.")).mean == pytest.approx(0.75, abs=0.01)


def test_models_of_one_mind_agree() -> None:
    """Equal scores have no largest likelihood; their number is the concentration."""
    beta = perceived(reader("60", "60", passes=3))
    assert (beta.mean, beta.concentration) == pytest.approx((0.6, 6.0))


def test_some_nonsense_is_left_out() -> None:
    """One answer in three without a number is not counted."""
    assert perceived(reader("70", "80", "It sounds sure.")).mean == pytest.approx(0.75, abs=0.01)


@cases("nonsense", ["", "It sounds sure.", "850", "-", "one hundred", "💯", "1e9 999 1000", "-5"])
def test_mostly_nonsense_is_an_error(nonsense: str) -> None:
    """No Beta is made up where the models said nothing usable."""
    with pytest.raises(LexiconError, match="no number"):
        perceived(reader("70", nonsense, nonsense))


def test_a_model_that_fails_is_not_hidden() -> None:
    """Its error goes through."""

    async def broken(_: str) -> str:
        raise ConnectionError("upstream is gone")

    with pytest.raises(ConnectionError, match="gone"):
        perceived(ModelReader([broken]))


def test_the_text_is_checked_before_anyone_is_asked() -> None:
    """The same refusals as the local reader's, and no call paid for."""

    async def never(_: str) -> str:
        raise AssertionError("asked")

    with pytest.raises(LexiconError, match="nothing to read"):
        perceived(ModelReader([never]), "...")
    with pytest.raises(TextTooLong):
        perceived(ModelReader([never]), "a" * 600_000)


def test_an_empty_ensemble_is_refused() -> None:
    """No model, or no pass."""
    with pytest.raises(LexiconError, match="one model"):
        ModelReader([])
    with pytest.raises(LexiconError, match="one pass"):
        reader("70", passes=0)


@cases(
    "make",
    [
        lambda n: "1." + "7" * n + "x",
        lambda n: "0 " * (n // 2) + "x",
        lambda n: "0" + " " * n,
        lambda n: "7" * n,
        lambda n: "1." * (n // 2),
    ],
)
def test_a_score_is_looked_for_in_linear_time(make) -> None:
    """A model that repeats itself gives no score, soon."""
    assert growth(parse_score, make).is_linear
    assert parse_score("9" * 50_000) is None
