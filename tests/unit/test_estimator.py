"""`hedgerow.Calibrator` under scikit-learn's own checks of estimators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

import hedgerow


class OfScores(hedgerow.Calibrator):
    """Of the first feature, without bounds, and of any two classes: the checks bring such data, and confidences and outcomes are neither."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OfScores:
        confidence = self._confidence(X, fitting=True)
        classes = None
        if y is not None and type_of_target(y) == "binary":
            classes, places = np.unique(np.asarray(y), return_inverse=True)
            y = places.reshape(np.asarray(y).shape)
        super().fit(confidence, y, sample_weight)
        self.classes_, self.n_features_in_ = classes, np.asarray(X).shape[1]
        return self

    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return super().predict_proba(self._confidence(X, fitting=False))

    def predict(self, X: Any) -> Any:
        right = super().predict(X)
        return self.classes_[right]

    def _confidence(self, X: Any, *, fitting: bool) -> Any:
        return 0.5 + np.arctan(validate_data(self, X, reset=fitting, dtype=np.float64)[:, 0]) / np.pi

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        return tags


NOT_FOR_US = {
    "check_classifiers_train": "wants an accuracy that takes all features",
    "check_array_api_input": "needs SCIPY_ARRAY_API, and skips itself",
}


def test_it_keeps_scikit_learns_rules() -> None:
    """Cloning, pickling, pipelines, weights as repeated rows, the order of rows, wrong input and its messages: some sixty checks."""
    failed: dict[str, str] = {}
    passed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke them, and some assert that they came
        for estimator, check in estimator_checks_generator(OfScores("platt", allow_negative_slope=True)):
            name = getattr(check, "func", check).__name__
            try:
                check(estimator)
                passed += 1
            except Exception as error:  # noqa: BLE001  # a check fails in whatever way what it tried failed
                failed[name] = str(error)
    assert {name: said for name, said in failed.items() if name not in NOT_FOR_US} == {}
    assert passed > 50
