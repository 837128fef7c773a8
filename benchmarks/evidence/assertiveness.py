"""Texts whose assertiveness people rated (Ghafouri et al.), and how the lexicon's reader orders them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr, spearmanr

from hedgerow.lexicon import perceive


def section(data: Path) -> str:
    """The figures, and that they are not what was hoped for."""
    with gzip.open(data / "assertiveness" / "epistemic_integrity_train.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ratings = np.array([float(row["assertiveness"]) for row in rows])
    perceived = np.array([perceive(row["text"]).beta.mean for row in rows])
    return f"""### Assertiveness of whole texts

{len(rows)} texts rated by people (Ghafouri et al.); Gemini 2.0 Flash is reported at .68 and .66.

| | Spearman | Pearson |
|---|---|---|
| the reader, fitted on none of these | {spearmanr(perceived, ratings)[0]:.3f} | {pearsonr(perceived, ratings)[0]:.3f} |

**Not reached.** How forcefully a text argues is not what the reader was made for: it reads words of confidence."""
