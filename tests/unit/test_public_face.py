"""`import hedgerow`: what a notebook calls gives what the proxy and its commands give, and behaves as scikit-learn's users expect."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import hedgerow
from hedgerow.calibration import Beta, MapRegistry
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.proxy.lab.rewording import GivenAnswer, default_reworder
from tests.support.tables import cases

matplotlib.use("Agg")

QUESTION = "Who wrote Emma?"
SAMPLES = ["Jane Austen", "It was Jane Austen.", "Austen", "Charlotte Brontë"]


def answers(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident: the accuracy is the square of the confidence."""
    rng = np.random.default_rng(seed)
    p = rng.beta(4, 2, n)
    return p, (rng.random(n) < p**2).astype(int)


def test_importing_it_costs_nothing() -> None:
    """An all-off proxy imports it too."""
    heavy = "print(sorted({'numpy', 'scipy', 'sklearn', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"import sys, hedgerow; {heavy}"], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
    assert set(hedgerow.__all__) <= set(dir(hedgerow))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hedgerow.nothing


@cases(("name", "lacking"), [("Calibrator", "sklearn"), ("reliability_diagram", "matplotlib")])
def test_without_the_extra_the_way_to_it_is_said(name: str, lacking: str) -> None:
    code = f"import sys; sys.modules['{lacking}'] = None\nfrom hedgerow import {name}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith(
        f"ImportError: hedgerow.{name} needs {lacking}: pip install 'hedgerow[science]'"
    )


def test_confidence_is_the_share_of_answers_that_agree() -> None:
    sure = hedgerow.confidence(QUESTION, SAMPLES)
    assert sure.groups == (tuple(SAMPLES[:3]), tuple(SAMPLES[3:]))
    assert (sure.draft, sure.alpha, sure.beta, float(sure)) == ("Jane Austen", 3.0, 1.0, 0.75)
    low, high = sure.interval()
    assert low < 0.75 < high
    with pytest.raises(ValueError, match="samples"):
        hedgerow.confidence(QUESTION, [])
    with pytest.raises(ValueError, match="a list of texts, at least one, got 'Paris'"):
        hedgerow.confidence(QUESTION, "Paris")
    with pytest.raises(ValueError, match="judge must be one of none, local, got 'llm'"):
        hedgerow.confidence("Who?", ["a"], judge="llm")


def test_it_works_where_an_event_loop_runs_already() -> None:
    """As in a notebook."""

    async def cell() -> hedgerow.Confidence:
        return hedgerow.confidence(QUESTION, SAMPLES)

    assert asyncio.run(cell()).mean == 0.75


@cases("p", [0.1, 0.5, 0.75, 0.97])
def test_word_says_what_a_route_would(p: float) -> None:
    answer = "Emma was written by Charlotte Brontë."
    beta = Beta.from_mean(p, 10.0)
    given = GivenAnswer(question=QUESTION, answer=answer, alpha=beta.alpha, beta=beta.beta)
    served = anyio.run(default_reworder().reword, given)
    worded = hedgerow.word(answer, p, question=QUESTION)
    assert (worded.text, worded.status) == (served.text or answer, served.status)
    assert str(worded) == worded.text


def test_word_takes_a_measured_confidence_and_a_routes_settings() -> None:
    sure = hedgerow.confidence(QUESTION, SAMPLES)
    assert hedgerow.word("Emma was written by Jane Austen.", sure).status == "hedged"
    assert "I " in hedgerow.word("Emma was written by Anne Brontë.", 0.5, voice="first_person").text
    with pytest.raises(ValueError, match=r"rewriting\.vice"):
        hedgerow.word("Emma.", 0.5, vice="none")
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        hedgerow.word("Emma.", 1.5)


def test_a_notebook_shows_texts_and_runs_none_of_them() -> None:
    sure = hedgerow.confidence("<script>", ["<b>bold</b>", "<b>bold</b>"])
    assert "<script>" not in sure._repr_html_()
    assert "2 of 2" in sure._repr_html_()
    assert "<i>" not in hedgerow.word("<i>Emma</i> was written in 1815.", 0.97)._repr_html_()


def test_the_calibrator_is_an_estimator() -> None:
    p, y = answers()
    calibrator = hedgerow.Calibrator("platt").fit(p, y)
    fresh = clone(calibrator)
    assert (fresh.get_params(), hasattr(fresh, "fitted_")) == (calibrator.get_params(), False)
    columns = np.column_stack([1 - p, p])
    np.testing.assert_array_equal(calibrator.predict_proba(columns), calibrator.predict_proba(p))
    np.testing.assert_array_equal(calibrator.predict(p), calibrator.predict_proba(p)[:, 1] >= 0.5)
    out_of_fold = cross_val_predict(fresh, p[:, None], y, method="predict_proba", cv=5)[:, 1]
    assert np.mean((out_of_fold - y) ** 2) < np.mean((p - y) ** 2)


def test_the_calibrator_says_what_is_wrong() -> None:
    p, y = answers(50)
    for wrong, message in (((p * 2, y), r"\[0, 1\]"), ((np.zeros((5, 3)), y), "shape"), ((p, y * 3), "0 or 1")):
        with pytest.raises(ValueError, match=message):
            hedgerow.Calibrator().fit(*wrong)
    with pytest.raises(ValueError, match=r"y must be 0 or 1 .*, got '(yes|no)'"):
        hedgerow.Calibrator().fit(p, np.where(y, "yes", "no"))
    with pytest.raises(NotEnoughData, match="right and wrong"):
        hedgerow.Calibrator().fit(p, np.ones(50))
    with pytest.raises(ValueError, match="sample_weight"):
        hedgerow.Calibrator().fit(p, y, sample_weight=-np.ones(50))


def test_sample_weights_are_those_of_scikit_learn() -> None:
    """Unpenalised logistic regression on the log-odds, and isotonic regression."""
    p, y = answers()
    weights = np.random.default_rng(1).uniform(0, 3, y.size).round(1)
    logit = np.log(p / (1 - p))[:, None]
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logit, y, sample_weight=weights)
    fitted = hedgerow.Calibrator("platt").fit(p, y, sample_weight=weights).fitted_.map
    assert (fitted.w, fitted.b) == pytest.approx((reference.coef_.item(), reference.intercept_.item()), rel=1e-4)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(p, y, sample_weight=weights)
    ours = hedgerow.Calibrator("isotonic").fit(p, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict_proba(p)[:, 1], isotonic.predict(p), atol=1e-9)


@pytest.mark.parametrize("kind", ["platt-bounded", "platt", "temperature", "beta", "isotonic", "venn-abers"])
@settings(max_examples=10)  # two fits with intervals each
@given(seed=st.integers(0, 50))
def test_a_weight_of_three_is_three_answers(kind: str, seed: int) -> None:
    p, y = answers(60, seed)
    times = np.random.default_rng(seed).integers(0, 4, y.size)
    weighted = hedgerow.Calibrator(kind, allow_negative_slope=kind.startswith("platt"))
    repeated = clone(weighted).fit(np.repeat(p, times), np.repeat(y, times))
    np.testing.assert_allclose(
        weighted.fit(p, y, sample_weight=times).predict_proba(p), repeated.predict_proba(p), atol=1e-6
    )
    one, other = weighted.fitted_, repeated.fitted_
    assert one.interval.upper == pytest.approx(other.interval.upper)
    assert one.provenance.accuracy == pytest.approx(other.provenance.accuracy)
    assert one.provenance.information == pytest.approx(other.provenance.information, rel=1e-4)


def test_a_fitted_calibrator_reaches_a_measured_confidence_and_the_registry(tmp_path) -> None:
    """From a notebook to the proxy: the map that was fitted is the map that is served."""
    calibrator = hedgerow.Calibrator().fit(*answers())
    sure = hedgerow.confidence(QUESTION, SAMPLES)
    corrected = calibrator.calibrate(sure)
    assert corrected.calibrated
    assert corrected.mean == pytest.approx(calibrator.predict_proba([0.75])[0, 1])
    assert corrected.alpha + corrected.beta == pytest.approx(4.0)
    registry = MapRegistry(tmp_path)
    registry.add("notebook-1", calibrator.fitted_)
    assert registry.load("notebook-1").map == calibrator.fitted_.map


def test_the_diagram_shows_the_table() -> None:
    p, y = answers()
    ax = hedgerow.reliability_diagram(p, y, name="raw")
    table = hedgerow.metrics.reliability_equal_width(p, y)
    filled = table.weight > 0
    np.testing.assert_allclose(
        ax.collections[1].get_offsets(), np.column_stack([table.confidence, table.accuracy])[filled]
    )
    again = hedgerow.reliability_diagram(p**2, y, ax, name="corrected")
    assert again is ax
    labels = [text.get_text().partition(":")[0] for text in ax.get_legend().get_texts()]
    assert labels == ["perfectly calibrated", "raw", "corrected"]
    matplotlib.pyplot.close(ax.figure)


def test_a_frame_is_evaluated_and_compared_as_the_command_does_it(tmp_path: Path) -> None:
    """The same figures as of the file, also where an event loop runs, as in a notebook; the page is one file."""
    p, y = answers()
    frame = pd.DataFrame({"confidence": p, "label": y})
    frame.to_csv(tmp_path / "d.csv", index=False)

    async def cell() -> dict[str, Any]:
        return hedgerow.evaluate(frame, resamples=20).figures

    figures, of_file = asyncio.run(cell()), hedgerow.evaluate(str(tmp_path / "d.csv"), resamples=20).figures
    assert figures["smooth_ece"]["difference_interval"] == pytest.approx(of_file["smooth_ece"]["difference_interval"])
    assert figures["smooth_ece"]["after"] < figures["smooth_ece"]["before"]
    compared = hedgerow.compare(pl.from_pandas(frame))
    assert compared.figures["candidates"][-1]["map"] in ("identity", "temperature")
    compared.save(tmp_path / "c.html")
    assert (tmp_path / "c.html").read_text().startswith("<!doctype html>")
    assert "srcdoc" in compared._repr_html_()
    with pytest.raises(ValueError, match=r"row 1 cannot be used .*: no confidence"):
        hedgerow.evaluate([{"sure": 0.5, "label": 1}])
    with pytest.raises(ValueError, match="no row has a label"):
        hedgerow.evaluate([{"confidence": 0.5, "label": None}])


def test_a_frame_with_empty_cells_says_which_and_goes_on_without_them() -> None:
    """pandas reads the right answer "None" as nothing."""
    p, y = answers()
    frame = pd.DataFrame({"confidence": p, "label": y.astype(object)})
    frame.loc[[3, 5], "confidence"] = np.nan
    with pytest.raises(ValueError, match=r"row 4 cannot be used, and 1 more .*skip_bad=True.* 'confidence' \(empty\)"):
        hedgerow.evaluate(frame)
    assert hedgerow.evaluate(frame, skip_bad=True, resamples=0).figures["bad_rows"] == 2
    assert hedgerow.compare(frame, skip_bad=True).figures["n"] == len(p) - 2
