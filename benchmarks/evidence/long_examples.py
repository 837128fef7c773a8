"""Write docs/long-answers.md: how long answers are measured, with two real answers drawn out claim by claim.

    python -m benchmarks.evidence.long_examples

The answers are the embedded model's own (benchmarks/data/long_answers.jsonl): drawn once, six a question, none left out; the one that is drawn out was
chosen because it makes several claims.
"""

from __future__ import annotations

import json

import anyio

from benchmarks import RECORDED, ROOT
from hedgerow.proxy.clustering.support import SentenceSupport, beta_of, features
from hedgerow.proxy.pipeline.claims import claims_of

PAGE = ROOT / "docs" / "long-answers.md"
HEAD = """# Long answers

No two long answers are the same, so how often a model gives *the same answer* says nothing of them. What says something is how far its other answers bear out each
thing that one of them says. This page shows how that is measured; how sentences are then worded stands in [rewriting.md](rewriting.md#long-answers), how well
it works in [evidence/long.md](evidence/long.md).

## From an answer to claims

An answer with `rewriting.by_sentence_from` (3) or more statements is long. Sentences, list items and table cells are taken apart where they say several things; what
claims nothing (introductions, offers, instructions, headings, code) is left out. Each claim is then held against every other sample.

## Who reads

| `judge.claims` | what tells | costs |
|---|---|---|
| `none` | six figures of words, put together by a logistic fitted on judged claims of four chat models (`proxy/clustering/support.json`) | a few milliseconds |
| `local` | these and the shipped judge, which reads each claim in each sample (English; extra `judge`) | CPU, under `judge.budget_s` |
| `llm` | these and a language model: one call for all claims of an answer, `judge.model` at `judge.upstream` | one call |

The six figures: do the others hold the claim's numbers (*numbers*), its rarest word (*rarest*), and how many have a sentence about the same with other names
and numbers (*disputed*); and how much the answers have in common, in all words, in names and in numbers. A model that knows its subject tells the same story
every time. An answer that does not speak of a claim counts against it as much as the fit says.

Tried and not kept: what the answers have in common in the same sentences (Jaccard of the nearest), as a share of all they have in common. Answers that tell the same
facts in other words are more often right than those that repeat a phrase; a logistic with it was better calibrated for models that it was not fitted on, and ranked the half of
the prompts on which it was chosen better, but not the other half, and it doubts what every answer says word for word. Weights of words by their rarity, the two best sentences, pairs
of words, each answer's closeness to the others, a claim's place and length, and trees in place of the logistic added nothing on prompts that were not seen.

Nor did these, on the same folds of prompts: products and squares of the six figures, boosted trees that may only rise with each (AUROC .01 to .02 lower nearly everywhere),
words and names compared by their pieces, and how many years other answers give in the sentence nearest to a claim with a year. A higher constant would spread the
mean confidence of passages whose claims are mostly wrong (WikiBio: Pearson .751 -> .778 at +1) at the price of claims of chat models that look 14 points surer than they are. More answers do not help: .756 with four others, .756 with nine, .755 with twenty.

Nor did leaving out of "said by" the answers whose nearest sentence names others ("born in London" where one says the Isle of Wight, and London elsewhere): the share
of answers that say so told right claims from wrong ones less well (AUROC .757 -> .749 on biographies, .707 -> .701 on facts), for most of what it left out does say the claim, in two sentences.

Nor did eighteen figures of where a claim's names, numbers and years stand (on one half of the prompts each changed the AUROC by -.02 to +.02 and on the other half the other way
round): the share of answers that hold each of them in a sentence about the same, the least of these, how many hold another year or name there, years and opening
sentences alike, and the means of all over an answer's claims. All eighteen together lower WikiBio's Pearson (.751) by .04; weights fitted on WikiBio alone, by
folds, lower it as well. What is left there is in what was judged: a passage of a known subject whose sentences are only a little wrong counts half.

The language model says for each claim and each sample: says it, contradicts it, does not speak of it. A reply of another form is not guessed from. Where a judge cannot
be asked, is late, replies nonsense or does not know the language, the words tell alone: each claim's `by` is then `words:` and the reason, in the field `hedgerow.claims`,
in the audit and in the log (`claims_not_judged`). With `judge.strict` the draft is served with the reason.

## From support to confidence

The logistic gives a probability; the claim's raw Beta has it as its mean and three observations for each other answer. The weights are common to all models, which
are right more or less often; a map for claims learns the rest from labelled claims:

    hedgerow claims --json < answers.jsonl     # measure; add "correct" to each claim, one row each: alpha, beta, correct, "signal": "consistency"
    hedgerow fit --data claims.jsonl --signal consistency --activate

Fit it on claims that were measured as the route measures them: a map for words is not one for a judge. Without a map a long answer stays plain, with the reason `not_measured`.

## Two answers, claim by claim

Six answers each by the embedded model (SmolLM2-135M-Instruct, temperature 0.7); one is measured against the other five, by words, before any map. This model is
small and wrong more often than those whose claims the weights were fitted on, which is what a map is for.
"""
TAIL = """
`hedgerow claims --json < benchmarks/data/long_answers.jsonl` prints the same figures.
"""


def drawn_out(row: dict) -> str:
    """One answer as Markdown."""
    claims = claims_of(row["answer"], row["question"])
    texts, samples = [claim.text for claim in claims], row["samples"]
    supports = anyio.run(SentenceSupport().measure_claims, row["question"], claims, samples, row["answer"])
    figures = features(row["question"], texts, samples, row["answer"])
    others = "\n".join(f"{i}. {' '.join(sample.split())}" for i, sample in enumerate(samples, start=1))
    lines = ["| claim | said by | numbers | rarest | disputed | support | Beta |", "|---|---|---|---|---|---|---|"]
    for claim, support, of in zip(claims, supports, figures, strict=True):
        said = ", ".join(str(i) for i, says in enumerate(support.borne_out, start=1) if says) or "none"
        beta = beta_of(support.mean, len(samples))
        lines.append(
            f"| {claim.text} | {said} | {of.numbers:+.1f} | {of.rarest:+.1f} | {of.disputed:.0%} | {support.mean:.2f} | {beta.alpha:.1f} : {beta.beta:.1f} |"
        )
    alike = f"in words {figures[0].agreement:.2f}, in names {figures[0].names_alike:.2f}, in numbers {figures[0].numbers_alike:.2f}"
    return f"""
### {row["question"]}

> {" ".join(row["answer"].split())}

{chr(10).join(lines)}

*said by*: holds its numbers and most of its names; words do not read. *numbers* and *rarest* are log-odds of the share of answers that hold them. Agreement of the answers: {alike}. The other five:

{others}
"""


def main() -> None:
    rows = [json.loads(line) for line in (RECORDED / "long_answers.jsonl").read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(HEAD + "".join(map(drawn_out, rows)) + TAIL, encoding="utf-8")


if __name__ == "__main__":
    main()
