"""Where the answer of a text is: whatever a model thinks aloud before it, and with whatever it ends its turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.upstreams.thoughts import cut
from tests.support.tables import cases

THOUGHTS = [
    "<think>Australia, so it is Canberra.</think>\n\n",
    "The user asks for the capital.\n</think>\n\n",
    "<thinking>Hm.</thinking>",
    "[THINK]Hm.[/THINK]",
    "◁think▷Hm.◁/think▷",
    "<seed:think>Hm.</seed:think>\n",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    "analysisUser asks capital.assistantfinal",
    "[/INST] ",
    "\ufeff",
    "\u200b",
]
ENDS = [
    "<|im_end|>",
    "<|return|>",
    "</s>",
    "<end_of_turn>\n",
    " [/INST]",
    "<｜end▁of▁sentence｜>",
    "<|eot_id|>",
    "\u200b",
    "\u2060",
]


@cases("end", ["", *ENDS])
@cases("thought", ["", *THOUGHTS])
def test_the_answer_is_between_them(thought: str, end: str) -> None:
    """And what stands around it is kept."""
    assert cut(f"{thought}The capital is Canberra.{end}") == (thought, "The capital is Canberra.", end)


@cases(
    "text",
    ["The tag `</think>` closes a thought.", "<think>not done", "<think>only a thought</think>", "</s>", "An emoji: \U0001f3f4\U000e0067\U000e0062\U000e007f", "## A\n#### B\ntext", "Analysis of it: the assistant final is late.", " spaces stay "],
)  # fmt: skip
def test_a_text_without_a_thought_is_the_answer(text: str) -> None:
    """Words about tags, thoughts without an answer, and emoji whose last sign is invisible."""
    assert cut(text) == ("", text, "")


@given(st.lists(st.sampled_from([*THOUGHTS, *ENDS, "a", "\n", " ", "#### 4"]), max_size=6).map("".join))
def test_nothing_is_lost(text: str) -> None:
    """The parts make up the text."""
    assert "".join(cut(text)) == text
