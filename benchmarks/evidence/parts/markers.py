"""The evidence's part on markers: how well they are spotted, and what recorded models mean by their own."""

from __future__ import annotations

import gzip
import json
import lzma
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from operator import add
from pathlib import Path

import numpy as np

from benchmarks import ROOT
from benchmarks.evidence import goals, plots
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.marked import Marked, Tally, plain, tally, varied
from hedgerow.calibration.metrics import wilson_interval
from hedgerow.lexicon.perception.markers import find_markers
from hedgerow.lexicon.text.sentences import sentence_spans
from hedgerow.proxy.lab.markers.analysis import METRIC_NAMES, document
from hedgerow.proxy.lab.markers.measuring import gather
from hedgerow.proxy.lab.markers.rows import Answered, OneSentence, Row
from hedgerow.proxy.types import Json

MARKED = ROOT / "tests" / "data" / "lexicon" / "markers.jsonl"
FIRST_MET = {
    "second": Tally(145, 150, 143, 154, 253),
    "third": Tally(207, 211, 206, 215, 319),
    "fourth": Tally(185, 191, 185, 199, 280),
    "fifth": Tally(167, 170, 166, 181, 262),
    "sixth": Tally(158, 162, 158, 167, 247),
    "seventh": Tally(165, 167, 165, 168, 244),
    "eighth": Tally(102, 102, 102, 107, 154),
    "ninth": Tally(62, 63, 62, 67, 169),
    "tenth": Tally(66, 67, 66, 74, 166),
    "eleventh": Tally(50, 56, 51, 53, 160),
    "twelfth": Tally(50, 53, 50, 56, 222),
    "thirteenth": Tally(69, 73, 69, 73, 134),
    "fourteenth": Tally(29, 33, 29, 29, 119),
    "fifteenth": Tally(51, 60, 51, 54, 125),
    "sixteenth": Tally(31, 33, 31, 32, 90),
    "seventeenth": Tally(65, 66, 65, 71, 234),
}
"""Each draw of varied words by the rules as they were when it was marked, 2026-11-23 and 24; to repeat it take the commit that adds the draw."""
PLAIN_MET = {"plain": Tally(106, 114, 105, 112, 1500), "plain, the rest": Tally(81, 83, 81, 81, 1029)}
"""The plain random draw by the rules as they were before it was drawn, 2026-11-25 (commit 059bef32)."""
MENDED_ELSEWHERE = Tally(107, 115, 106, 112, 1500)
"""The first 1,500 of it by the rules as mended by other answers alone, the same day, before its faults were seen."""
ONE_READER, OTHER_READER, READERS_BOTH = (
    Tally(110, 114, 110, 112, 1500),
    Tally(112, 113, 110, 112, 1500),
    Tally(109, 114, 111, 113, 1500),
)
"""The two readers of the first 1,500 against the marks, and the one against the other."""
LATEST = ("ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth")
"""The draws by other words, many of which seldom are markers: what was met in none of the earlier ones."""
LEAST = 10
"""Sentences that a marker needs."""
TIMED = 20_000
ORDINARY = 1_000
LONG = {"graph_uncertainty_bios": "biographies", "graph_uncertainty_popqa": "PopQA"}
SHOWN = 14


def section(data: Path) -> str:
    """The part."""
    models = [model for name in READERS for model in _document(READERS[name](data), test_share=0.5)["models"]]
    own = _document(hedged(data))
    picture(own["models"][0])
    return "\n\n".join(
        [
            "## Epistemic markers, and what models mean by them",
            "Markers are spotted by the grammar that reads confidence in texts, with words and contexts of its own (`lexicon/perception/markers.py`). "
            "The metrics are those of Liu & Cohan, appendix B.9 (`hedgerow markers`).",
            "### Spotting",
            spotting_table(data),
            "Sentences of answers that one reader marked by a written guide (`tests/data/lexicon/markers.md`: what is a marker, what is none, how the sentences were drawn), each draw before the spotter met it. *As first met*: by the rules of that "
            "moment, which no sentence of the draw had mended; afterwards they were mended by its faults, and the last column has what they find in it now. *Varied words*: one to three sentences of each opening, some 45 kinds of words (*likely*, *it is said*, *I believe*, *not certain*, *as far as I recall*, *reportedly*, *seem*, "
            '*suggest* ...), so that *may*, *might* and *could* are one marker in eight. Nothing was mended by the 313, but 114 of their 117 markers are those three words. The last nine were drawn by other kinds of words (33, 119, 34, 94, 40 and 97), many of which seldom are markers, so that one sentence in three bears one; before the tenth and the eleventh the rules were mended by the draws before and by a thousand sentences of one half of the pool that the spotter had passed over; the two were taken from the other half; the twelfth and the thirteenth are of all of it, met at one time; most of the fourteenth to the sixteenth are of a source that no draw had used (EVOUNA), the sixteenth of a half of it by which nothing was mended; the seventeenth is of a third of all prompts, and the other two thirds, 65,279 sentences, were searched for what the spotter finds and passes over before it was met. What is missed most are data that *indicate* ("a lower RMS error indicates") and rare ways of not knowing ("I do not have the ability to predict"); what is found wrongly, *could* of an ability and words in titles. '
            "*Plain random draw*: all sentences of 4 to 45 words without code of 805 answers that no draw had used and no rule had met (the example outputs of AlpacaEval), drawn without regard to their words, so that one in fourteen bears a marker. Three readers marked the first 1,500 by the guide, each by themselves; where they differed, the guide decided. "
            "Two of them never saw the rules: their rows say how far careful readers agree, and what a spotter can be asked for. The rest was marked by the reader who wrote the rules. *By the rules as mended by other answers*: with what 32,943 sentences of the other sources had shown that day. "
            "A marker counts as found where the spans overlap; intervals are Wilson's, 95 %. The reader of the other draws wrote the rules too.",
            "### Metrics of recorded models",
            metrics_table(models),
            "T = 10, with `<no_hedge>` but where it says otherwise; half of the responses of each dataset are its test split. gpt-5-mini: its hedged answers to SimpleQA, topics as datasets; its "
            "confidence in an answer is the share of its largest group of ten samples, whose texts are not published, so that contradiction cannot be told. "
            "The others: their sentences against their further answers, by rules and words. Figures that are not defined are dashes: "
            "most models hardly hedge by themselves, so that `<no_hedge>` is all that is compared; through two datasets MCC is 1 or −1, whatever it is of.",
            frequencies(models),
            "### gpt-5-mini's own words",
            sentence_on(own["models"][0]),
            own_table(own["models"][0]),
            "Without a test split, so that MICs rest on all sentences.",
            "![What gpt-5-mini means by its hedges](markers.svg)",
            goals.table(goals_of(data)),
        ]
    )


def measured() -> dict[str, Tally]:
    """What is found today in each half of the older sentences."""
    found: dict[str, Tally] = {}
    for row in map(json.loads, MARKED.read_text(encoding="utf-8").splitlines()):
        one = _spotted(row["text"], [(start, end) for start, end in row["markers"]])
        found[row["half"]] = found[row["half"]] + one if row["half"] in found else one
    return found


def measured_draws(sentences: Iterable[Marked]) -> dict[str, Tally]:
    """What is found today in each draw."""
    found: dict[str, Tally] = {}
    for of in sentences:
        one = _spotted(of.text, of.markers)
        found[of.draw] = found[of.draw] + one if of.draw in found else one
    return found


def _spotted(text: str, markers: Sequence[tuple[int, int]]) -> Tally:
    return tally([(of.start, of.end) for of in find_markers(text)], markers)


def spotting_table(data: Path) -> str:
    """Precision and recall: as first met, and today."""
    lines = [
        "| | sentences | markers | precision as first met | recall as first met | both today |",
        "|---|---|---|---|---|---|",
    ]
    old, new = measured(), measured_draws(varied(data))
    for title, draws in (("all sixteen draws", tuple(FIRST_MET)), ("the last nine draws", LATEST)):
        lines.append(
            _line(f"varied words, {title} together", _first_met(draws), reduce(add, map(new.__getitem__, draws)))
        )
    lines += [_line(f"varied words, {draw} draw", met, new[draw]) for draw, met in FIRST_MET.items()]
    today = measured_draws(plain(data))
    lines.append(
        _line(
            "plain random draw, 2,529 sentences together",
            reduce(add, PLAIN_MET.values()),
            reduce(add, today.values()) if today else None,
        )
    )
    lines.append(_line("plain random draw, first part", PLAIN_MET["plain"], today.get("plain")))
    lines.append(_line("the same, by the rules as mended by other answers", MENDED_ELSEWHERE, None))
    lines.append(_line("plain random draw, the rest", PLAIN_MET["plain, the rest"], today.get("plain, the rest")))
    lines.append(_line("first part, one reader against the marks", ONE_READER, None))
    lines.append(_line("first part, the other reader against the marks", OTHER_READER, None))
    lines.append(_line("first part, the one reader against the other", READERS_BOTH, None))
    lines.append(_line("varied words, by which the rules were mended first", None, new["first"]))
    lines.append(_line("may, might, could", old["held"], old["held"]))
    lines.append(_line("older draws, by which the rules were mended", None, old["tuned"]))
    return "\n".join(lines)


def _first_met(draws: Iterable[str]) -> Tally:
    return reduce(add, (FIRST_MET[draw] for draw in draws))


def _line(title: str, met: Tally | None, now: Tally | None) -> str:
    first = (f"{_share(met.right, met.found)}", f"{_share(met.met, met.there)}") if met else ("–", "–")
    today = f"{now.right / now.found:.3f}, {now.met / now.there:.3f}" if now else "–"
    drawn = now or met or Tally(0, 0, 0, 0, 0)
    return f"| {title} | {drawn.sentences:,} | {drawn.there:,} | {first[0]} | {first[1]} | {today} |"


def per_second(texts: list[str]) -> float:
    """Sentences spotted a second on one core: these, over and over; the best of five runs, which other work disturbs least."""
    find_markers(texts[0])
    return max(TIMED / _seconds(texts) for _ in range(5))


def chosen_by_words() -> list[str]:
    """The older sentences, chosen for words that may be markers: nine in ten hold one, which is the hardest case."""
    return [json.loads(line)["text"] for line in MARKED.read_text(encoding="utf-8").splitlines()]


def ordinary(data: Path) -> list[str]:
    """All sentences of the first ORDINARY answers of HaluEval, as an answer is read."""
    with lzma.open(data / "long_form/halueval_general.jsonl.xz", "rt", encoding="utf-8") as lines:
        answers = [json.loads(line)["answer"] for line in islice(lines, ORDINARY)]
    return [answer[start:end] for answer in answers for start, end in sentence_spans(answer)]


def _seconds(texts: list[str]) -> float:
    start = time.process_time()
    for i in range(TIMED):
        find_markers(texts[i % len(texts)])
    return time.process_time() - start


def goals_of(data: Path) -> list[goals.Goal]:
    """The goals of the part."""
    all_met, latest, modals = _first_met(FIRST_MET), _first_met(LATEST), measured()["held"]
    drawn = reduce(add, PLAIN_MET.values())
    hardest, usual = per_second(chosen_by_words()), per_second(ordinary(data))
    longer = "what data indicate, ways of saying that one does not know, what somebody was able to do: each new draw has some that no rule holds"
    return [
        goals.Goal("precision of spotting, varied words as first met >= .97", _share(all_met.right, all_met.found), 0.97, True, longer),
        goals.Goal("recall of spotting, varied words as first met >= .98", _share(all_met.met, all_met.there), 0.98, True, longer),
        goals.Goal("precision of spotting, the last nine draws as first met >= .97", _share(latest.right, latest.found), 0.97, True, longer),
        goals.Goal("recall of spotting, the last nine draws as first met >= .98", _share(latest.met, latest.there), 0.98, True, longer),
        goals.Goal("precision of spotting, a plain random draw as first met >= .97", _share(drawn.right, drawn.found), 0.97, True, "careful readers find .965 and .991 of what they mark to be marks, one against the other .956"),
        goals.Goal("recall of spotting, a plain random draw as first met >= .98", _share(drawn.met, drawn.there), 0.98, True, "careful readers meet .982 of the marks"),
        goals.Goal("precision of spotting may, might, could, held out >= .97", _share(modals.right, modals.found), 0.97, True, ""),
        goals.Goal("recall of spotting may, might, could, held out >= .98", _share(modals.met, modals.there), 0.98, True, ""),
        goals.Goal("sentences of ordinary answers spotted a second on one core >= 10,000", Estimate(usual, usual, usual, TIMED), 10_000, True, "", ",.0f"),
        goals.Goal("the same of sentences chosen for words that may be markers >= 10,000", Estimate(hardest, hardest, hardest, TIMED), 10_000, True, "a quicker cutting into words; the machine of the measurement was shared", ",.0f"),
    ]  # fmt: skip


def _share(hit: int, of: int) -> Estimate:
    low, high = wilson_interval(np.array([hit / of]), np.array([float(of)]))
    return Estimate(hit / of, float(low[0]), float(high[0]), of)


def hedged(data: Path) -> Iterator[Row]:
    """gpt-5-mini's own hedged answers to SimpleQA; those that do not attempt an answer are left out."""
    path = data / "samples" / "simpleqa_gpt5mini" / "simpleqa_gpt5mini.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["hedged"]["grade"] == "C":
                continue
            ids = row["semantic_ids"]
            yield OneSentence(
                text=row["hedged"]["text"], confidence=max(map(ids.count, ids)) / len(ids), model="gpt-5-mini", dataset=row["topic"],
                response=row["id"], correct=row["hedged"]["grade"] == "A",
            )  # fmt: skip


def long_answers(data: Path) -> Iterator[Row]:
    """Biographies and facts by three models, ten further answers each."""
    for name, dataset in LONG.items():
        with lzma.open(data / "long_form" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield Answered(
                    question=row["question"] or "",
                    answer=row["answer"],
                    samples=tuple(row["samples"]),
                    model=row["model"],
                    dataset=dataset,
                    response=row["id"],
                )


def short_answers(data: Path) -> Iterator[Row]:
    """Answers in sentences to HotpotQA and TruthfulQA; the first sample is the answer."""
    for name, file in (("hotpot_llama31_8b", "hotpot_llama31_8b"), ("truthfulqa_llada8b", "truthfulqa")):
        with gzip.open(data / "samples" / name / f"{file}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                first, *others = (sample["text"] for sample in row["samples"])
                yield Answered(
                    question=row["question"],
                    answer=first,
                    samples=tuple(others),
                    model=row["model"].partition(" ")[0],
                    dataset=row["dataset"],
                    response=row["id"],
                )


READERS = {"hedged": hedged, "long": long_answers, "short": short_answers}


def _document(rows: Iterator[Row], test_share: float = 0.0) -> Json:
    return document(gather(enumerate(rows, start=1))[0], thresholds=[LEAST], test_share=test_share)


def metrics_table(models: Sequence[Json]) -> str:
    """Every metric of each model; without plain sentences for the one that hedges."""
    columns = [(model["model"], model, "with") for model in models]
    columns.insert(1, (f"{models[0]['model']}, without `<no_hedge>`", models[0], "without"))
    lines = ["| | " + " | ".join(title for title, _, _ in columns) + " |", "|---|" + "---|" * len(columns)]
    lines.append("| sentences | " + " | ".join(f"{model['sentences']:,}" for _, model, _ in columns) + " |")
    lines.append("| datasets | " + " | ".join(str(len(model["datasets"])) for _, model, _ in columns) + " |")
    for name in METRIC_NAMES:
        cells = (_figure(model["metrics"][str(LEAST)][how][name]) for _, model, how in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(of: Json) -> str:
    if of["value"] is None:
        return "–"
    return f"{of['value']:.2f}" + (f" ± {of['deviation']:.2f}" if of["deviation"] is not None else "")


def frequencies(models: Sequence[Json]) -> str:
    """Which markers are frequent enough, honestly."""
    lines = ["| model | markers met | with ten sentences in a dataset | which |", "|---|---|---|---|"]
    for model in models:
        enough = [
            row["marker"] for row in model["markers"] if any(of["count"] >= LEAST for of in row["datasets"].values())
        ]
        lines.append(
            f"| {model['model']} | {len(model['markers'])} | {len(enough)} | {', '.join(f'`{name}`' for name in enough) or '–'} |"
        )
    return "\n".join(lines)


def said(model: Json) -> list[Json]:
    """Its markers with ten sentences, most frequent first."""
    return [row for row in model["markers"] if row["count"] >= LEAST][:SHOWN]


def sentence_on(model: Json) -> str:
    """The gap in a sentence, of its most frequent hedge."""
    row = next(row for row in said(model) if row["marker"] != "<no_hedge>")
    return (
        f'When {model["model"]} says "{row["marker"]}", it is right {row["right"]:.0%} of the time, ten samples of it agree to {row["mic"]:.0%}, '
        f"and people read {row['people']:.0%}."
    )


def own_table(model: Json) -> str:
    """Phrase by phrase: its confidence, how often it is right, what people read."""
    lines = [
        "| when it says | sentences | it is sure of it (MIC) | it is right | people read |",
        "|---|---|---|---|---|",
    ]
    for row in said(model):
        low, high = row["right_interval"]
        lines.append(
            f"| {row['marker'].replace('<', '&lt;')} | {row['count']:,} | {row['mic']:.0%} | {row['right']:.0%} ({low:.0%} to {high:.0%}) | {row['people']:.0%} |"
        )
    return "\n".join(lines)


def picture(model: Json) -> None:
    """What people read, the model's confidence, and how often it is right, marker by marker."""
    rows = sorted(said(model), key=lambda row: row["people"])
    with plots.picture("markers", size=(8.2, 0.42 * len(rows) + 1.5)) as axes:
        ax = axes[0][0]
        for y, row in enumerate(rows):
            ax.plot([row["right"], row["people"]], [y, y], color="#cccccc", linewidth=1.5, zorder=1)
            low, high = row["right_interval"]
            ax.plot([low, high], [y, y], color=plots.COLOURS[1], linewidth=4, alpha=0.25, zorder=2)
        for name, key, number in (("people read", "people", 0), ("right", "right", 1), ("MIC", "mic", 2)):
            ax.scatter(
                [row[key] for row in rows],
                range(len(rows)),
                color=plots.COLOURS[number],
                marker=plots.MARKS[number],
                s=55,
                label=name,
                zorder=3,
            )
        ax.set_yticks(range(len(rows)), [row["marker"] for row in rows])
        ax.set_xlim(0, 1)
        ax.set_xlabel("confidence, or share of right answers")
        ax.legend(loc="lower right")
