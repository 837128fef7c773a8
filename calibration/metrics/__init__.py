"""Metrics, named by their estimators, called with (alpha, beta, correct) or (confidence, correct).

`faithfulness_divergence`, `kl_update`, `expected_brier` and `expected_nll` give one value per answer; the others one
number.
"""

from ..divergence import faithfulness_divergence, kl_update
from .binned import (
    ReliabilityTable,
    ece_equal_mass,
    ece_equal_width,
    generalised_ece,
    generalised_reliability,
    reliability_equal_mass,
    reliability_equal_width,
    wilson_interval,
)
from .bootstrap import Interval, bootstrap_interval
from .faithfulness import (
    DecisivenessCurve,
    FaithfulnessFigures,
    cmfg,
    conditional_mean,
    contradiction_confidence,
    decisiveness_curve,
    faithfulness,
    faithfulness_figures,
    mfg,
)
from .markers import MarkedSentence, corpus, measure_markers
from .scoring import RiskCoverage, aurc, auroc, expected_brier, expected_nll, risk_coverage
from .smooth import smooth_ece, smooth_ece_at, smooth_ece_interval

__all__ = [
    "DecisivenessCurve",
    "FaithfulnessFigures",
    "Interval",
    "MarkedSentence",
    "ReliabilityTable",
    "RiskCoverage",
    "aurc",
    "auroc",
    "bootstrap_interval",
    "cmfg",
    "conditional_mean",
    "contradiction_confidence",
    "corpus",
    "decisiveness_curve",
    "ece_equal_mass",
    "ece_equal_width",
    "expected_brier",
    "expected_nll",
    "faithfulness",
    "faithfulness_divergence",
    "faithfulness_figures",
    "generalised_ece",
    "generalised_reliability",
    "kl_update",
    "measure_markers",
    "mfg",
    "reliability_equal_mass",
    "reliability_equal_width",
    "risk_coverage",
    "smooth_ece",
    "smooth_ece_at",
    "smooth_ece_interval",
    "wilson_interval",
]
