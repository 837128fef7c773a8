"""Maps, their fits, and what the fits say of awkward data."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from hedgerow.calibration import Beta, FittedMap, PlattMap
from hedgerow.calibration.errors import CalibrationError, NegativeSlope, NotEnoughData, RangeError, ShapeError
from hedgerow.calibration.fitting import fit_map, random_folds
from hedgerow.calibration.maps import KINDS
from hedgerow.calibration.maps.base import apply_map, map_class, map_from_dict
from hedgerow.calibration.metrics import smooth_ece
from tests.support.tables import cases


def traffic(n=300, seed=0):
    """Ten samples an answer, overconfident: the accuracy is the square of the confidence."""
    rng = np.random.default_rng(seed)
    alpha = np.maximum(rng.binomial(10, rng.beta(3, 1.2, n)), 1e-6).astype(float)
    beta = np.maximum(10 - alpha, 1e-6)
    correct = (rng.random(n) < (alpha / (alpha + beta)) ** 2).astype(float)
    return alpha, beta, correct


@pytest.fixture(params=KINDS)
def fitted(request):
    return fit_map(request.param, *traffic(), signal="semantic", model="m")


def test_scalar_and_array_forms_of_a_map_agree_and_keep_the_concentration(fitted):
    alpha, beta, _ = traffic(40, seed=2)
    mapped = np.stack(apply_map(fitted.map, alpha, beta))
    singles = np.array(
        [(b.alpha, b.beta) for b in (fitted.map.apply(Beta(*row)) for row in zip(alpha, beta, strict=True))]
    )
    np.testing.assert_allclose(mapped.T, singles, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mapped.sum(axis=0), alpha + beta, atol=3e-6)


def test_maps_do_not_turn_the_order_round(fitted):
    if fitted.map.kind != "venn-abers":  # its point is not promised to be monotone
        assert (np.diff(fitted.map.means(np.linspace(0, 1, 101))) >= -1e-12).all()


def test_a_fitted_map_survives_json(fitted):
    assert FittedMap.from_dict(fitted.to_dict()) == fitted


@cases("kind", KINDS)
def test_fits_do_not_depend_on_the_order_of_the_records(kind):
    order, fitted = np.random.default_rng(1).permutation(300), fit_map(kind, *traffic())
    again = fit_map(kind, *(column[order] for column in traffic()))
    grid = np.linspace(0, 1, 21)
    np.testing.assert_allclose(again.map.means(grid), fitted.map.means(grid), atol=1e-9)
    for metric, held in fitted.provenance.cross_validation.items():
        assert again.provenance.cross_validation[metric]["after"] == pytest.approx(held["after"], rel=1e-6)


def test_cross_validation_is_near_what_fresh_records_show():
    """Folds dealt in the order of confidence said .030 where fresh records of the same kind show .071."""
    cross_validated, fresh = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        (a, b, y), (new_a, new_b, new_y) = _noisy(rng), _noisy(rng)
        fitted = fit_map("isotonic", a, b, y)
        cross_validated.append(fitted.provenance.cross_validation["smooth_ece"]["after"])
        new = apply_map(fitted.map, new_a, new_b)
        fresh.append(smooth_ece(new[0] / (new[0] + new[1]), new_y))
    assert np.mean(cross_validated) > 0.7 * np.mean(fresh)


def _noisy(rng):
    """200 records that all differ in confidence, which says something of the outcome."""
    agree = np.clip(rng.integers(0, 11, 200) + rng.normal(size=200) * 0.01, 0.01, 9.99)
    return agree, 10 - agree, (rng.random(200) < 1 / (1 + np.exp(-0.3 * (agree - 4)))).astype(float)


def test_folds_hold_an_even_share_of_both_outcomes_whatever_the_order():
    alpha, beta, correct = traffic()
    fold = random_folds(alpha, beta, correct, 5)
    for outcome in (0, 1):
        sizes = np.bincount(fold[correct == outcome], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    shuffled = np.random.default_rng(1).permutation(correct.size)
    again = random_folds(alpha[shuffled], beta[shuffled], correct[shuffled], 5)
    columns = np.stack([alpha, correct])
    for held in range(5):
        np.testing.assert_array_equal(
            np.sort(columns[:, fold == held]), np.sort(columns[:, shuffled][:, again == held])
        )


def test_a_confidence_that_learns_from_outcomes_is_learned_anew_in_each_fold():
    """A signal that remembers the outcomes that it saw is worth nothing on others, and the cross-validation says so."""
    rng = np.random.default_rng(0)
    alpha = rng.uniform(1, 9, 200)
    correct = (rng.random(200) < 0.5).astype(float)

    def remembered(seen):
        known = np.where(seen, 1 + 8 * correct, alpha)
        return known, 10 - known

    options = {"allow_negative_slope": True}
    cross_validation = fit_map(
        "platt-bounded", *remembered(np.ones(200, bool)), correct, **options
    ).provenance.cross_validation
    fair = fit_map(
        "platt-bounded", *remembered(np.ones(200, bool)), correct, measured_by=remembered, **options
    ).provenance.cross_validation
    assert cross_validation["auroc"]["before"] == 1.0
    assert fair["auroc"]["before"] < 0.65


def test_unanimous_samples_and_luck_do_not_look_like_certainty():
    """Ten of ten weigh as 10.5 : 0.5, targets are Platt's of 1999: as scikit-learn fits it when the targets are given as weights."""
    alpha = np.repeat([10.0, 9.0, 6.0, 3.0], 100)
    beta = np.maximum(10.0 - alpha, 1e-6)
    correct = np.concatenate([np.arange(100) < right for right in (90, 85, 40, 10)]).astype(float)
    fitted = fit_map("platt-bounded", alpha, beta, correct, folds=0).map
    x = np.log(np.where(beta < 1, 10.5, alpha) / np.where(beta < 1, 0.5, beta))
    target = np.where(correct == 1, 226 / 227, 1 / 177)  # 225 right, 175 wrong
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.r_[x, x][:, None], np.repeat([1, 0], 400), sample_weight=np.r_[target, 1 - target]
    )
    np.testing.assert_allclose((fitted.w, fitted.b), (model.coef_.item(), model.intercept_.item()), rtol=1e-4)
    assert fitted.means(1 - 1e-7) == fitted.means(10.5 / 11) > fitted.means(0.9)
    bare = fit_map("platt", alpha, beta, correct, folds=0).map
    spread = [calibrated.means(0.9) - calibrated.means(0.3) for calibrated in (bare, fitted)]
    assert spread[0] < 0.5 < spread[1]  # 85 % against 10 % were right


def test_confidences_that_all_lie_beyond_the_limit_are_taken_as_they_are():
    alpha, correct = np.tile([980.0, 999.0], 50), np.tile([0.0, 1.0, 1.0, 1.0], 25)
    fitted = fit_map("platt-bounded", alpha, 1000 - alpha, correct, folds=0).map
    assert fitted.means(0.98) < fitted.means(0.999)


def test_a_platt_map_stored_without_a_limit_keeps_its_effect():
    stored = map_from_dict({"kind": "platt", "w": 0.2, "b": 0.0})
    assert stored.means(1 - 1e-7) == pytest.approx(1 / (1 + np.exp(-3.2236191)))


def test_provenance_says_where_a_map_comes_from():
    made = fit_map("platt", *traffic(), signal="token", model="x").provenance
    assert (made.n, made.signal, made.model, made.notes) == (300, "token", "x", ())
    assert set(made.standard_errors) == {"w", "b"}
    assert made.cross_validation["generalised_ece"]["after"] < made.cross_validation["generalised_ece"]["before"]


def test_isotonic_equals_scikit_learn():
    alpha, beta, correct = traffic()
    mean, grid = alpha / (alpha + beta), np.linspace(0, 1, 57)
    expected = IsotonicRegression(out_of_bounds="clip").fit(mean, correct).predict(grid)
    np.testing.assert_allclose(fit_map("isotonic", alpha, beta, correct).map.means(grid), expected, atol=1e-12)


def test_venn_abers_interval_brackets_its_point():
    venn = fit_map("venn-abers", *traffic()).map
    for mean in (0.0, 0.05, 0.5, 0.93, 1.0):
        low, high = venn.interval(mean)
        assert low <= venn.means([mean]).item() <= high


def test_histogram_of_certain_bins_stays_short_of_certainty():
    fitted = fit_map("histogram", [9.0] * 40 + [1.0] * 40, [1.0] * 40 + [9.0] * 40, [1] * 40 + [0] * 40)
    low, high = fitted.map.means([0.1, 0.9])
    assert 0.0 < low < 0.05
    assert 0.95 < high < 1.0


@cases("kind", [kind for kind in KINDS if kind != "identity"])
def test_one_class_and_one_confidence_are_refused(kind):
    with pytest.raises(NotEnoughData, match="all 50 answers are right"):
        fit_map(kind, np.arange(1.0, 51.0), 1.0, np.ones(50))
    with pytest.raises(NotEnoughData, match=r"all 4 confidences are 0\.9"):
        fit_map(kind, [9.0] * 4, [1.0] * 4, [1, 0, 1, 0])


@cases("kind", ["platt", "temperature", "beta"])
def test_separable_and_tiny_data_give_a_regularised_fit_that_says_so(kind):
    separable = fit_map(kind, [9.0] * 30 + [1.0] * 30, [1.0] * 30 + [9.0] * 30, [1] * 30 + [0] * 30)
    assert "separable" in separable.provenance.notes[0]
    assert 0.9 < separable.map.means([0.9]).item() < 1.0
    tiny = fit_map(kind, [9.0, 8.0, 7.0, 2.0], [1.0, 2.0, 3.0, 8.0], [1, 1, 0, 1])
    assert "4 records" in tiny.provenance.notes[0] or "separable" in tiny.provenance.notes[0]


def test_a_negative_slope_is_refused_unless_asked_for():
    alpha, beta, correct = traffic()
    with pytest.raises(NegativeSlope, match="slope is -"):
        fit_map("platt", alpha, beta, 1 - correct)
    assert fit_map("platt", alpha, beta, 1 - correct, allow_negative_slope=True).map.to_dict()["w"] < 0


@given(st.floats(1e-6, 1e8), st.floats(1e-6, 1e8), st.floats(-5, 5), st.floats(-5, 5))
def test_platt_always_gives_a_beta(alpha, beta, w, b):
    assert 0.0 <= PlattMap(w, b).apply(Beta(alpha, beta)).mean <= 1.0


@cases("content", [{"kind": "oracle"}, {"kind": "platt", "w": float("nan"), "b": 0.0}])
def test_a_stored_map_that_makes_no_sense_is_refused(content):
    with pytest.raises((CalibrationError, RangeError)):
        map_from_dict(content)


def test_importing_the_mathematics_does_not_import_scikit_learn_or_plots():
    code = "import hedgerow.calibration.fitting, sys; print({'sklearn', 'matplotlib', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


KINDS_THAT_LEARN = ("platt", "platt-bounded", "temperature", "beta", "isotonic", "histogram", "venn-abers")
GRID = np.linspace(0.0, 1.0, 21)


def few_means(n, seed=0):
    """Answers of eight confidences, right as often as these say."""
    rng = np.random.default_rng(seed)
    mean = rng.integers(1, 9, n) / 9.0
    return mean, (rng.random(n) < mean).astype(float)


@cases("kind", KINDS_THAT_LEARN)
def test_records_of_weight_zero_are_as_good_as_not_there(kind):
    """Where no other has their confidence, where they hide that a threshold divides right from wrong, and where they are all of one class."""
    mean, correct = few_means(60)
    weights = (mean > 0.3).astype(float)
    learn = map_class(kind).learn
    left = weights > 0.0
    with_them, without = learn(mean, correct, weights=weights), learn(mean[left], correct[left])
    np.testing.assert_allclose(with_them.map.means(GRID), without.map.means(GRID), rtol=0, atol=1e-9)
    divided = np.where(mean > 0.5, 1.0, 0.0)
    divided[:4] = 1.0 - divided[:4]
    hidden = np.where(np.arange(60) < 4, 0.0, 1.0)
    assert learn(mean, divided, weights=hidden).notes == learn(mean[4:], divided[4:]).notes
    with pytest.raises(NotEnoughData, match="answers are right"):
        learn(mean, correct, weights=correct)
    with pytest.raises(NotEnoughData, match="every weight is zero"):
        learn(mean, correct, weights=np.zeros(60))
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(RangeError, match="weights must be finite and >= 0"):
            learn(mean, correct, weights=np.full(60, wrong))
    with pytest.raises(ShapeError, match="need 60 weights"):
        learn(mean, correct, weights=np.ones(59))


@cases("kind", [kind for kind in KINDS_THAT_LEARN if kind != "histogram"])
def test_a_weight_of_ten_is_ten_records(kind):
    """Sixteen rows that stand for 160 are not few; those of the histogram end where the rows say."""
    mean = np.tile(np.arange(1, 9) / 9.0, 2)
    correct = np.repeat([0.0, 1.0], 8)
    weights = np.where(correct == 1.0, np.round(mean * 18), 18 - np.round(mean * 18))
    times = weights.astype(int)
    together, apart = (
        map_class(kind).learn(mean, correct, weights=weights),
        map_class(kind).learn(np.repeat(mean, times), np.repeat(correct, times)),
    )
    np.testing.assert_allclose(together.map.means(GRID), apart.map.means(GRID), rtol=0, atol=1e-8)
    assert together.notes == apart.notes == ()


@cases("kind", ["platt", "platt-bounded", "beta", "isotonic"])
@cases("means", [(0.0, 1.0), (0.3, 0.9), (0.2, 0.4)])
def test_confidences_that_say_nothing_give_their_share_and_no_slope_of_rounding(kind, means):
    """Two in three are right at both confidences: the likelihood is largest at slope 0, in closed form. Rounding made that an order turned round."""
    correct = np.tile([0.0, 1.0, 1.0], 20)
    learned = map_class(kind).learn(np.repeat(means, 30), correct)
    smoothed = (40 * 41 / 42 + 20 / 22) / 60  # Platt 1999, 2.2
    np.testing.assert_allclose(learned.map.means(GRID), smoothed if kind == "platt-bounded" else 2 / 3, atol=1e-9)
    assert learned.notes == ("the same value for every confidence: they do not rank right above wrong",)


def test_no_temperature_is_learned_from_confidences_that_say_nothing():
    with pytest.raises(NegativeSlope, match="the slope is 0: no temperature"):
        map_class("temperature").learn(np.repeat([0.0, 1.0], 30), np.tile([0.0, 1.0], 30))
