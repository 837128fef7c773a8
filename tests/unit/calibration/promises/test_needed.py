"""The number of labels that would do, held against one exact test whose true share is known."""

from __future__ import annotations

import numpy as np

from hedgerow.calibration.promises.learning import learn, smallest_size
from hedgerow.calibration.promises.wishes import parse_all
from tests.support.tables import cases


@cases(("n", "wrong"), [(3000, 135), (3000, 120), (1000, 40), (400, 8)])
def test_answers_of_one_confidence_need_little_more_than_one_test_that_knows_their_share(n: int, wrong: int) -> None:
    """Also where the share is near the limit: 4.5 % of 5 % takes 11,000 labels at the least, not 190,000."""
    labels = np.concatenate([np.zeros(wrong), np.ones(n - wrong)])
    outcome = learn(np.full(n, 0.95), labels, parse_all(["answered_wrong <= 5%"]))
    assert outcome.labels_needed is not None
    least = smallest_size(0.05, wrong / n, 0.05)
    assert least < n + outcome.labels_needed < 3.0 * least


def test_the_number_is_of_the_size_that_is_needed() -> None:
    """With three times the median of what draws name the wish is granted nearly always, with a quarter of it seldom."""
    rng = np.random.default_rng(3)
    wishes = parse_all(["plain_wrong <= 5%"])

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        confidence = rng.random(n) ** (1 / 8)
        return confidence, (rng.random(n) < confidence).astype(float)

    outcomes = [learn(*drawn(300), wishes) for _ in range(30)]
    named = [300 + outcome.labels_needed for outcome in outcomes if not outcome.certified and outcome.labels_needed]
    assert len(named) > 20
    median = int(np.median(named))
    granted = [
        np.mean([learn(*drawn(int(part * median)), wishes).certified for _ in range(30)]) for part in (0.25, 3.0)
    ]
    assert granted[0] < 0.5
    assert granted[1] > 0.9
