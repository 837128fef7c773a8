"""Thresholds from labels: how often what is promised does not hold, over data whose truth is known; and data that bear nothing out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hedgerow.calibration.errors import CalibrationError, RangeError
from hedgerow.calibration.promises.learning import Outcome, learn, two_digits
from hedgerow.calibration.promises.testing import THRESHOLDS, start_levels
from hedgerow.calibration.promises.wishes import Wish, parse_all
from tests.support.tables import cases

RUNS = 150
LEVEL = 0.1
NOISE = 3 * np.sqrt(LEVEL * (1 - LEVEL) / RUNS)
Floats = np.ndarray


def _odds(confidence: Floats, slope: float, shift: float) -> Floats:
    return 1.0 / (1.0 + np.exp(slope * np.log(confidence / (1.0 - confidence)) + shift))


SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], Callable[[Floats], Floats]]] = {
    "calibrated": (lambda rng, n: rng.beta(5, 1, n), lambda c: 1 - c),
    "overconfident": (lambda rng, n: rng.beta(8, 1, n).clip(0.01, 0.99), lambda c: _odds(c, 0.6, 0.1)),
    "ten values": (lambda rng, n: rng.choice(np.linspace(0.1, 0.98, 10), n), lambda c: 1 - c),
    "most confident are wrong": (lambda rng, n: rng.beta(5, 1, n), lambda c: np.where(c > 0.97, 0.3, 0.6 * (1 - c))),
    "just above every limit": (lambda rng, n: rng.random(n), lambda c: np.full(c.size, 0.1001)),
    "a cliff": (lambda rng, n: rng.permutation(np.resize([0.95, 0.85], n)), lambda c: np.where(c > 0.9, 0.02, 0.1802)),
}
"""How confidences are drawn, and how often an answer of a confidence is wrong."""


def violated(outcome: Outcome, confidence: Floats, wrong: Floats) -> bool:
    """Whether any promise is false, on very many answers whose chance of being wrong is known."""
    for promise in outcome.promises:
        inside = confidence >= promise.threshold
        limit = promise.wish.limit or 0.0
        if promise.wish.subject == "abstain":
            share = 1.0 - inside.mean()
        elif promise.wish.subject == "plain_and_wrong":
            share = (wrong * inside).mean()
        else:
            share = wrong[inside].mean() if inside.any() else 0.0
        if share > limit:
            return True
    return False


def rate(shape: str, wishes: tuple[Wish, ...], n: int) -> tuple[float, float]:
    """How often a promise is false, and how often all wishes are granted."""
    draw, truth = SHAPES[shape]
    rng = np.random.default_rng(17)
    many = draw(rng, 50_000)
    wrong = truth(many)
    false = granted = 0
    for _ in range(RUNS):
        confidence = draw(rng, n)
        correct = rng.random(n) >= truth(confidence)
        outcome = learn(confidence, correct, wishes, level=LEVEL)
        false += violated(outcome, many, wrong)
        granted += outcome.certified
    return false / RUNS, granted / RUNS


@pytest.mark.slow
@cases("shape", SHAPES)
@cases(
    "wishes",
    [["plain_wrong <= 10%"], ["plain_wrong <= 10%", "worded(>= .7) wrong <= 20%", "answered_wrong <= 40%", "plain_and_wrong <= 8%"]],
    ids=["one", "four"],
)  # fmt: skip
def test_no_more_promises_are_false_than_the_level_allows(shape: str, wishes: list[str]) -> None:
    """All of them at once; few labels and many, calibrated confidences and others."""
    for n in (60, 400):
        false, _ = rate(shape, parse_all(wishes), n)
        assert false <= LEVEL + NOISE


def test_the_level_is_spent() -> None:
    """Where the answers below the first good ones are just too often wrong, a good part of the level is used: nothing is needlessly strict."""
    false, _ = rate("a cliff", parse_all(["plain_wrong <= 10%"]), 400)
    assert false > LEVEL / 5


def test_what_can_be_promised_is_promised() -> None:
    """With labels enough the wish is granted, nearly always, and most of what could go out plain does."""
    _, granted = rate("calibrated", parse_all(["plain_wrong <= 10%"]), 800)
    assert granted > 0.95
    confidence = np.random.default_rng(3).beta(5, 1, 20_000)
    outcome = learn(confidence, np.random.default_rng(4).random(20_000) < confidence, parse_all(["plain_wrong <= 10%"]))
    best = max(t for t in np.linspace(0, 0.99, 991) if (1 - confidence[confidence >= t]).mean() > 0.1)
    assert outcome.share_plain is not None
    assert outcome.share_plain > 0.93 * (confidence >= best).mean()


def test_an_average_over_draws_is_kept_by_conformal_risk_control() -> None:
    """In expectation, not in nineteen of twenty draws: the mean over many draws is at most the limit, and near it."""
    rng = np.random.default_rng(8)
    many = rng.beta(5, 1, 100_000)
    shares = []
    for _ in range(RUNS):
        confidence = rng.beta(5, 1, 200)
        outcome = learn(
            confidence, rng.random(200) < confidence, parse_all(["plain_and_wrong <= 6% on average"]), level=LEVEL
        )
        assert outcome.thresholds is not None
        shares.append(((1 - many) * (many >= outcome.thresholds.plain)).mean())
    assert 0.045 < np.mean(shares) <= 0.06 + 3 * np.std(shares) / np.sqrt(RUNS)


def test_grades_between_wrong_and_right_are_bounded_by_betting() -> None:
    """They count in part; the promise holds as often as it says."""
    rng = np.random.default_rng(9)
    wishes = parse_all(["plain_wrong <= 20%"])
    false = 0
    for _ in range(100):
        confidence = rng.beta(5, 1, 300)
        grade = 1.0 - (rng.random(300) > confidence) * rng.uniform(0.5, 1.0, 300)
        outcome = learn(confidence, grade, wishes, level=LEVEL)
        if outcome.thresholds is not None and outcome.thresholds.plain is not None:
            many = rng.beta(5, 1, 20_000)
            false += 0.75 * (1 - many[many >= outcome.thresholds.plain]).mean() > 0.2
    assert false <= 10 + 3 * np.sqrt(9)
    assert any("between wrong and right" in note for note in outcome.notes)


def test_thresholds_fit_together() -> None:
    """Of several wishes: answered below worded below plain; words never from below their own confidence on."""
    rng = np.random.default_rng(2)
    confidence = rng.beta(5, 1, 6000)
    wishes = parse_all(
        ["plain_wrong<=8%", "worded(>=.8) wrong<=6%", "worded(>=.6) wrong<=30%", "answered_wrong<=15%", "abstain<=25%"]
    )
    outcome = learn(confidence, rng.random(6000) < confidence, wishes)
    assert outcome.thresholds is not None
    t = outcome.thresholds
    (low, low_start), (high, high_start) = t.worded
    assert (low, high) == (0.6, 0.8)
    assert t.plain is not None
    assert t.answer <= low_start <= high_start <= t.plain
    assert high_start > 0.8, "words of 0.8 need a stricter promise than calibration gives: the map is shifted"
    assert [promise.wish for promise in outcome.promises] == list(wishes)


def test_words_between_the_thresholds_that_are_tried_start_with_the_whole_level() -> None:
    """A wish for words of .853 is tested from .86 on; nothing of its level is lost below."""
    (wish,) = parse_all(["worded(>= .853) wrong <= 20%"])
    levels = dict(zip(THRESHOLDS, start_levels(wish, 0.05), strict=True))
    assert sum(levels.values()) == pytest.approx(0.05)
    assert min(threshold for threshold, level in levels.items() if level > 0.0) == 0.86
    confidence = np.random.default_rng(4).uniform(0.5, 1.0, 3000)
    outcome = learn(confidence, np.random.default_rng(5).random(3000) < confidence, [wish])
    assert outcome.thresholds is not None
    assert outcome.thresholds.worded == ((0.853, 0.86),)


def test_what_no_label_has_seen_is_not_let_through() -> None:
    """Between two groups of answers the threshold is the highest that was tested, not the lowest."""
    outcome = learn([0.9] * 400 + [0.5] * 400, [1] * 392 + [0] * 8 + [1, 0] * 200, parse_all(["plain_wrong <= 5%"]))
    assert outcome.thresholds is not None
    assert outcome.thresholds.plain == 0.85


def test_nothing_is_promised_from_twenty_right_answers() -> None:
    """0 wrong among 20 can still be 14 % wrong; how many labels would do is said, and they do."""
    wishes = parse_all(["plain_wrong <= 5%"])
    outcome = learn([0.95] * 20, [1] * 20, wishes)
    assert not outcome.certified
    assert outcome.promises == ()
    assert outcome.labels_needed is not None
    assert 60 < outcome.labels_needed < 1000
    assert f"about {two_digits(outcome.labels_needed):,} more labels would do" in outcome.refused[0].reason
    assert learn([0.95] * (20 + outcome.labels_needed), [1] * (20 + outcome.labels_needed), wishes).certified


def test_the_labels_that_are_named_suffice_more_often_than_not() -> None:
    """On data whose truth is known: with so many more labels the wish is granted in most draws."""
    rng = np.random.default_rng(6)
    wishes = parse_all(["plain_wrong <= 10%"])
    granted = asked = 0
    for _ in range(40):
        confidence = rng.beta(5, 1, 150)
        outcome = learn(confidence, rng.random(150) < confidence, wishes)
        if outcome.certified or outcome.labels_needed is None:
            continue
        asked += 1
        again = rng.beta(5, 1, 150 + outcome.labels_needed)
        granted += learn(again, rng.random(again.size) < again, wishes).certified
    assert asked > 15
    assert granted / asked > 0.6


@cases(
    ("confidence", "correct", "wishes", "said"),
    [
        ([0.9, 0.8] * 50, [0] * 100, ["plain_wrong <= 5%"], "more labels would not change that"),
        ([0.5] * 300, [0, 1] * 150, ["answered_wrong <= 20%"], "300 answers from 0.5 on 50% are wrong"),
        ([0.3] * 100, [0, 1] * 50, ["worded(>= .9) wrong <= 20%"], "hardly an answer"),
        ([0.95] * 300 + [0.2] * 300, [1] * 300 + [0] * 300, ["answered_wrong <= 10%", "abstain <= 20%"], "contradict each other"),
    ],
)  # fmt: skip
def test_what_no_number_of_labels_would_bear_out(
    confidence: list[float], correct: list[int], wishes: list[str], said: str
) -> None:
    """Stated plainly, and without a number."""
    outcome = learn(confidence, correct, parse_all(wishes))
    assert not outcome.certified
    assert outcome.thresholds is None
    assert outcome.labels_needed is None
    assert said in " ".join(refused.reason for refused in outcome.refused)


def test_one_sided_labels_are_named() -> None:
    """Only complaints, or only praise."""
    wishes = parse_all(["plain_wrong <= 20%"])
    assert "only complaints" in learn([0.9, 0.8] * 20, [0] * 40, wishes).notes[0]
    assert "wrong answers get labels too" in learn([0.9, 0.8] * 20, [1] * 40, wishes).notes[0]


def test_copies_are_not_evidence() -> None:
    """A file put together twice from the same answers is refused."""
    rng = np.random.default_rng(1)
    confidence = rng.random(50)
    with pytest.raises(CalibrationError, match="occurs 3 times"):
        learn(np.tile(confidence, 3), np.tile(confidence > 0.4, 3), parse_all(["plain_wrong <= 5%"]))


def test_copies_drawn_at_random_are_not_evidence_either() -> None:
    """1,500 rows of 300; rounded confidences have equal neighbours with other labels, and sure ones may all be right."""
    rng, wishes = np.random.default_rng(1), parse_all(["plain_wrong <= 5%"])
    confidence = rng.random(300) ** 0.2
    correct, rows = rng.random(300) < confidence, rng.integers(0, 300, 1500)
    with pytest.raises(CalibrationError, match="they are copies"):
        learn(confidence[rows], correct[rows], wishes)
    many = np.round(rng.random(1500) ** 0.2, 2)
    assert learn(many, rng.random(1500) < many, wishes).n == 1500
    sure = np.round(1.0 - 0.01 * rng.random(1500), 4)
    assert learn(sure, np.ones(1500), wishes).certified


@cases(("confidence", "correct", "level"), [([1.2], [1], 0.05), ([0.5], [2], 0.05), ([0.5], [1], 0.0), ([np.nan], [1], 0.1)])  # fmt: skip
def test_values_out_of_range_are_refused(confidence: list[float], correct: list[float], level: float) -> None:
    """Before anything is computed."""
    with pytest.raises(RangeError):
        learn(confidence, correct, parse_all(["plain_wrong <= 5%"]), level=level)
