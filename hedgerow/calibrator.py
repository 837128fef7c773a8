"""Calibration maps as a scikit-learn estimator. Needs the extra `science`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from .answers import Confidence
from .calibration import FittedMap
from .calibration.errors import NotEnoughData
from .calibration.fitting import fit_map

Floats = NDArray[np.float64]


class Calibrator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Corrects confidences by labelled answers: `fit(p, y)`, then `predict_proba(p)`.

    Parameters
    ----------
    kind : str
        A kind of map: platt-bounded (default), platt, temperature, beta, isotonic, histogram, venn-abers, identity.
    allow_negative_slope : bool
        Accept a Platt map that turns the order of confidence round.

    Attributes
    ----------
    fitted_ : FittedMap
        The map with its provenance; `hedgerow.calibration.MapRegistry` stores it for the proxy.
    classes_ : ndarray
        [0, 1]: wrong, right.
    n_features_in_ : int
        1.

    Notes
    -----
    What `sklearn.calibration.CalibratedClassifierCV` does for a classifier, this does for confidences that are there already: one column, no
    model to refit. **Source**: RALC 4.1 for the default; docs/calibration.md for the others.

    Examples
    --------
    >>> p, y = [0.9] * 60 + [0.4] * 40, [1] * 48 + [0] * 12 + [1] * 8 + [0] * 32
    >>> Calibrator("platt").fit(p, y).predict_proba([0.9, 0.4])[:, 1].round(6).tolist()
    [0.8, 0.2]
    """

    def __init__(self, kind: str = "platt-bounded", *, allow_negative_slope: bool = False) -> None:
        self.kind = kind
        self.allow_negative_slope = allow_negative_slope

    def fit(self, p: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Calibrator:
        """Learn the map.

        Parameters
        ----------
        p : array_like, shape (n,), (n, 1) or (n, 2)
            Confidences in [0, 1]; of two columns, as `predict_proba` gives them, the last. Series and frames of pandas and polars are taken.
        y : array_like, shape (n,)
            0 or 1 (False or True), 1 = right.
        sample_weight : array_like, shape (n,), optional
            >= 0: how many answers each row stands for. Rows of weight 0 are left out, and there is no cross-validation with weights.
            The bins of `histogram` hold equal numbers of rows, whatever these weigh.

        Raises
        ------
        hedgerow.calibration.errors.CalibrationError
            If a value is out of range, the shapes do not fit together, or the data do not determine a map. A ValueError.
        """
        mean, correct = _column(p), _outcomes(y)
        check_consistent_length(mean, correct)
        options: dict[str, Any] = {"allow_negative_slope": True} if self.allow_negative_slope else {}
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, mean, dtype=np.float64, ensure_non_negative=True)
            mean, correct, weights = (column[weights > 0] for column in (mean, correct, weights))
            if not weights.size:
                raise NotEnoughData("every sample_weight is zero")
            options |= {"weights": weights, "folds": 0}
        if np.all(correct == correct[0]):
            raise NotEnoughData("y holds one class alone: both right and wrong answers must occur")
        self.fitted_: FittedMap = fit_map(self.kind, *_betas(mean), correct, **options)
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 1
        return self

    def predict_proba(self, p: ArrayLike) -> Floats:
        """Probabilities of being wrong and right, shape (n, 2)."""
        check_is_fitted(self)
        alpha, beta = _betas(_column(p))
        right = self.fitted_.map.means(
            alpha / (alpha + beta)
        )  # computed as in `fit`, so that equal values meet their own knot
        return np.column_stack([1.0 - right, right])

    def predict(self, p: ArrayLike) -> NDArray[np.int64]:
        """1 if the calibrated confidence is at least 0.5, else 0."""
        return (self.predict_proba(p)[:, 1] >= 0.5).astype(np.int64)

    def calibrate(self, confidence: Confidence) -> Confidence:
        """Correct a measured confidence: its mean changes, its concentration stays."""
        check_is_fitted(self)
        return confidence.through(self.fitted_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.one_d_array = True
        return tags


def _column(p: ArrayLike) -> Floats:
    values: Floats = check_array(p, dtype=np.float64, ensure_2d=False, input_name="p")
    if values.ndim == 2 and values.shape[1] in (1, 2):
        return values[:, -1]
    if values.ndim != 1:
        raise ValueError(f"confidences must have the shape (n,), (n, 1) or (n, 2), got {values.shape}")
    return values


def _outcomes(y: ArrayLike) -> Floats:
    if y is None:
        raise ValueError("Calibrator requires y to be passed, but the target y is None")
    outcomes = column_or_1d(y, warn=True)
    check_classification_targets(outcomes)
    if type_of_target(outcomes) == "multiclass":
        raise ValueError("Only binary classification is supported. y must be 0 or 1")
    try:
        return np.asarray(outcomes, dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"y must be 0 or 1 (False or True), got {str(outcomes[0])!r}") from error


def _betas(mean: Floats) -> tuple[Floats, Floats]:
    """Betas with concentration 10, which a map of means ignores."""
    if not ((mean >= 0.0) & (mean <= 1.0)).all():
        raise ValueError("confidences must be in [0, 1]")
    return np.maximum(10.0 * mean, 1e-6), np.maximum(10.0 * (1.0 - mean), 1e-6)
