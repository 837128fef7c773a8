"""The pairs that the local judge is trained on: openly licensed files beside the checkout, put into the shapes that the proxy asks about.

Premises of one to three sentences, with a question or prompt before them, with pronouns for names; two answers behind one question.
Nothing of sets that state no licence, of WikiBio or of graph_uncertainty is read.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.fits.judge_hard import (
    CONTRADICTION,
    ENTAILMENT,
    NEUTRAL,
    NOT_ENTAILED,
    changed,
    names_in,
    negated,
    number_changed,
    quantities,
)
from hedgerow.lexicon.text.sentences import sentences

FILES = (
    "train_mnli",
    "train_snli",
    "train_fever",
    "train_cad",
    "train_conjnli",
    "train_help",
    "train_binary_hans_swap",
)
OTHERS = (
    "long_form/factscore_human", "long_form/length_bias_human", "long_form/factcheck_gpt", "long_form/factool_qa", "long_form/refchecker_nq",
    "rag/factcheckgpt_stance", "rag/begin",
)  # fmt: skip
LABELS = {"entailment": ENTAILMENT, "neutral": NEUTRAL, "contradiction": CONTRADICTION, "not_entailment": NOT_ENTAILED}
SNLI_ROWS = 30_000
SHORT, LONG_SHARE = 230, 0.25
"""Characters of a pair up to which all are read, and the share of the longer ones: what a pair costs is its length."""
TRAINED_SHARE = 50
"""Percent of EVOUNA's questions that are trained on, by hash; the others set and report thresholds."""
_SUBJECT = re.compile(r"(?:The )?[A-Z][\w'’.-]*(?: (?:(?:of|the|de|von|van|and) )*[A-Z0-9][\w'’.-]*)*")
_PROMPTS = ("Tell me about {}.", "Who is {}?", "Tell me a bio of {}.", "Tell me a paragraph bio of {}.", "What is {}?",
    "Provide me with a paragraph detailing some facts related to {}.", "Tell me some facts about {}.", "{}:")  # fmt: skip


class Pair(NamedTuple):
    """What is read first and second, the label, and where the pair comes from."""

    premise: str
    hypothesis: str
    label: int
    kind: str


def part_of(question: str) -> int:
    """In which hundredth a question falls: below `TRAINED_SHARE` it is trained on."""
    return int(hashlib.sha256(question.strip().lower().encode()).hexdigest(), 16) % 100


def training_pairs(data: Path, seed: int) -> list[Pair]:
    """All pairs of one round in random order; another seed changes other words and puts other sentences together."""
    rng = random.Random(seed)
    given = {name: _given(data, name) for name in FILES}
    rng.shuffle(given["train_snli"])
    plain = [p for name in FILES if name not in ("train_snli", "train_fever") for p in given[name]] + given[
        "train_snli"
    ][:SNLI_ROWS]
    facts = list(claims_of_answers(data, rng))
    names = [name for p in given["train_fever"] for name in names_in(p.premise)]
    entailed = [p for p in [*given["train_fever"], *facts] if p.label == ENTAILMENT]
    hard = [Pair(*new) for p in rng.sample(entailed, 26_000) for new in _one_change(p, names, rng)]
    hard += [
        Pair(*new)
        for p in rng.sample(given["train_mnli"], 6_000)
        if p.label == ENTAILMENT
        for new in _one_change(p, names, rng)
    ]
    hard += [Pair(*new) for new in quantities(3_000, rng)]
    pairs = plain + list(_in_context(given["train_fever"], rng)) + facts + hard + list(evidence(data)) * 2
    pairs += list(_own_words(given["train_fever"], names, rng)) + list(answers(data, rng))
    pairs = [p for p in pairs if len(p.premise) + len(p.hypothesis) <= SHORT or rng.random() < LONG_SHARE]
    rng.shuffle(pairs)
    return pairs


def _one_change(p: Pair, names: list[str], rng: random.Random) -> list[tuple[str, str, int, str]]:
    """One of the changes of a pair, and one more where there is."""
    ways = sorted(
        changed(p.premise, p.hypothesis, names, rng),
        key=lambda way: -rng.random() * (way[3] not in ("negation", "opposite")),
    )
    return ways[: rng.choice((1, 1, 2))]


def _given(data: Path, name: str) -> list[Pair]:
    return [
        Pair(row["premise"], row["hypothesis"], LABELS[row["label"]], name)
        for row in _rows(data / "nli" / f"{name}.jsonl.xz")
    ]


def _rows(path: Path) -> Iterator[dict]:
    with (gzip if path.suffix == ".gz" else lzma).open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _subject(claim: str) -> str:
    subject = _SUBJECT.match(claim)
    return subject[0] if subject else ""


def _in_context(pairs: Iterable[Pair], rng: random.Random) -> Iterator[Pair]:
    """FEVER with a prompt before it, a pronoun in place of the subject, or another sentence about the same subject beside it."""
    pairs = list(pairs)
    of_subject: dict[str, list[str]] = defaultdict(list)
    for p in pairs:
        of_subject[_subject(p.hypothesis)].append(p.premise)
    for p in pairs:
        premise, subject = p.premise, _subject(p.hypothesis)
        beside = of_subject[subject]
        if subject and len(beside) > 1 and len(premise) < 260 and rng.random() < 0.35 and p.label != NEUTRAL:
            other = rng.choice(sentences(rng.choice(beside)) or [""])
            if other and other not in premise and len(other) < 240:
                premise = f"{other} {premise}" if rng.random() < 0.5 else f"{premise} {other}"
        if subject and rng.random() < 0.45:
            if rng.random() < 0.6 and subject in premise:
                premise = re.sub(rf"\b{re.escape(subject)}\b", rng.choice(("He", "She", "It", "They")), premise)
            premise = f"{rng.choice(_PROMPTS).format(subject)} {premise}"
        yield Pair(premise, p.hypothesis, p.label, p.kind)


def _own_words(pairs: list[Pair], names: list[str], rng: random.Random) -> Iterator[Pair]:
    """A sentence against the text that holds it, against a changed copy of itself, and against the other sentences about its subject."""
    for p in rng.sample(pairs, 18_000):
        parts = list(dict.fromkeys(part for part in sentences(p.premise) if len(part) > 25))
        if not parts:
            continue
        part = rng.choice(parts)
        if len(parts) > 1 and rng.random() < 0.5:
            rest = " ".join(other for other in parts if other != part)
            said = (negated(part, rng) or part) if rng.random() < 0.25 else part
            yield Pair(f"{rng.choice(_PROMPTS).format(_subject(part) or 'it')} {rest}", said, NEUTRAL, "unspoken")
        elif rng.random() < 0.4:
            yield Pair(p.premise, part, ENTAILMENT, "copy")
        elif rng.random() < 0.25 and (both := negated(part, rng)):
            yield Pair(p.premise.replace(part, both), both, ENTAILMENT, "copy_negated")
        else:
            for new in _one_change(Pair(p.premise, part, ENTAILMENT, ""), names, rng):
                yield (
                    Pair(*new)
                    if rng.random() < 0.7 or new[2] == ENTAILMENT
                    else Pair(new[1], new[0][:400], new[2], new[3])
                )


def claims_of_answers(data: Path, rng: random.Random) -> Iterator[Pair]:
    """Claims that people or models took from chat models' answers: entailed by their sentence, not spoken of by those without their words."""
    for name in OTHERS[:5]:
        for row in _rows(data / f"{name}.jsonl.xz"):
            parts = [s["text"] for s in row.get("sentences") or ()] or list(sentences(row["answer"]))
            question = row["question"] or (f"Tell me a bio of {row['topic']}." if row.get("topic") else "")
            for claim in row["claims"]:
                yield from _claim(claim, parts, question, rng)
    yield from _made_up(data, rng)


def _claim(claim: dict, parts: list[str], question: str, rng: random.Random) -> Iterator[Pair]:
    text, at = claim["text"], claim.get("sentence")
    ranked = best(text, parts)
    if at is None or at >= len(parts):
        at = ranked[0] if ranked else None
    if at is None:
        return
    around = [i for i in (at - 1, at, at + 1) if 0 <= i < len(parts) and (i == at or rng.random() < 0.4)]
    before = f"{question} " if question and rng.random() < 0.7 else ""
    yield Pair(before + " ".join(parts[i] for i in around)[:480], text, ENTAILMENT, "claim")
    if len(text) > 25 and rng.random() < 0.8:
        far = [i for i in ranked if abs(i - at) > 0 and not _overlap(text, parts[i]) > 0.5][:3]
        if far:
            chosen = sorted(rng.sample(far, min(len(far), rng.choice((1, 2, 2, 3)))))
            yield Pair(before + " ".join(parts[i] for i in chosen)[:480], text, NEUTRAL, "claim_unspoken")
    if claim.get("revised") and claim["label"] is False and claim["revised"].strip() != text.strip():
        yield Pair(before + claim["revised"], text, NOT_ENTAILED, "claim_revised")
        yield Pair(before + text, claim["revised"], NOT_ENTAILED, "claim_revised")


def _made_up(data: Path, rng: random.Random) -> Iterator[Pair]:
    """Claims that people found wrong, against the nearest sentences of a searching system's answer about the same person."""
    rows = list(_rows(data / "long_form/factscore_human.jsonl.xz"))
    searched = {
        row["prompt_id"]: list(sentences(row["answer"])) for row in rows if row["model"].startswith("Perplexity")
    }
    for row in rows:
        parts = searched.get(row["prompt_id"])
        if not parts or row["model"].startswith("Perplexity"):
            continue
        for claim in row["claims"]:
            if claim["label"] is False:
                chosen = " ".join(parts[i] for i in sorted(best(claim["text"], parts)[: rng.choice((1, 2, 3))]))
                yield Pair(f"{row['question']} {chosen}"[:520], claim["text"], NOT_ENTAILED, "claim_wrong")


def best(claim: str, parts: list[str]) -> list[int]:
    """Places of the parts, those first that hold most of the claim's words."""
    return sorted(range(len(parts)), key=lambda i: -_overlap(claim, parts[i]))


def _overlap(claim: str, part: str) -> float:
    words = set(re.findall(r"\w+", claim.lower()))
    return len(words & set(re.findall(r"\w+", part.lower()))) / max(1, len(words))


def evidence(data: Path) -> Iterator[Pair]:
    """Claims and replies against retrieved text, judged by people."""
    stance = {
        "completely-support": ENTAILMENT,
        "refute": CONTRADICTION,
        "irrelevant": NEUTRAL,
        "partially-support": NOT_ENTAILED,
    }
    for row in _rows(data / "rag/factcheckgpt_stance.jsonl.xz"):
        parts = list(sentences(" ".join(row["contexts"])))
        chosen = " ".join(parts[i] for i in sorted(best(row["answer"], parts)[:3]))
        yield Pair(chosen[:560], row["answer"], stance[row["label"]], "stance")
    said = {"Fully attributable": ENTAILMENT, "Generic": NEUTRAL, "Not fully attributable": NOT_ENTAILED}
    for row in _rows(data / "rag/begin.jsonl.xz"):
        yield Pair(" ".join(row["contexts"])[:480], row["answer"], said[row["label"]], "begin")


def answers(data: Path, rng: random.Random) -> Iterator[Pair]:
    """Two answers behind their question: the same where people call both right, another where they call one wrong."""
    by_question: dict[str, list[dict]] = defaultdict(list)
    for row in _rows(data / "equivalence/evouna_nq.jsonl.gz"):
        if part_of(row["question"]) < TRAINED_SHARE and row["answer"].strip():
            by_question[row["question"]].append(row)
    for question, rows in by_question.items():
        asked = question + ("" if question.endswith("?") else "?")
        for row in rows:
            gold, answer = rng.choice(row["gold"]), _cut(row["answer"])
            label = ENTAILMENT if row["correct"] else NOT_ENTAILED
            yield Pair(f"{asked} {answer}", f"{asked} {gold}", label, "answer")
            if row["correct"] and rng.random() < 0.5 and (other := number_changed(gold, rng)) and other not in answer:
                yield Pair(f"{asked} {answer}", f"{asked} {other}", CONTRADICTION, "answer_number")
            other = rng.choice(rows)
            if other is not row and (row["correct"] or other["correct"]):
                same = row["correct"] and other["correct"]
                yield Pair(
                    f"{asked} {answer}",
                    f"{asked} {_cut(other['answer'])}",
                    ENTAILMENT if same else NOT_ENTAILED,
                    "answers",
                )


def _cut(answer: str, limit: int = 240) -> str:
    """The opening of an answer, which is what answers."""
    return " ".join(answer.split())[:limit]
