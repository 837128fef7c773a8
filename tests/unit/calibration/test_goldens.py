"""The mathematics against values from other tools (tests/goldens/make_calibration.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hedgerow.calibration import faithfulness_divergence, w1_exact
from hedgerow.calibration.distribution import kl_divergence
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.metrics import auroc, generalised_ece, smooth_ece, smooth_ece_at
from tests.support.tables import cases

GOLDEN = json.loads((Path(__file__).parents[2] / "goldens" / "calibration.json").read_text(encoding="utf-8"))
POINTS = GOLDEN["points"]


def test_faithfulness_divergence_holds_its_digits_where_digammas_lose_theirs():
    rows = GOLDEN["faithfulness_divergence"]
    expected = np.array([float(row["value"]) for row in rows])
    columns = [np.array([row[name] for row in rows], dtype=float) for name in ("alpha", "beta", "correct")]
    np.testing.assert_allclose(faithfulness_divergence(*columns), expected, rtol=1e-12)
    scalars = [faithfulness_divergence(row["alpha"], row["beta"], row["correct"]) for row in rows]
    np.testing.assert_allclose(scalars, expected, rtol=1e-12)


@cases("row", GOLDEN["kl_divergence"])
def test_kl_divergence(row):
    assert kl_divergence(*row["betas"]).item() == pytest.approx(float(row["value"]), rel=1e-11)


def test_generalised_ece_equals_quadrature():
    golden = GOLDEN["generalised_ece"]
    assert generalised_ece(*zip(*golden["rows"], strict=True)) == pytest.approx(float(golden["value"]), abs=1e-10)


@cases("row", GOLDEN["w1"])
def test_w1_exact(row):
    assert w1_exact(*row["betas"]).item() == pytest.approx(float(row["value"]), abs=1e-9)


def test_platt_equals_unpenalised_logistic_regression():
    confidence = np.array(POINTS["confidence"])
    fitted = fit_map("platt", 10 * confidence, 10 * (1 - confidence), POINTS["correct"], folds=0).map.to_dict()
    assert fitted["w"] == pytest.approx(POINTS["platt"]["w"], abs=1e-6)
    assert fitted["b"] == pytest.approx(POINTS["platt"]["b"], abs=1e-6)


def test_auroc_equals_scikit_learn():
    assert auroc(POINTS["confidence"], POINTS["correct"]) == pytest.approx(POINTS["auroc"], abs=1e-12)


def test_smooth_ece_agrees_with_relplot_to_its_grid():
    p, y = POINTS["confidence"], POINTS["correct"]
    assert smooth_ece(p, y) == pytest.approx(POINTS["smooth_ece"], abs=1e-3)
    assert smooth_ece_at(p, y, bandwidth=0.05) == pytest.approx(POINTS["smooth_ece_at_0.05"], abs=1e-3)


def test_smooth_ece_is_the_sum_over_mirror_images():
    """The definition itself: a Gaussian reflected at both ends is the sum of those around the mirror images. Ends included, where relplot differs."""
    rng = np.random.default_rng(0)
    p = np.round(rng.random(200) ** 0.3, 1)
    y = (rng.random(200) < p).astype(float)
    middles = (np.arange(20_000) + 0.5) / 20_000
    for bandwidth in (0.02, 0.1, 0.3):
        smoothed = np.zeros_like(middles)
        for place in np.unique(p):
            weight = (y - p)[p == place].sum() / p.size
            for image in (sign * place + 2 * k for k in range(-3, 4) for sign in (1, -1)):
                smoothed += weight * stats.norm.pdf(middles, image, bandwidth)
        assert smooth_ece_at(p, y, bandwidth=bandwidth) == pytest.approx(np.abs(smoothed).mean(), abs=1e-7)
