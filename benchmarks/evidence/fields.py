"""AUROC of the agreement on a field of structured output beside that of the same answers as texts.

No recorded set holds structured output of a chat model with samples. So recorded answers are put into the field of an object, `{"answer": "..."}`,
as a model would be asked to give them: what is measured is the comparison of fields (each other answer against the draft, by rules), not how a
model answers when it is bound to a schema.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.data.answers import SETS, Case, load_set
from benchmarks.evidence.signals import MOST, interval
from hedgerow.proxy.clustering.support import agreement

FIELD = "answer"


def share(case: Case) -> float | None:
    """The share of the other samples that agree with the draft's field; None where a set records no others, or the text is prose without a name."""
    texts = [sample.text for sample in case.samples]
    if len(texts) < 2 or case.draft not in texts:
        return None
    texts.remove(case.draft)
    shares = agreement(case.question, {FIELD: case.draft}, [{FIELD: text} for text in texts])
    return float(np.mean(shares[FIELD,])) if shares else None


def table(data: Path) -> str:
    """One line a set that records the texts of several samples."""
    lines = ["| set | n | right | as a field | as a text |", "|---|---|---|---|---|"]
    for name in SETS:
        cases = load_set(data, name, MOST).cases
        shares = [(share(case), case) for case in cases if "semantic" in case.raw]
        known = [(value, case) for value, case in shares if value is not None]
        if not known:
            continue
        right = np.array([case.correct for _, case in known], bool)
        fields = interval(np.array([value for value, _ in known]), right)
        texts = interval(np.array([case.raw["semantic"].mean for _, case in known]), right)
        lines.append(f"| {name} | {len(known)} | {right.mean():.3f} | {fields} | {texts} |")
    return "\n".join(lines)
