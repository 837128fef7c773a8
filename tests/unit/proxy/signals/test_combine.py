"""A fitted combination orders answers by what its signals say together."""

from __future__ import annotations

import anyio
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hedgerow.calibration import Beta
from hedgerow.proxy.signals.combine import CombinedSignal, Weights, combine, fit_weights, logit_of
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.types import Clustering, Sample


def test_by_hand():
    """Means .8 and .5 with weights 1 and 2 and no bias: logit 1.386 + 0, so the mean stays .8; the smaller concentration wins."""
    combined = combine({"a": Beta(8, 2), "b": Beta(2, 2)}, Weights(0.0, {"a": 1.0, "b": 2.0}))
    assert (combined.mean, combined.concentration) == pytest.approx((0.8, 4.0))


def test_a_useless_signal_gets_little_weight():
    """A signal that is the same for right and wrong answers carries no weight."""
    rows = [{"good": Beta(8 if right else 3, 2 if right else 7), "flat": Beta(5, 5)} for right in [True, False] * 50]
    weights = fit_weights(rows, [True, False] * 50).weights
    assert weights["good"] > 1 > abs(weights["flat"])


def test_weights_equal_scikit_learn():
    """The ridge is on the weights alone: the bias is free, as with C = 10 in scikit-learn; also where the labels are separable."""
    rng = np.random.default_rng(3)
    rows = [{name: Beta(*rng.uniform(0.5, 9, 2)) for name in ("a", "b")} for _ in range(80)]
    columns = [[logit_of(row["a"]), logit_of(row["b"])] for row in rows]
    noisy = [x + 0.5 * y + rng.logistic() > -1.5 for x, y in columns]
    separable = [x > 0.5 for x, _ in columns]
    for labels in (noisy, separable):
        model = LogisticRegression(C=10.0, solver="newton-cholesky", tol=1e-10).fit(columns, labels)
        weights = fit_weights(rows, labels)
        mine = [weights.bias, weights.weights["a"], weights.weights["b"]]
        assert mine == pytest.approx([*model.intercept_, *model.coef_[0]], rel=1e-6, abs=1e-6)


def test_one_kind_of_label_is_refused():
    """Nothing can be fitted on answers that were all right."""
    with pytest.raises(ValueError, match="of both kinds"):
        fit_weights([{"a": Beta(1, 1)}] * 3, [True] * 3)


def test_as_a_signal():
    """With weight 1 on the semantic signal alone, the combination is that signal."""
    signal = CombinedSignal([SemanticSignal()], Weights(0.0, {"semantic": 1.0}))
    assert anyio.run(signal.measure, "q", [Sample("x")] * 4, Clustering(((0, 1, 2), (3,)))).mean == pytest.approx(0.75)
    with pytest.raises(ValueError, match="token"):
        CombinedSignal([SemanticSignal()], Weights(0.0, {"token": 1.0}))
