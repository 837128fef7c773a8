"""Fit the shipped figures: `python -m benchmarks.fits.lexicon`. Deterministic; about a minute; rewrites its data files in place.

1. People's readings of phrases, one Beta by survey, pooled with a random source effect: the entries whose source is "people".
2. The model of perceived confidence (lexicon/data/perception/perception.json), on the survey phrases and on first-person sentences.
3. What that model perceives in the frames of every other entry: the entries whose source is "modelled".

`rows()` and `fit()` are used by the evidence for cross-validation.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from benchmarks import DATA
from benchmarks.fits.pooling import SourceFit, fit_source, pool_phrases
from hedgerow.calibration import Beta
from hedgerow.lexicon import NO_HEDGE, Hedge, Lexicon, load
from hedgerow.lexicon.hedges.entries import to_json
from hedgerow.lexicon.hedges.loading import DATA as SHIPPED
from hedgerow.lexicon.perception.cues import find_cues
from hedgerow.lexicon.perception.model import Model, features
from hedgerow.lexicon.text.words import tokenize

Floats = NDArray[np.float64]
PENALTY = 0.1  # inverse strength of the L2 penalty, chosen by cross-validation by phrase over .03 to 3
SURVEY_WEIGHT = 60.0  # one survey phrase weighs as much as 60 single scores
PLACE = "it was Xanswer"  # a clause without a cue
ENTRY = {"almost certain": "almost-certain", "might happen": "might", "may happen": "may", "could happen": "could"}
"""Survey phrases whose entry has another name; the others are the phrase with hyphens."""


@dataclass(frozen=True)
class Row:
    """A wording, how sure it sounds to people (0 to 1), and what keeps folds apart."""

    text: str
    score: float
    weight: float
    source: str
    phrase: str
    question: str
    benchmark: bool = False


def survey(data: Path) -> dict[str, dict[str, Floats]]:
    """Readings by phrase and source, in [0, 1]."""
    cue_features: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(data / "hedges" / "probability_phrases.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cue_features[row["phrase"]][row["source"]].append(float(row["value_0_100"]) / 100)
    return {phrase: {source: np.array(v) for source, v in by.items()} for phrase, by in sorted(cue_features.items())}


def carriers(phrase: str) -> list[str]:
    """The phrase alone, and in the sentences where it is at home."""
    if phrase.endswith("happen"):
        return [phrase, f"it {phrase}."]
    if phrase in {"we believe", "we doubt"}:
        return [phrase, f"{phrase} that {PLACE}."]
    if phrase in {"about even", "better than even"}:
        return [phrase, f"the chances are {phrase} that {PLACE}."]
    if phrase.startswith("chances"):
        return [phrase, f"the {phrase} that {PLACE}."]
    if "chance" in phrase or phrase.endswith("possibility"):
        return [phrase, f"there is a {phrase} that {PLACE}."]
    if phrase == "slam dunk":
        return [phrase, f"it is a slam dunk that {PLACE}."]
    if phrase.endswith(("always", "usually", "often", "frequently", "rarely", "never", "than not")):
        return [phrase, f"it {phrase} happens."]
    if phrase.endswith("ly") and phrase not in {"likely", "unlikely", "highly likely", "highly unlikely"}:
        return [phrase, f"{phrase}, {PLACE}.", f"it was {phrase} Xanswer."]
    if phrase.startswith("with") or phrase in {"maybe", "probably not"}:
        return [phrase, f"{phrase}, {PLACE}.", f"it was {phrase} Xanswer."]
    return [phrase, f"it is {phrase} that {PLACE}."]


def rows(data: Path) -> list[Row]:
    """Everything the model of perceived confidence is fitted on."""
    cue_features = []
    for phrase, by_source in survey(data).items():
        mean = float(np.mean([v.mean() for v in by_source.values()]))
        texts = carriers(phrase)
        cue_features += [
            Row(text, mean, SURVEY_WEIGHT / len(texts), "survey", phrase, f"survey {phrase}") for text in texts
        ]
    with gzip.open(data / "hedges" / "tao_expressions.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            r = json.loads(line)
            text = (r["template"] or r["expression"]).replace("{answer}", "Xanswer")
            signature = " ".join(_signature(text)) or f"plain {r['id']}"
            weight = float(len(r["valid_scores"]))
            cue_features.append(Row(text, r["mean"] / 100, weight, "tao", signature, r["question"], r["benchmark"]))
    return cue_features


def _signature(text: str) -> list[str]:
    """The words of a sentence's cues: rows that share them share a phrase and stay in one fold."""
    tokens = tokenize(text)
    return [token.word for cue in find_cues(tokens) for token in tokens[cue.first : cue.last + 1]]


def seen(text: str) -> dict[str, float]:
    """Features of one sentence."""
    tokens = tokenize(text)
    return features(tokens, find_cues(tokens))


def vocabulary_of(cue_features: Sequence[dict[str, float]], chosen: Sequence[Row]) -> list[str]:
    """Features that occur under two questions at least, so that no name or number of one question is learned."""
    under: dict[str, set[str]] = defaultdict(set)
    for one, row in zip(cue_features, chosen, strict=True):
        for name in one:
            under[name].add(row.question)
    return sorted(name for name, questions in under.items() if len(questions) >= 2 or name[0] in "#sb")


def fit(cue_features: Sequence[dict[str, float]], chosen: Sequence[Row], spread: tuple[float, float, float]) -> Model:
    """Logistic regression on the scores as soft labels, L2 penalty; rows without a cue say what is perceived without one."""
    names = vocabulary_of(cue_features, chosen)
    index = {name: i for i, name in enumerate(names)}
    cells = [(i, index[n], v) for i, one in enumerate(cue_features) for n, v in one.items() if n in index]
    i, j, v = zip(*cells, strict=True)
    x = sparse.csr_matrix((v, (i, j)), shape=(len(cue_features), len(names)))
    y, w = np.array([row.score for row in chosen]), np.array([row.weight for row in chosen])
    labels = np.r_[np.ones(y.size), np.zeros(y.size)]
    fitted = LogisticRegression(C=PENALTY, max_iter=5000).fit(
        sparse.vstack([x, x]), labels, sample_weight=np.r_[w * y, w * (1 - y)]
    )
    weights = {
        name: round(float(value), 4) for name, value in zip(names, fitted.coef_[0], strict=True) if abs(value) >= 5e-4
    }
    return Model(round(float(fitted.intercept_[0]), 4), weights, spread)


def spread_of(betas: Sequence[Beta]) -> tuple[float, float, float]:
    """Log concentration as a quadratic of the mean."""
    means, logs = np.array([b.mean for b in betas]), np.log([b.concentration for b in betas])
    square, linear, constant = np.polyfit(means, logs, 2)
    return round(float(constant), 4), round(float(linear), 4), round(float(square), 4)


def plain_fits(data: Path, readings: dict[str, dict[str, Floats]]) -> dict[str, SourceFit]:
    """What people perceive in a plain assertion, from three sources that asked in three ways."""
    with gzip.open(data / "hedges" / "tao_expressions.jsonl.gz", "rt", encoding="utf-8") as file:
        scored = [json.loads(line) for line in file]
    answers = [s / 100 for r in scored if not _signature(r["expression"]) for s in r["valid_scores"]]
    with (data / "assertiveness" / "pei_sentence_certainty.jsonl").open(encoding="utf-8") as file:
        findings = [json.loads(line) for line in file]
    certainty = [(r["sentence-level-certainty"] - 1) / 5 for r in findings if not _signature(r["finding"])]
    return {
        "capphrase, will happen": fit_source(readings["will happen"]["capphrase"]),
        "Tao et al., unhedged answers": fit_source(answers),
        "Pei & Jurgens, unhedged findings": fit_source(certainty),
    }


def people(data: Path) -> tuple[dict[str, Hedge], dict[str, Beta], tuple[float, float]]:
    """Entries measured on people, by id; the pooled Beta of every phrase; the deviations between sources."""
    readings = survey(data)
    fits = {phrase: {source: fit_source(v) for source, v in by.items()} for phrase, by in readings.items()}
    plain = plain_fits(data, readings)
    betas, deviations = pool_phrases([list(by.values()) for by in fits.values()])
    (quiet,), _ = pool_phrases([list(plain.values())])
    lexicon = load()
    entries = {}
    for (phrase, by), beta in zip(fits.items(), betas, strict=True):
        id = ENTRY.get(phrase, phrase.replace(" ", "-"))
        entries[id] = _measured(lexicon[id], beta, by, "" if lexicon[id].phrase == phrase else f" as {phrase!r}")
    entries[NO_HEDGE] = _measured(lexicon[NO_HEDGE], quiet, plain, "")
    return entries, dict(zip(fits, betas, strict=True)), deviations


def _measured(hedge: Hedge, beta: Beta, fits: dict[str, SourceFit], asked: str) -> Hedge:
    basis = "; ".join(f"{source} n={fit.readers}" for source, fit in sorted(fits.items())) + asked
    return replace(
        hedge, beta=beta, source="people", readers=sum(fit.readers for fit in fits.values()), basis=basis, error=None
    )


def wordings(hedge: Hedge) -> list[str]:
    """Every frame of a hedge filled with an answer that holds no cue."""
    filled = []
    for frame in hedge.frames:
        text = frame.text.replace("{clause}", PLACE).replace("{fragment}", "Xanswer").replace("{answer}", "Xanswer")
        filled.append(
            f"it was {text} Xanswer" if frame.kind == "adverb" else text if "{" in frame.text else f"{PLACE}, {text}"
        )
    return filled or [hedge.phrase]


def modelled(hedge: Hedge, model: Model, error: float) -> Hedge:
    """An entry as the model perceives its frames, on average."""
    cue_features = [one for one in map(seen, wordings(hedge)) if one]
    if not cue_features:
        raise SystemExit(f"no cue is found in any frame of {hedge.id}")
    mean = float(np.mean([model.mean(one) for one in cue_features]))
    beta = Beta.from_mean(mean, model.concentration(mean))
    basis = "model of perceived confidence, fitted on people's readings of other wordings"
    return replace(hedge, beta=beta, source="modelled", readers=0, basis=basis, error=error)


def held_out_survey(data: Path, spread: tuple[float, float, float], folds: int = 17) -> dict[str, tuple[float, float]]:
    """(perceived, predicted) of each survey phrase, bare, by a model that saw no wording of it."""
    chosen = rows(data)
    cue_features = [seen(row.text) for row in chosen]
    phrases = sorted({row.phrase for row in chosen if row.source == "survey"})
    fold = {phrase: i % folds for i, phrase in enumerate(np.random.default_rng(0).permutation(phrases))}
    pairs = {}
    for k in range(folds):
        keep = [i for i, row in enumerate(chosen) if row.source != "survey" or fold[row.phrase] != k]
        model = fit([cue_features[i] for i in keep], [chosen[i] for i in keep], spread)
        for phrase in (p for p in phrases if fold[p] == k):
            score = next(row.score for row in chosen if row.phrase == phrase and row.source == "survey")
            pairs[phrase] = (score, model.mean(seen(phrase)))
    return pairs


def _translate(lexicon: Lexicon, english: dict[str, Beta]) -> None:
    """Give every entry of another language the Beta of the English one that its basis names."""
    hedges = tuple(replace(hedge, beta=english[hedge.basis.partition("en:")[2]]) for hedge in lexicon)
    (SHIPPED / f"{lexicon.language}.json").write_text(to_json(replace(lexicon, hedges=hedges)), encoding="utf-8")


def main() -> int:
    """Fit, and rewrite the data files."""
    entries, betas, deviations = people(DATA)
    spread = spread_of(list(betas.values()))
    chosen = rows(DATA)
    model = fit([seen(row.text) for row in chosen], chosen, spread)
    error = float(np.mean([abs(a - b) for a, b in held_out_survey(DATA, spread).values()]))
    about = "made by benchmarks/fits/lexicon.py from people's readings; see docs/lexicon.md"
    written = {"about": about, "intercept": model.intercept, "spread": list(spread), "weights": dict(model.weights)}
    (SHIPPED / "perception" / "perception.json").write_text(
        json.dumps(written, indent=0, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    old = load()
    hedges = [entries.get(hedge.id) or modelled(hedge, model, error) for hedge in old]
    (SHIPPED / "en.json").write_text(to_json(Lexicon(tuple(hedges), "en", old.title)), encoding="utf-8")
    for language in ("de", "es", "fr"):
        _translate(load(language), {hedge.id: hedge.beta for hedge in hedges})
    print(
        f"{len(entries)} entries from people, {len(hedges) - len(entries)} modelled; {len(model.weights)} weights",
        file=sys.stderr,
    )
    print(
        f"held-out survey phrases: mean absolute error {error:.4f}; deviation between sources {deviations}",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
