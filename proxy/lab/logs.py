"""Logs of evaluations as rows: what `oaieval` of OpenAI evals records, and the samples that lm-evaluation-harness logs (`--log_samples`).

Formats: `Event` and `LocalRecorder` in evals/record.py of openai/evals; `save_results_samples` in lm_eval/loggers/evaluation_tracker.py of
EleutherAI/lm-evaluation-harness.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from ..types import Json

Other = TypeVar("Other")


def rows_of_logs(objects: Iterator[tuple[int, Json | Other]]) -> Iterator[tuple[int, Json | Other]]:
    """Rows with `question`, `samples` and `gold`, or `confidence` and `correct`, if the first object is from a log.

    Otherwise the objects are unchanged. Rows that are not objects are unchanged too.
    """
    first = next(objects, None)
    if first is None:
        return iter(())
    line, content = first
    rest = chain([(line, content)], objects)
    if isinstance(content, dict) and _is_evals(content):
        return _evals_rows(rest)
    return _harness_rows(rest) if isinstance(content, dict) and _is_harness(content) else rest


def _is_evals(content: Json) -> bool:
    return isinstance(content.get("spec"), dict) or {"run_id", "sample_id", "type", "data"} <= content.keys()


def _is_harness(content: Json) -> bool:
    return {"doc_id", "arguments", "resps", "filtered_resps"} <= content.keys()


def _evals_rows(objects: Iterable[tuple[int, Json | Other]]) -> Iterator[tuple[int, Json | Other]]:
    """One row for each `sample_id`: its samplings, of any run, are the samples, and its matches are their labels.

    A match follows the sampling that it judges. A file may hold the logs of several runs one after the other.
    """
    rows: dict[str, tuple[int, Json]] = {}
    model = ""
    for line, content in objects:
        if not isinstance(content, dict):
            yield line, content
        elif isinstance(spec := content.get("spec"), dict):
            model = next(iter(spec.get("completion_fns") or ()), "")
        elif "sample_id" in content and isinstance(data := content.get("data"), dict):
            _, row = rows.setdefault(str(content["sample_id"]), (line, {"samples": [], "gold": [], "model": model}))
            row["id"] = content["sample_id"]
            if content.get("type") == "sampling":
                sampled = data.get("sampled")
                row["samples"] += [{"text": text} for text in (sampled if isinstance(sampled, list) else [sampled])]
                row.setdefault("question", _asked(data.get("prompt")))
            elif content.get("type") == "match":
                expected = data.get("expected")
                known = expected if isinstance(expected, list) else [expected]
                row["gold"] = list(dict.fromkeys([*row["gold"], *(str(gold) for gold in known if gold is not None)]))
                if row["samples"]:
                    row["samples"][-1]["correct"] = data.get("correct")
    yield from rows.values()


def _asked(prompt: object) -> str:
    """The last message of a chat, or the text of a prompt."""
    if isinstance(prompt, list):
        prompt = prompt[-1] if prompt else ""
    if isinstance(prompt, dict):
        prompt = prompt.get("content")
    return prompt if isinstance(prompt, str) else ""


def _harness_rows(objects: Iterable[tuple[int, Json | Other]]) -> Iterator[tuple[int, Json | Other]]:
    """One row for each document; of several filters of a task, the first in the file is used."""
    chosen: object = None
    seen: set[object] = set()
    for line, content in objects:
        if not isinstance(content, dict):
            yield line, content
            continue
        chosen = content.get("filter") if chosen is None else chosen
        document = content.get("doc_hash") or content.get("doc_id")
        if content.get("filter") == chosen and ("filter" in content or document not in seen):
            seen.add(document)
            yield line, _harness_row(content)


def _harness_row(content: Json) -> Json:
    # tasks that are put in one file each begin at 0, so the hash of the document tells them apart
    row: Json = {"id": content.get("doc_hash") or content.get("doc_id"), "question": _question_of(content)}
    filtered = content.get("filtered_resps")
    likelihoods = _likelihoods(filtered)
    if likelihoods is not None:
        if len(likelihoods) < 2 or not any(map(math.isfinite, likelihoods)) or any(map(math.isnan, likelihoods)):
            return row | {"likelihoods (fewer than two, or not numbers)": likelihoods, "correct": content.get("acc")}
        best = max(likelihoods)
        confidence = 1.0 / sum(math.exp(likelihood - best) for likelihood in likelihoods)
        right = str(content.get("target")) == str(likelihoods.index(best))
        return row | {"confidence": confidence, "correct": content.get("acc", right)}
    drawn = _texts(content.get("resps"))
    kept = ["" if text == _NOT_FOUND else text for text in _texts(filtered)]
    return row | {"samples": kept if len(kept) == len(drawn) else drawn, "gold": _targets(content.get("target"))}


_NOT_FOUND = "[invalid]"
"""What a filter puts where it finds no answer."""


def _question_of(content: Json) -> str:
    """The document's question, else the prompt, which may begin with examples."""
    document = content.get("doc")
    if isinstance(document, Mapping):
        for name in ("question", "query", "problem"):
            if isinstance(document.get(name), str):
                return str(document[name])
    arguments = content.get("arguments")
    first = arguments.get("gen_args_0") if isinstance(arguments, Mapping) else None
    prompt = first.get("arg_0") if isinstance(first, Mapping) else None
    return prompt if isinstance(prompt, str) else ""


def _likelihoods(filtered: object) -> list[float] | None:
    """Log-likelihoods of the choices, [[log-likelihood, is greedy], ...], possibly logged as strings; None if answers were generated."""
    if not isinstance(filtered, list) or not filtered:
        return None
    pairs = [
        pair for pair in filtered if isinstance(pair, list) and len(pair) == 2 and str(pair[1]) in ("True", "False")
    ]
    if len(pairs) < len(filtered):
        return None
    try:
        return [float(pair[0]) for pair in pairs]
    except (TypeError, ValueError):
        return None


def _texts(responses: object) -> list[str]:
    """Every string in nested lists of answers, in order."""
    if isinstance(responses, str):
        return [responses]
    return [text for item in responses for text in _texts(item)] if isinstance(responses, Sequence) else []


def _targets(target: Any) -> Any:
    """Right answers; a list that was logged as a string is parsed."""
    if isinstance(target, str) and target.startswith("["):
        try:
            return [str(item) for item in ast.literal_eval(target)]
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return target
    return target
