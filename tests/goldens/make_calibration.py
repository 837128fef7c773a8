"""Writes calibration.json: values from mpmath (50 digits), scikit-learn and relplot. Run: python tests/goldens/make_calibration.py."""

from __future__ import annotations

import json
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import mpmath as mp
import numpy as np
import relplot
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

mp.mp.dps = 50
SIZES = [1e-6, 1e-3, 0.3, 1.0, 7.0, 11.9, 12.1, 150.0, 1e5, 1e8]


def divergence(alpha: float, beta: float, correct: int) -> mp.mpf:
    """The paper's closed form."""
    a, b = (mp.mpf(alpha), mp.mpf(beta)) if correct else (mp.mpf(beta), mp.mpf(alpha))
    k = a + b
    return k * (mp.digamma(a + 1) - mp.digamma(k + 1) - mp.log(a / k))


def kl(a1: float, b1: float, a2: float, b2: float) -> mp.mpf:
    """KL divergence of two Betas from the logarithms of their normalisers."""
    a1, b1, a2, b2 = map(mp.mpf, (a1, b1, a2, b2))
    lnb = lambda a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)  # noqa: E731
    slope = (a1 - a2) * mp.digamma(a1) + (b1 - b2) * mp.digamma(b1)
    return lnb(a2, b2) - lnb(a1, b1) + slope + (a2 - a1 + b2 - b1) * mp.digamma(a1 + b1)


def generalised_ece(rows: list[tuple[float, float, int]], bins: int) -> mp.mpf:
    """The definition term by term, every integral by quadrature of the density."""
    total = mp.mpf(0)
    for m in range(bins):
        low, high = mp.mpf(m) / bins, mp.mpf(m + 1) / bins
        weights, hits, confidences = mp.mpf(0), mp.mpf(0), mp.mpf(0)
        for a, b, y in rows:
            density = lambda x, a=a, b=b: x ** (mp.mpf(a) - 1) * (1 - x) ** (mp.mpf(b) - 1) / mp.beta(a, b)  # noqa: E731
            w = mp.quad(density, [low, high])
            weights, hits = weights + w, hits + w * y
            confidences += mp.quad(lambda x, d=density: x * d(x), [low, high])
        total += weights / len(rows) * abs(hits - confidences) / weights
    return total


def w1(a1: float, b1: float, a2: float, b2: float) -> mp.mpf:
    """The integral of |F1 - F2|, split where F1 = F2."""
    cdf = lambda x, a, b: mp.betainc(a, b, 0, x, regularized=True)  # noqa: E731
    gap = lambda x: cdf(x, a1, b1) - cdf(x, a2, b2)  # noqa: E731
    mp.mp.dps = 20
    edges = [mp.mpf(i) / 32 for i in range(33)]
    for low, high in pairwise(edges[1:-1]):
        if gap(low) * gap(high) < 0 and min(abs(gap(low)), abs(gap(high))) > mp.mpf(10) ** -12:
            edges.append(mp.findroot(gap, (low, high), solver="anderson", tol=1e-30))
    edges.sort()
    distance = sum(abs(mp.quad(gap, [low, high])) for low, high in pairwise(edges))
    mp.mp.dps = 50
    return distance


def main() -> None:
    """Compute and write everything."""
    rng = np.random.default_rng(20)
    betas = [(2.5, 1.5, 1), (8.0, 2.0, 1), (1.2, 6.0, 0), (30.0, 4.0, 0), (3.0, 3.0, 1)]
    pairs = [(3.0, 3.0, 40.0, 60.0), (8.0, 2.0, 2.0, 8.0), (2.0, 5.0, 20.0, 50.0), (1.0, 1.0, 1.5, 1.25)]
    confidence = rng.beta(4, 2, 400)
    correct = (rng.random(400) < confidence**2).astype(int)
    x = np.log(confidence / (1 - confidence))[:, None]
    platt = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(x, correct)
    document = {
        "made_with": {name: version(name) for name in ("mpmath", "scikit-learn", "relplot", "numpy")},
        "faithfulness_divergence": [
            {"alpha": a, "beta": b, "correct": y, "value": mp.nstr(divergence(a, b, y), 20)}
            for a in SIZES for b in SIZES for y in (0, 1)
        ],
        "kl_divergence": [{"betas": p, "value": mp.nstr(kl(*p), 20)} for p in [*pairs, (10.0, 1.0, 9.0, 1.0)]],
        "generalised_ece": {"rows": betas, "bins": 10, "value": mp.nstr(generalised_ece(betas, 10), 20)},
        "w1": [{"betas": p, "value": mp.nstr(w1(*p), 15)} for p in pairs],
        "points": {
            "confidence": confidence.tolist(),
            "correct": correct.tolist(),
            "platt": {"w": platt.coef_.item(), "b": platt.intercept_.item()},
            "auroc": roc_auc_score(correct, confidence),
            "smooth_ece": relplot.smECE(confidence, correct.astype(float)),
            "smooth_ece_at_0.05": relplot.metrics.smECE_sigma(confidence, correct.astype(float), 0.05),
        },
    }  # fmt: skip
    Path(__file__).with_name("calibration.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
