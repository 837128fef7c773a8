"""Evidence for stopping with token probabilities, for short samples, and for the signals one by one."""

from __future__ import annotations

from pathlib import Path

from benchmarks.evidence import fields, probes, signals, stopping_probabilities
from hedgerow.proxy.pipeline.sampling.early_stopping import PRIOR_WEIGHT


def section(data: Path) -> str:
    """The part on what token probabilities, short samples and further signals are worth."""
    return f"""## Token probabilities, short samples, further signals

### Adaptive sampling with token probabilities (gemma2, the half that the weight was not chosen on)

The probability of the largest cluster's likeliest wording counts as {PRIOR_WEIGHT:g} samples of evidence on the cluster's share. The weight was
picked on the other half, but this half's figures stood beside it: they are slightly kind. The tolerance was not chosen: all that were tried stand here. Fewer samples can beat all of them because the draft, and so what is right, is not the same at
every number.

{stopping_probabilities.table(data)}

### Signals alone: AUROC

The first {signals.MOST} questions of a set at most. Consistency by the rules, without a judge, on sets that record several samples with their texts;
almost all of these answers are one sentence, most of them a bare name or number: they hold no hedge, so the linguistic signal
can say little here.

{signals.table(data)}

### Agreement on a field of structured output: AUROC

No recorded set holds structured output with samples, so each recorded answer is put into the field of an object, `{{"answer": "..."}}`: what is measured is the
comparison of fields, each other answer against the draft, not how a model answers when it is bound to a schema. The same questions as texts stand beside it.

{fields.table(data)}

### Short samples against full ones (embedded model, SciQ)

{probes.SAMPLES} answers a question, at most {probes.LONGEST_REPLY} tokens each, drawn once; {probes.ASKED} questions were planned, n is how many were drawn. Full: the draft
is that of the largest cluster. Short: the draft is the answer to the bare question, beside {probes.SAMPLES - 1} that were asked for as few words as
possible. Right by the alias rule. A model of this size knows little, and does not always follow its instructions.

{probes.table(data)}
"""
