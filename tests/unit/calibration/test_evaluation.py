"""Evaluation of maps, comparison of two maps, and bootstrap intervals: what is measured, on which records, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hedgerow.calibration import IdentityMap
from hedgerow.calibration.errors import NotEnoughData, RangeError, ShapeError
from hedgerow.calibration.evaluation import evaluate
from hedgerow.calibration.fitting import fit_map, random_folds
from hedgerow.calibration.maps.base import apply_map
from hedgerow.calibration.metrics import auroc, expected_brier
from hedgerow.calibration.metrics.bootstrap import bootstrap_interval, studentised_interval
from hedgerow.calibration.metrics.faithfulness import cmfg, faithfulness
from hedgerow.calibration.metrics.scoring import aurc, risk_coverage
from hedgerow.calibration.metrics.smooth import smooth_ece_at, smooth_ece_interval
from hedgerow.calibration.metrics.table import paired
from hedgerow.calibration.refit import refit
from tests.support.tables import cases


def traffic(n=400, seed=0):
    """Ten samples an answer, overconfident: the accuracy is the cube of the confidence."""
    rng = np.random.default_rng(seed)
    agree = rng.integers(1, 10, n).astype(float)
    return agree, 10 - agree, (rng.random(n) < (agree / 10) ** 3).astype(float)


def test_the_map_is_fitted_on_the_first_records_and_measured_on_the_others():
    a, b, y = traffic()
    evaluation = evaluate(a, b, y, train_fraction=0.3)
    assert evaluation.fitted.map == fit_map("platt", a[:120], b[:120], y[:120]).map
    np.testing.assert_array_equal(evaluation.correct, y[120:])
    np.testing.assert_array_equal(evaluation.raw, (a[120:], b[120:]))
    np.testing.assert_array_equal(evaluation.calibrated, apply_map(evaluation.fitted.map, a[120:], b[120:]))
    assert evaluation.before["expected_brier"] == pytest.approx(
        float(np.mean(expected_brier(a[120:], b[120:], y[120:])))
    )
    assert evaluation.after["expected_brier"] < evaluation.before["expected_brier"]
    assert evaluation.changes == {}


def test_what_happens_after_the_fit_does_not_move_it():
    a, b, y = traffic()
    turned = np.r_[y[:120], 1 - y[120:]]
    assert evaluate(a, b, turned).fitted.map == evaluate(a, b, y).fitted.map


def test_every_metric_has_its_interval_and_every_resample_is_told():
    ticks = []
    evaluation = evaluate(
        *traffic(200), resamples=5, rng=np.random.default_rng(0), on_resample=lambda: ticks.append(1)
    )  # fmt: skip
    assert set(evaluation.changes) == set(evaluation.before) == set(evaluation.after)
    assert len(ticks) == 5 * len(evaluation.before)
    for name, change in evaluation.changes.items():
        estimates = (change.before.estimate, change.after.estimate)
        assert estimates == pytest.approx((evaluation.before[name], evaluation.after[name]), abs=1e-12)
        assert change.difference.estimate == pytest.approx(evaluation.after[name] - evaluation.before[name])
        assert all(interval.low <= interval.high for interval in (change.before, change.after, change.difference))


class FirstRecord(np.random.Generator):
    """Draws the first record again and again, so that no resample holds both outcomes."""

    def integers(self, low, high=None, size=None, **_):
        return np.zeros(size, dtype=np.int64)


def test_a_metric_that_resamples_leave_undefined_has_a_value_and_no_interval():
    evaluation = evaluate(*traffic(80), resamples=3, rng=FirstRecord(np.random.PCG64(0)))
    assert "auroc" in evaluation.before
    assert "auroc" not in evaluation.changes
    assert "expected_brier" in evaluation.changes


@cases("fraction", [0.0, 1.0, -0.1, float("nan")])
def test_a_fraction_outside_0_and_1_is_refused(fraction):
    with pytest.raises(RangeError, match="train_fraction"):
        evaluate(*traffic(), train_fraction=fraction)
    with pytest.raises(RangeError, match="train_fraction"):
        refit(*traffic(), IdentityMap(), train_fraction=fraction, rng=np.random.default_rng(0))


def test_what_the_first_records_lack_is_said_of_them():
    """The rest may hold wrong answers."""
    a, b, y = traffic(100)
    y[:30] = 1.0
    with pytest.raises(NotEnoughData, match=r"all 30 answers are right.*; the map is fitted on the first 30 of 100"):
        evaluate(a, b, y)


def test_too_few_records_to_fit_or_to_compare_on_are_refused():
    with pytest.raises(NotEnoughData, match="leaves none to fit on"):
        evaluate(*traffic(3), train_fraction=0.3)
    with pytest.raises(NotEnoughData, match="at least 50"):
        refit(*traffic(90), IdentityMap(), rng=np.random.default_rng(0))


def test_a_refit_is_better_than_no_map_and_not_better_than_itself():
    a, b, y = traffic()
    first = refit(a, b, y, IdentityMap(), rng=np.random.default_rng(0))
    assert (first.n, first.is_better) == (200, True)
    for name, interval in first.difference.items():
        assert interval.estimate == pytest.approx(first.new[name] - first.active[name])
    again = refit(a, b, y, first.fitted.map, rng=np.random.default_rng(0))
    assert not again.is_better
    assert {(i.low, i.estimate, i.high) for i in again.difference.values()} == {(0.0, 0.0, 0.0)}


@cases(("share", "one_key"), [(0.5, "app"), (1.0, None)])
def test_a_map_is_not_better_on_the_word_of_one_sender(share, one_key):
    """Whoever sends every second outcome, always wrong, would have all answers lowered; what the others say bears that out no more."""
    rng, n = np.random.default_rng(4), 1000
    raw = rng.uniform(0.6, 0.95, n)
    sent = rng.random(n) < share
    correct = np.where(sent, 0.0, rng.random(n) < raw)
    senders = np.where(sent, "app", np.where(rng.random(n) < 0.5, "other", "third")).astype(object)
    if share == 1.0:
        correct[::9] = 1.0
    made = refit(10 * raw, 10 - 10 * raw, correct, IdentityMap(), senders=senders, rng=np.random.default_rng(0))
    assert made.one_key == one_key
    assert made.is_better == (share == 1.0)


def test_a_refit_is_compared_on_what_was_drawn_by_lot():
    """What was picked for its confidence teaches the map and is no part of the comparison."""
    a, b, y = traffic()
    drawn = np.arange(y.size) % 3 > 0
    picked_turned = np.where(drawn | (np.arange(y.size) < y.size // 2), y, 1 - y)
    first, second = (
        refit(a, b, outcome, IdentityMap(), drawn=drawn, rng=np.random.default_rng(0)) for outcome in (y, picked_turned)
    )
    assert (first.n, first.fitted.provenance.n) == (int(drawn[y.size // 2 :].sum()), y.size // 2)
    assert first.difference == second.difference
    with pytest.raises(NotEnoughData, match="at least 50"):
        refit(a, b, y, IdentityMap(), drawn=np.arange(y.size) < y.size // 2 + 40, rng=np.random.default_rng(0))


@pytest.mark.slow
def test_claims_of_one_answer_do_not_stand_each_for_itself():
    """Twelve claims of an answer, all right or all wrong together: the intervals are those of the answers, not of twelve times as many."""
    rng = np.random.default_rng(2)
    agree = np.repeat(rng.integers(1, 10, 200), 12).astype(float)
    right, of = np.repeat(rng.random(200) < 0.5, 12).astype(float), np.repeat(np.arange(200), 12)
    before, after = (agree, 10 - agree), (np.full(2400, 5.0), np.full(2400, 5.0))
    for name in ("expected_brier", "generalised_ece", "ece_equal_width"):
        alone, together, answers = (
            paired(name, *columns, rng=np.random.default_rng(0), resamples=300, groups=groups).difference
            for columns, groups in (
                ((before, after, right), None),
                ((before, after, right), of),
                ([tuple(c[::12] for c in before), tuple(c[::12] for c in after), right[::12]], None),
            )
        )
        width, wide, wanted = (interval.high - interval.low for interval in (alone, together, answers))
        assert wide == pytest.approx(wanted, rel=0.25), name
        assert wide > 2.5 * width, name


def test_a_refit_on_claims_compares_answers_that_the_fit_has_not_seen():
    """And wants enough of them."""
    a, b, y = traffic()
    of = np.arange(y.size) // 8
    made = refit(a, b, y, IdentityMap(), groups=of, train_fraction=0.49, rng=np.random.default_rng(0))
    assert (made.fitted.provenance.n, made.n) == (196, 200)
    with pytest.raises(NotEnoughData, match="are of 10 clusters; at least 20"):
        refit(a, b, y, IdentityMap(), groups=np.arange(y.size) // 20, rng=np.random.default_rng(0))


@pytest.mark.slow
def test_a_fit_on_claims_holds_out_and_resamples_answers():
    """Twelve claims of an answer, all alike: intervals and folds are those of the answers, whatever the order of the rows."""
    agree, beta, right = traffic(240)
    of = np.repeat(np.arange(240), 12)
    claims = tuple(np.repeat(column, 12) for column in (agree, beta, right))
    alone, together = (fit_map("platt", *claims, resamples=200, groups=groups).provenance for groups in (None, of))
    answers = fit_map("platt", agree, beta, right, resamples=200).provenance
    for name in ("generalised_ece", "smooth_ece"):
        width, wide, wanted = (
            made.cross_validation[name]["change_high"] - made.cross_validation[name]["change_low"]
            for made in (alone, together, answers)
        )
        assert wide == pytest.approx(wanted, rel=0.35), name
        assert wide > 2.0 * width, name
    assert together.notes == ("2880 records of 240 clusters; those of one are taken together",)
    assert answers.notes == alone.notes == ()
    fold = random_folds(*claims, 5, of)
    assert all(np.unique(fold[of == answer]).size == 1 for answer in range(240))
    assert np.bincount(fold).tolist() == [576] * 5
    order = np.random.default_rng(1).permutation(2880)
    np.testing.assert_array_equal(random_folds(*(c[order] for c in claims), 5, of[order]), fold[order])


def test_an_evaluation_of_claims_measures_answers_that_the_fit_has_not_seen():
    """With few answers there are figures and no interval, and a note says why."""
    a, b, y = traffic(400)
    of = np.arange(400) // 8
    made = evaluate(a, b, y, train_fraction=0.29, groups=of, resamples=20, rng=np.random.default_rng(0))
    assert (made.fitted.provenance.n, made.correct.size) == (116, 280)
    assert made.changes["expected_brier"].difference.low < made.changes["expected_brier"].difference.high
    few = evaluate(a, b, y, groups=np.arange(400) // 20, resamples=20, rng=np.random.default_rng(0))
    assert few.changes == {}
    assert few.fitted.provenance.notes[-1].endswith("records to compare on are of 14 clusters; at least 20 are needed")
    one = fit_map("platt", a, b, y, groups=np.zeros(400)).provenance
    assert (one.cross_validation, one.notes) == (
        {},
        ("no cross-validation: all records are of one cluster; at least 5 are needed",),
    )
    with pytest.raises(NotEnoughData, match="leaves none to measure: all are parts of an answer that the fit has seen"):
        evaluate(a, b, y, groups=np.zeros(400))
    with pytest.raises(ShapeError, match="need 400 groups"):
        evaluate(a, b, y, groups=of[1:])


def test_the_interval_of_a_mean_is_that_of_scipy():
    """scipy.stats.bootstrap, percentile method, as the reference; both are random, 4,000 resamples."""
    column = np.random.default_rng(3).beta(2, 1, 80)
    reference = stats.bootstrap((column,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(4))
    interval = bootstrap_interval(np.mean, column, rng=np.random.default_rng(5), resamples=4000)
    assert interval.estimate == column.mean()
    assert (interval.low, interval.high) == pytest.approx(tuple(reference.confidence_interval), abs=0.004)


@pytest.mark.slow
@cases("off_by", [0.0, 0.05, 0.15])
def test_the_interval_of_the_smooth_ece_covers(off_by):
    """Also where the confidences are calibrated: percentiles of resamples held the truth there in 0 of 60 sets."""
    rng = np.random.default_rng(8)

    def drawn(n):
        p = rng.beta(4, 2, n)
        return p, (rng.random(n) < np.clip(p - off_by, 0, 1)).astype(float)

    everything, covered = drawn(200_000), 0
    for _ in range(60):
        interval = smooth_ece_interval(*drawn(200), rng=rng, resamples=40)
        truth = smooth_ece_at(*everything, bandwidth=interval.estimate)
        covered += interval.low <= truth <= interval.high
    assert covered >= 52  # of 60 at 95 %; fewer come by chance in 1 of 300 runs


def test_columns_are_resampled_together():
    column = np.arange(30.0)
    interval = bootstrap_interval(lambda x, y: x - y, column, column, rng=np.random.default_rng(0), resamples=50)
    assert (interval.estimate, interval.low, interval.high) == (0.0, 0.0, 0.0)


def test_a_higher_level_gives_a_wider_interval():
    column = np.random.default_rng(1).random(40)
    narrow, wide = (bootstrap_interval(np.mean, column, rng=np.random.default_rng(0), level=p) for p in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_bootstrap_refuses_what_it_cannot_answer():
    rng = np.random.default_rng(0)
    with pytest.raises(RangeError, match="level"):
        bootstrap_interval(np.mean, [0.1, 0.2], rng=rng, level=1.0)
    with pytest.raises(RangeError, match="resamples"):
        bootstrap_interval(np.mean, [0.1, 0.2], rng=rng, resamples=1)
    with pytest.raises(ShapeError):
        bootstrap_interval(auroc, [0.1, 0.2, 0.3], [0, 1], rng=rng)
    with pytest.raises(NotEnoughData, match="right and 0 wrong"):
        bootstrap_interval(auroc, [0.1, 0.2], [1, 1], rng=rng)
    with pytest.raises(NotEnoughData, match=r"undefined on \d+ of 200 resamples"):  # half of the pairs hold one class
        bootstrap_interval(_undefined_without_first, np.arange(20.0), rng=rng, resamples=200)


def _undefined_without_first(column):
    """A metric that three rows of twenty must be there for."""
    if not np.isin([0.0, 1.0, 2.0], column).all():
        raise NotEnoughData("a row is missing")
    return float(column.mean())


def test_faithfulness_is_one_minus_the_mean_gap_of_each_response():
    """By hand: gaps .2 and 0, then .5 and .1."""
    assert faithfulness([[1.0, 0.6], [0.0, 0.9]], [[0.8, 0.6], [0.5, 1.0]]).tolist() == pytest.approx([0.9, 0.7])
    with pytest.raises(RangeError, match="without assertions"):
        faithfulness([], [])


def test_wording_that_ignores_the_confidence_is_at_one_half():
    """Yona et al., section 4: confidences spread evenly, always decisive."""
    confidence = (np.arange(1000) + 0.5) / 1000
    assert cmfg(np.ones(1000), confidence) == pytest.approx(0.5)
    assert cmfg(confidence, confidence) == 1.0
    with pytest.raises(RangeError, match="bins"):
        cmfg([1.0], [1.0], bins=0)


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30))
def test_the_risk_at_full_coverage_is_the_share_of_wrong_answers(rows):
    confidence, correct = np.array([(c / 4, float(y)) for c, y in rows]).T
    curve = risk_coverage(confidence, correct)
    assert curve.coverage[-1] == 1.0
    assert curve.risk[-1] == pytest.approx(1.0 - correct.mean())
    for coverage, risk, threshold in zip(curve.coverage, curve.risk, curve.threshold, strict=True):
        given_ = confidence >= threshold
        assert coverage == pytest.approx(given_.mean())
        assert risk == pytest.approx(1.0 - correct[given_].mean())
    if len(curve.coverage) == len(rows):  # no ties: the area is the mean of the curve
        assert aurc(confidence, correct) == pytest.approx(curve.risk.mean())


@cases("size", [1, 5])
def test_a_studentised_interval_covers_the_mean_of_values_that_are_seldom_large(size: int) -> None:
    """As often as it says; of clusters, whole ones are drawn."""
    rng, missed, above = np.random.default_rng(8), 0, 0
    for _ in range(200):
        wrong = rng.random(100) < 0.2
        values = np.repeat(np.where(wrong, 3.0, 0.1), size) * rng.uniform(0.5, 1.5, 100 * size)
        held = studentised_interval(values, groups=np.repeat(np.arange(100), size), rng=rng)
        missed += not held.low <= 0.68 <= held.high
        above += held.high < 0.68
    assert missed <= 20
    assert above <= 14


def test_a_studentised_interval_is_refused_where_one_value_decides() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(NotEnoughData, match="too few of the values are large"):
        studentised_interval([0.1] * 99 + [5.0], rng=rng)
    with pytest.raises(RangeError, match="values must be >= 0"):
        studentised_interval([0.1, -0.1], rng=rng)
    assert studentised_interval([0.0] * 100, rng=rng).high == pytest.approx(0.0)


def test_a_fit_on_clusters_knows_no_more_than_one_record_of_each():
    """Drift allows for the error of a fit by its information; ten copies of each record teach nothing more."""
    a, b, y = (np.repeat(column, 10) for column in traffic(200))
    alone, ten = (
        fit_map("platt", *traffic(200), folds=0),
        fit_map("platt", a, b, y, folds=0, groups=np.arange(2000) // 10),
    )
    assert ten.provenance.information == pytest.approx(alone.provenance.information)
