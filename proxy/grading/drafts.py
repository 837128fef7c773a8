"""Grading rows of recorded answers: the draft that the proxy would have worded is what is right or wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from hedgerow.proxy.grading.grade import Grader
from hedgerow.proxy.lab.records.reading import Sampled, parse_row
from hedgerow.proxy.protocols import Equivalence
from hedgerow.proxy.types import Json


def gradable(line: bytes) -> tuple[str, Json]:
    """A row with the key it is found by again.

    Raises:
        ValueError: it cannot be graded; the reason is the message.
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON") from None
    row = parse_row(content)
    if not isinstance(row, Sampled) or not all(sample.text for sample in row.samples):
        raise ValueError("no samples with texts")
    if not row.gold:
        raise ValueError("no gold answer")
    key = content.get("key")
    return key if isinstance(key, str) else hashlib.sha256(row.question.encode()).hexdigest()[:16], content


async def grade_row(content: Json, *, grader: Grader, equivalence: Equivalence) -> Json:
    """A gradable row with `correct`, and `grade` for how that came about.

    Raises:
        StepFailed, ProxyError: a judge cannot be asked.
    """
    row = parse_row(content)
    assert isinstance(row, Sampled)  # what `gradable` lets through  # noqa: S101
    clustering = await equivalence.cluster(row.question, [sample.text for sample in row.samples])
    draft = row.samples[clustering.draft_index].text
    grade = await grader.grade(row.question, draft, row.gold, _texts(content.get("wrong")))
    told = {"draft": clustering.draft_index, "reason": grade.reason}
    return content | {"correct": None if grade.correct is None else grade.correct == 1.0, "grade": told}


def _texts(value: object) -> Sequence[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
