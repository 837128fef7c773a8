"""Marker internal confidence: values worked out by hand, and the formulas written out slowly."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration.errors import RangeError, ShapeError
from hedgerow.calibration.metrics import MarkedSentence, corpus, measure_markers
from hedgerow.calibration.metrics.markers import (
    NO_MARKER,
    Part,
    cd_mae,
    correlation_across,
    fisher_mean,
    id_mae,
    m_avg_cv,
    mic,
    mrc,
    pearson,
    spearman,
)
from tests.support import slow_markers as slow


def rows(dataset, split, *measured):
    """Sentences of a dataset: (response, marker, confidence)."""
    return [MarkedSentence(marker, confidence, dataset, response, split) for response, marker, confidence in measured]


BY_HAND = [
    *rows("a", "train", ("1", "likely", 0.6), ("1", "maybe", 0.2), ("2", "likely", 0.8), ("2", "maybe", 0.4), ("3", "sure", 1.0)),
    *rows("a", "test", ("4", "likely", 0.5), ("4", "maybe", 0.5), ("5", "likely", 0.9), ("5", "new", 0.3)),
    *rows("b", "train", ("1", "likely", 0.9), ("1", "maybe", 0.5), ("2", "sure", 0.7)),
    *rows("b", "test", ("3", "likely", 0.9), ("4", "maybe", 0.7), ("4", "sure", 0.7)),
]  # fmt: skip
"""MICs: a likely .7, maybe .3, sure 1; b likely .9, maybe .5, sure .7."""


def test_every_metric_by_hand():
    """Errors in a: likely (.2 + .2) / 2, maybe .2; in b: likely 0, maybe .2, sure 0. From a to b: .2, .4, .3; from b to a: (.4 + 0) / 2, 0."""
    metrics = measure_markers(corpus(BY_HAND), threshold=1, accuracy={"a": 0.5, "b": 0.7}, cmfg={"a": 0.8, "b": 0.7})
    assert metrics["ID-MAE"].value == pytest.approx((0.2 + 0.2 / 3) / 2)
    assert metrics["ID-MAE"].over == 2
    assert metrics["ID-MAE"].deviation == pytest.approx(((0.0 + 2 * 0.4 / 30) / 3) ** 0.5)
    assert metrics["ID-MAE_S"].value == pytest.approx((0.6 / 3 + 0.2 / 3) / 2)
    assert metrics["ID-MAE_R"].value == pytest.approx((0.2 + (0.0 + 0.1) / 2) / 2)
    assert metrics["CD-MAE"].value == pytest.approx((0.3 + 0.1) / 2)
    assert metrics["CD-MAE_S"].value == pytest.approx((0.9 / 3 + 0.4 / 3) / 2)
    assert metrics["CD-MAE_R"].value == pytest.approx(((0.2 + 0.35) / 2 + (0.2 + 0.0) / 2) / 2)
    cvs = [2**-0.5 * abs(x - y) / ((x + y) / 2) for x, y in ((0.7, 0.9), (0.3, 0.5), (1.0, 0.7))]
    assert metrics["M-AvgCV"].value == pytest.approx(sum(cvs) / 3)
    within = [(2 * 0.18500000000 / 3) ** 0.5, 0.2 / 0.7]
    within[0] = np.std([0.7, 0.3, 1.0], ddof=1) / (2 / 3)
    assert metrics["D-AvgCV"].value == pytest.approx(sum(within) / 2)
    assert metrics["MRC"].value == pytest.approx(0.5)
    rising = np.tanh((2 * np.arctanh(0.9999) - np.arctanh(0.9999)) / 3)
    assert metrics["MAC"].value == metrics["MAC_Spear"].value == pytest.approx(rising)
    assert metrics["MCC"].value == metrics["MCC_Spear"].value == pytest.approx(-rising)


def test_a_marker_under_the_threshold_has_no_mic():
    """One sentence with "sure" in each dataset: at two, it is gone from MICs, errors and correlations."""
    found = mic(Part.of([0, 0, 1], [0.2, 0.4, 1.0], [0, 1, 2]), 2, threshold=2)
    assert found.mean.tolist()[0] == pytest.approx(0.3)
    assert np.isnan(found.mean[1])
    assert found.count.tolist() == [2, 1]
    at_two = measure_markers(corpus(BY_HAND), threshold=2)
    assert at_two["CD-MAE"].over == 1, "only a has markers with two sentences"
    assert at_two["M-AvgCV"].value is None
    assert at_two["MRC"].over == 0


def test_one_dataset_says_nothing_across_datasets():
    """What needs two datasets is absent, not 0."""
    metrics = measure_markers(corpus([s for s in BY_HAND if s.dataset == "a"]), threshold=1, accuracy={"a": 0.5})
    assert [name for name, of in metrics.items() if of.value is not None] == [
        "ID-MAE",
        "ID-MAE_S",
        "ID-MAE_R",
        "D-AvgCV",
    ]


def test_a_dataset_with_a_single_split_counts_for_mics_and_not_for_errors():
    """Footnote 17; its MICs are of all its sentences, whichever split they are called."""
    single = [s for s in BY_HAND if s.dataset == "a"] + rows("c", "test", ("1", "likely", 0.1), ("2", "maybe", 0.3))
    of = corpus(single)
    assert of.test[1] is None
    assert of.matrix()[1, of.markers.index("likely")] == pytest.approx(0.1)
    metrics = measure_markers(of, threshold=1)
    assert metrics["ID-MAE"].over == 1
    assert metrics["CD-MAE"].over == 0
    assert metrics["M-AvgCV"].over == 2


def test_without_the_marker_of_plain_sentences():
    """Its sentences are gone; the rest stays as it was."""
    plain = [*BY_HAND, *rows("a", "train", ("9", NO_MARKER, 1.0)), *rows("b", "test", ("9", NO_MARKER, 0.0))]
    assert measure_markers(corpus(plain).without(NO_MARKER), threshold=1) == measure_markers(
        corpus(BY_HAND), threshold=1
    )
    nothing_to_take = corpus(BY_HAND)
    assert nothing_to_take.without(NO_MARKER) is nothing_to_take


def test_ties_share_their_rank():
    """Spearman with ties, worked out: ranks 1.5 1.5 3 and 1 2 3."""
    assert spearman([0.2, 0.2, 0.9], [0.1, 0.5, 0.6]) == pytest.approx(0.8660254037844387)
    assert spearman([0.2, 0.2, 0.2], [0.1, 0.5, 0.6]) is None


def test_the_mean_of_correlations_is_fishers():
    """Not the arithmetic one, and finite at 1."""
    assert fisher_mean([0.9, 0.1]) == pytest.approx(np.tanh((np.arctanh(0.9) + np.arctanh(0.1)) / 2))
    assert fisher_mean([1.0, 1.0]) == pytest.approx(0.9999)
    with pytest.raises(RangeError):
        fisher_mean([1.1])
    with pytest.raises(RangeError):
        fisher_mean([])


def test_correlations_of_tiny_differences_do_not_vanish():
    """Squares of 1e-200 are 0 in floating point."""
    assert pearson([0.0, 1e-200, 3e-200], [1.0, 2.0, 4.0]) == pytest.approx(1.0)


def test_what_cannot_be_measured_is_refused():
    """A confidence beyond 1, columns of different lengths, a threshold of 0."""
    with pytest.raises(RangeError, match="confidence"):
        Part.of([0], [1.5], [0])
    with pytest.raises(RangeError, match="from 0"):
        Part.of([-1], [0.5], [0])
    with pytest.raises(ShapeError, match="equally long"):
        Part.of([0, 1], [0.5], [0])
    with pytest.raises(RangeError, match="threshold"):
        mic(Part.of([0], [0.5], [0]), 1, threshold=0)
    with pytest.raises(ShapeError, match="one a dataset"):
        correlation_across([[0.5, 0.6]], [0.5, 0.6])
    with pytest.raises(ShapeError, match="matrix"):
        mrc([0.5, 0.6])


def test_nothing_in_common_gives_no_figure():
    """Two datasets without a marker in common."""
    apart = np.array([[0.5, np.nan], [np.nan, 0.4]])
    assert m_avg_cv(apart).value is None
    assert mrc(apart).value is None
    assert id_mae([], []).over == cd_mae([], []).over == 0


sentences = st.lists(
    st.builds(
        MarkedSentence,
        marker=st.sampled_from([NO_MARKER, "likely", "maybe", "sure"]),
        confidence=st.integers(0, 20).map(lambda k: k / 20),
        dataset=st.sampled_from(["a", "b", "c"]),
        response=st.sampled_from(["1", "2", "3"]),
        split=st.sampled_from(["train", "test"]),
    ),
    min_size=1,
    max_size=60,
)
figures = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 10).map(lambda k: k / 10))


@given(sentences, st.integers(1, 4), figures, figures)
def test_every_metric_is_its_formula(measured, threshold, accuracy, cmfg):
    """Shared markers, ties, single splits, markers under the threshold: whatever comes, as the formulas written out say."""
    metrics = measure_markers(corpus(measured), threshold=threshold, accuracy=accuracy, cmfg=cmfg)
    plain = [asdict(s) for s in measured]
    for name, by in (("", "marker"), ("_S", "sentence"), ("_R", "response")):
        for metric, across in ((f"ID-MAE{name}", False), (f"CD-MAE{name}", True)):
            value, deviation, over = slow.mae(plain, threshold, by, across=across)
            agree(metrics[metric], value, over)
            assert metrics[metric].deviation == (None if deviation is None else pytest.approx(deviation, abs=1e-9))
    agree(metrics["M-AvgCV"], *slow.m_avg_cv(plain, threshold))
    agree(metrics["D-AvgCV"], *slow.d_avg_cv(plain, threshold))
    agree(metrics["MRC"], *slow.mrc(plain, threshold))
    for metric, figure in (("MAC", accuracy), ("MCC", cmfg)):
        agree(metrics[f"{metric}_Spear"], *slow.across(plain, threshold, figure, slow.spearman))
        agree(metrics[metric], *slow.across(plain, threshold, figure, slow.pearson))


def agree(found, value, over):
    assert found.over == over
    assert found.value == (None if value is None else pytest.approx(value, abs=1e-6))
