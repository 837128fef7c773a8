"""Speed of the mathematics beside scipy and scikit-learn doing the same work: `python -m benchmarks.performance.numerics`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import special, stats

from hedgerow.calibration import Beta, faithfulness_divergence, quantile_nodes, w1_exact
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.maps.base import log_odds
from hedgerow.calibration.metrics import generalised_ece, smooth_ece

N = 1_000_000


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Median time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def naive_divergence(alpha: np.ndarray, beta: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The closed form as written, by scipy."""
    a, k = np.where(y, alpha, beta), alpha + beta
    return k * (special.digamma(a + 1) - special.digamma(k + 1) - np.log(a / k))


def naive_generalised_ece(alpha: np.ndarray, beta: np.ndarray, y: np.ndarray) -> float:
    """The definition with two incomplete beta functions an edge, by scipy."""
    edges, mean, total = np.linspace(0, 1, 11), alpha / (alpha + beta), 0.0
    for low, high in pairwise(edges):
        w = special.betainc(alpha, beta, high) - special.betainc(alpha, beta, low)
        e = mean * (special.betainc(alpha + 1, beta, high) - special.betainc(alpha + 1, beta, low))
        total += abs((w * y - e).sum()) / y.size
    return total


def sampled_w1(rng: np.random.Generator) -> float:
    """Monte Carlo with 1,000 samples a side."""
    return float(stats.wasserstein_distance(rng.beta(7, 3, 1000), rng.beta(2, 9, 1000)))


def main() -> None:
    """Print the table."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    mean, k = rng.uniform(0.001, 0.999, N), np.exp(rng.uniform(-1, 6, N))
    alpha, beta = np.maximum(mean * k, 1e-6), np.maximum((1 - mean) * k, 1e-6)
    y = rng.random(N) < mean**1.5
    x = log_odds(mean)[:, None]
    reference = LogisticRegression(C=np.inf, tol=1e-8)
    nodes, platt, beta_value = (
        quantile_nodes(alpha[:50], beta[:50]),
        fit_map("platt", alpha[:999], beta[:999], y[:999]).map,
        Beta(9, 1),
    )
    rows: list[tuple[str, Callable[[], object], Callable[[], object] | None, str]] = [
        ("faithfulness divergence, 1e6", lambda: faithfulness_divergence(alpha, beta, y), lambda: naive_divergence(alpha, beta, y), "scipy digammas"),
        ("generalised ECE, 1e6", lambda: generalised_ece(alpha, beta, y), lambda: naive_generalised_ece(alpha, beta, y), "scipy betainc"),
        ("smooth ECE, 1e6", lambda: smooth_ece(mean, y), None, ""),
        ("Platt, 1e6, parameters", lambda: fit_map("platt", alpha, beta, y, folds=0), lambda: reference.fit(x, y), "scikit-learn"),
        ("Platt, 1e6, cross-validated", lambda: fit_map("platt", alpha, beta, y), None, ""),
        ("apply, one request, x 1,000", lambda: [platt.apply(beta_value) for _ in range(1000)], None, ""),
        ("divergence, one answer, x 1,000", lambda: [faithfulness_divergence(9.0, 1.0, True) for _ in range(1000)], None, ""),
        ("W1 exact, one pair", lambda: w1_exact(7.0, 3.0, 2.0, 9.0), lambda: sampled_w1(rng), "Monte Carlo, 1,000"),
        ("W1 by nodes, one target to 50", lambda: np.abs(nodes - quantile_nodes(7.0, 3.0)).sum(axis=1), lambda: [sampled_w1(rng) for _ in range(50)], "Monte Carlo, 1,000"),
    ]  # fmt: skip
    print(f"{'':34}{'here':>12}{'reference':>12}   of")
    for name, ours, theirs, what in rows:
        other = f"{seconds(theirs) * 1e3:9.3f} ms" if theirs else ""
        print(f"{name:34}{seconds(ours) * 1e3:9.3f} ms{other:>12}   {what}")


if __name__ == "__main__":
    main()
