"""docs/evidence.md: its parts can be read back, its goals stand at the top, and each new part keeps its shape on a handful of answers."""

import itertools
import re

import numpy as np
import pytest

from benchmarks import evidence, goals, holding_out, plots, wording
from benchmarks import evidence_choices as choices
from benchmarks import evidence_divergence as divergence
from benchmarks import evidence_linguistic_space as linguistic_space
from benchmarks import evidence_samples as samples
from benchmarks import evidence_signal_space as signal_space
from benchmarks.goals import Goal
from benchmarks.holding_out import Estimate
from hedgerow.lexicon import perceive

needs_data = pytest.mark.skipif(not evidence.DATA.is_dir(), reason="the recorded answers are not beside the checkout")
HANDFUL = 100
"""Rows of a set; fewer leave folds without a right answer."""


def document():
    return evidence.DOCUMENT.read_text(encoding="utf-8")


def shape(part):
    """Headings, and the first cell of every table."""
    lines = part.splitlines()
    tables = [line.split("|")[1].strip() for line, below in itertools.pairwise(lines) if below.startswith("|---")]
    return [line for line in lines if line.startswith("#")], tables


class QuickEars:
    """Hears with the lexicon's own reader: what is heard does not matter here."""

    def __init__(self, data):
        pass

    def hear(self, texts):
        betas = [perceive(text).beta for text in texts]
        return np.array([b.alpha for b in betas]), np.array([b.beta for b in betas])


@pytest.fixture
def handful(monkeypatch, tmp_path):
    """Few resamples, few questions, pictures elsewhere."""
    monkeypatch.setattr(holding_out, "RESAMPLES", 3)
    monkeypatch.setattr(plots, "FOLDER", tmp_path)
    monkeypatch.setattr(linguistic_space, "Ears", QuickEars)
    monkeypatch.setattr(linguistic_space, "MOST", 12)
    monkeypatch.setattr(choices, "Ears", QuickEars)
    monkeypatch.setattr(choices, "MOST", 6)
    monkeypatch.setattr(choices, "COUNTS", (1, 5))
    monkeypatch.setattr(choices, "SHORTLISTS", (30, None))
    monkeypatch.setattr(samples, "ORDERS", 1)
    monkeypatch.setattr(samples, "SETS", samples.SETS[:1])
    return tmp_path


def test_the_document_is_what_its_parts_make():
    assert evidence.assemble(evidence.blocks(document())) == document()


def test_every_part_is_in_the_document_and_names_its_commit():
    parts = evidence.blocks(document())
    assert list(parts) == [part for part in evidence.PARTS if part in parts]
    assert all(re.search(r"\*Computed by `make evidence PARTS=\w+`.* at commit \w+", text) for text in parts.values())


def test_every_goal_of_a_part_stands_at_the_top_within_one_screen():
    top = document().partition("<!-- part:")[0]
    told = [row for text in evidence.blocks(document()).values() for row in goals.rows(text)]
    assert told
    assert all(row in top for row in told)
    assert len(top.splitlines()) <= 40


def test_every_picture_of_the_document_is_there():
    linked = re.findall(r"!\[[^]]*\]\(([^)]+)\)", document())
    assert linked
    assert [name for name in linked if not (evidence.DOCUMENT.parent / name).is_file()] == []


def test_a_goal_says_which_side_it_is_on():
    estimate = Estimate(0.5, 0.4, 0.6, 1200)
    missed = Goal("lower", estimate, 0.4, closes="more samples")
    assert "| **0.500** | 0.400 to 0.600 | 1,200 | **no** | more samples |" in missed.row()
    assert Goal("higher", estimate, 0.4, at_least=True).reached
    assert goals.rows("## A part\n\n" + goals.table([missed])) == [missed.row()]


def test_without_a_name_only_parts_whose_code_has_changed_are_computed(monkeypatch, tmp_path):
    monkeypatch.setattr(evidence, "DATA", tmp_path)
    monkeypatch.setattr(evidence, "DOCUMENT", tmp_path / "evidence.md")
    monkeypatch.setattr(evidence, "source", lambda: "abc")
    kept = {"samples": "## Samples\n\n*(source abc)*", "choices": "## Choices\n\n*(source old)*"}
    evidence.DOCUMENT.write_text(evidence.assemble(kept), encoding="utf-8")
    asked = []
    monkeypatch.setattr(evidence, "compute_each", lambda parts: asked.extend(parts) or ["choices"])
    assert evidence.main([]) == 1  # one failed
    assert "choices" in asked
    assert "samples" not in asked
    assert evidence.blocks(evidence.DOCUMENT.read_text(encoding="utf-8")) == kept


@needs_data
@pytest.mark.parametrize(
    "part", [signal_space, samples, divergence, choices, linguistic_space], ids=lambda part: part.__name__
)
def test_a_part_has_the_same_shape_on_a_handful_of_answers(part, handful):
    text = part.section(evidence.DATA, HANDFUL)
    name = part.__name__.rpartition("evidence_")[2]
    headings, tables = shape(evidence.blocks(document())[name])
    some_headings, some_tables = shape(text)
    left_out = {"### TriviaQA, gemma-2-2b"} if part is samples else set()
    assert some_headings == [heading for heading in headings if heading not in left_out]
    assert set(some_tables) >= set(tables) - {"answers"}
    for picture in re.findall(r"\(evidence/([^)]+)\)", text):
        assert (handful / picture).stat().st_size > 1000


def test_no_answer_is_calibrated_by_a_map_that_saw_it():
    """Turning one outcome round changes the calibrated means of others, never its own."""
    rng = np.random.default_rng(0)
    alpha = rng.integers(1, 10, 300).astype(float)
    correct = (rng.random(300) < alpha / 12).astype(float)
    before = wording.means(holding_out.held_out((alpha, 10 - alpha), correct))
    turned = correct.copy()
    turned[7] = 1 - turned[7]
    after = wording.means(holding_out.held_out((alpha, 10 - alpha), turned))
    assert before[7] == after[7]
    assert not np.allclose(before, after)
