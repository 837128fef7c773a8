"""What `local` names, through the real edge: the judge that reads claims of a long answer, and words of a short answer in a long one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hedgerow.proxy.clustering.local import missing
from tests.contract.test_failures import rows_of
from tests.contract.test_long_answers import ANSWERS, ASK, UNCALIBRATED
from tests.support.upstream import Upstream, says


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_claims_are_read_in_the_other_answers(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Without a further call; what all answers say, and what others say otherwise, stands beside each claim."""
    upstream.default = says(*ANSWERS)
    address = serve(rewriting=UNCALIBRATED, judge={"claims": "local", "budget_s": 60})
    field = client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    assert len(upstream.calls) == 1
    assert {claim["by"] for claim in field["claims"]} == {"local"}
    place, author, height, year = field["claims"]
    assert (place["said_by"], author["said_by"]) == (9, 9)
    assert (height["said_by"], height["contradicted_by"]) == (4, 5)
    assert (year["said_by"], year["contradicted_by"]) == (8, 1)


DRAWN = (
    "Dmitri Mendeleev",
    "The first table is credited to the Russian chemist Dmitry Ivanovich Mendeleyev.",
    "Lothar Meyer",
    "Dmitri Mendeleev",
)


def test_a_short_answer_and_a_long_one_are_grouped(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """Where the rules leave pairs open; the audit says who decided."""
    upstream.default = says(*DRAWN)
    address = serve(equivalence="local", sampling={"n": 4})
    ask = [{"role": "user", "content": "Who made the first table?"}]
    client_of(address).chat.completions.create(model="m", messages=ask)
    (row,) = rows_of(tmp_path, 1)
    story = json.loads(row["story"])
    assert story["decided_by"]["likely"] > 0
    assert sorted(map(len, story["clusters"])) == [1, 3]
