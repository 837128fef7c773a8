"""Write the end of docs/long-answers.md: two real answers drawn out claim by claim.

    python -m benchmarks.evidence.long_examples

The answers are the embedded model's own (benchmarks/data/long_answers.jsonl): drawn once, six a question, none left out; the one that is drawn out was
chosen because it makes several claims.
"""

from __future__ import annotations

import json

import anyio

from benchmarks import RECORDED, ROOT
from hedgerow.lexicon.reading.local import read
from hedgerow.proxy.clustering.support import SentenceSupport, beta_of, features
from hedgerow.proxy.pipeline.claims import claims_of

PAGE = ROOT / "docs" / "long-answers.md"
MARK = "<!-- drawn out -->\n"
"""The page after this mark is written by this program; before it, by hand."""


def drawn_out(row: dict) -> str:
    """One answer as Markdown."""
    claims = claims_of(read(row["answer"], row["question"]))
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
    by_hand, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark, f"{PAGE} has no {MARK!r}"
    PAGE.write_text(by_hand + mark + "".join(map(drawn_out, rows)), encoding="utf-8")


if __name__ == "__main__":
    main()
