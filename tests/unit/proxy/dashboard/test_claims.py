"""How the page tells what is known of which answers state a claim."""

from __future__ import annotations

from hedgerow.proxy.dashboard.requests import Claims
from tests.support.tables import cases


@cases(
    ("by", "by_words"),
    [("words", True), ("words:judge_late", True), ("stated", True), ("local", False), ("llm", False)],
)
def test_an_answer_says_a_claim_only_where_a_judge_has_read_it(by: str, by_words: bool) -> None:
    """Else the page says that the answer has its words; a model that rates its own claims has not read the other answers."""
    row = {"calibrated": [6.0, 2.0], "raw": [4.0, 4.0], "borne_out": [True, None], "by": by}
    (view,) = Claims([row], ["It is 102 metres tall."], [1, 2], ["It is tall.", "102 metres.", "Tall."]).views()
    assert (view.by_words, view.said_by, view.mean, view.raw) == (by_words, 1, 0.75, 0.5)
