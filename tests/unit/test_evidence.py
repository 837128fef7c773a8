"""The pages of the evidence: their goals stand in docs/evidence.md, and each part keeps its shape on a handful of answers."""

import importlib
import itertools
import pkgutil
import re

import numpy as np
import pytest

import benchmarks
from benchmarks import DATA
from benchmarks.evidence import __main__ as command
from benchmarks.evidence import document, goals, holding_out, plots, wording
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.parts import choices, divergence, levels, linguistic_space, promises, samples, signal_space
from hedgerow.calibration.clusters import first_of_each
from hedgerow.lexicon import perceive

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the recorded answers are not beside the checkout")
HANDFUL = 100
"""Rows of a set; fewer leave folds without a right answer."""


def shape(part):
    """Headings, and the first cell of every table."""
    lines = part.splitlines()
    tables = [line.split("|")[1].strip() for line, below in itertools.pairwise(lines) if below.startswith("|---")]
    return [line for line in lines if line.startswith("#")], tables


class QuickReader:
    """Hears with the lexicon's own reader: what is perceived does not matter here."""

    def __init__(self, data):
        pass

    def perceive(self, texts):
        betas = [perceive(text).beta for text in texts]
        return np.array([b.alpha for b in betas]), np.array([b.beta for b in betas])


@pytest.fixture
def handful(monkeypatch, tmp_path):
    """Few resamples, few questions, pictures elsewhere."""
    monkeypatch.setattr(holding_out, "RESAMPLES", 3)
    monkeypatch.setattr(plots, "FOLDER", tmp_path)
    monkeypatch.setattr(linguistic_space, "Reader", QuickReader)
    monkeypatch.setattr(linguistic_space, "MOST", 12)
    monkeypatch.setattr(choices, "Reader", QuickReader)
    monkeypatch.setattr(choices, "MOST", 6)
    monkeypatch.setattr(choices, "COUNTS", (1, 5))
    monkeypatch.setattr(choices, "SHORTLISTS", (30, None))
    monkeypatch.setattr(samples, "ORDERS", 1)
    monkeypatch.setattr(promises, "DRAWS", 3)
    monkeypatch.setattr(promises, "POWER_DRAWS", 2)
    monkeypatch.setattr(promises, "SPLITS", 2)
    monkeypatch.setattr(samples, "SETS", samples.SETS[:1])
    return tmp_path


def test_the_summary_is_what_the_pages_make():
    assert document.SUMMARY.read_text(encoding="utf-8") == document.summary(document.pages())


def test_every_part_has_a_page_that_names_its_commit():
    pages = document.pages()
    assert list(pages) == list(document.PARTS)
    assert all(re.search(r"\*Computed by `make evidence PARTS=\w+`.* at commit \w+", text) for text in pages.values())
    assert all(text.startswith("# ") for text in pages.values())


def test_every_goal_of_a_page_stands_in_the_summary():
    summary = document.SUMMARY.read_text(encoding="utf-8")
    rows = [row for text in document.pages().values() for row in goals.rows(text)]
    assert rows
    assert all(row.split("|")[1].strip() in summary for row in rows)


def test_every_picture_of_a_page_is_there():
    linked = [name for text in document.pages().values() for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)]
    assert linked
    assert [name for name in linked if not (document.PAGES / name).is_file()] == []


def test_a_goal_says_which_side_it_is_on():
    estimate = Estimate(0.5, 0.4, 0.6, 1200)
    missed = Goal("lower", estimate, 0.4, closes="more samples")
    assert "| **0.500** | 0.400 to 0.600 | 1,200 | **no** | more samples |" in missed.row()
    assert Goal("higher", estimate, 0.4, at_least=True).reached
    assert goals.rows("## A part\n\n" + goals.table([missed])) == [missed.row()]


def test_without_a_name_only_parts_whose_code_has_changed_are_computed(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "DATA", tmp_path)
    monkeypatch.setattr(document, "PAGES", tmp_path)
    monkeypatch.setattr(document, "source", lambda: "abc")
    (tmp_path / "samples.md").write_text("# Samples\n\n*(source abc)*", encoding="utf-8")
    (tmp_path / "choices.md").write_text("# Choices\n\n*(source old)*", encoding="utf-8")
    asked = []
    monkeypatch.setattr(command, "compute_each", lambda parts: asked.extend(parts) or ["choices"])
    assert command.main([]) == 1  # one failed
    assert "choices" in asked
    assert "samples" not in asked


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize(
    "part", [signal_space, samples, divergence, choices, linguistic_space, promises], ids=lambda part: part.__name__
)
def test_a_part_has_the_same_shape_on_a_handful_of_answers(part, handful):
    text = document.page(part.section(DATA, HANDFUL), "")
    name = part.__name__.rpartition(".")[2]
    headings, tables = shape(document.pages()[name])
    some_headings, some_tables = shape(text)
    left_out = {"## TriviaQA, gemma-2-2b"} if part is samples else set()
    assert some_headings == [heading for heading in headings if heading not in left_out]
    assert set(some_tables) >= set(tables) - {"answers"}
    for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
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


def test_levels_count_as_the_product_does() -> None:
    names = np.random.default_rng(0).integers(0, 30, 100).astype(str).astype(object)
    assert levels._first(names).tolist() == first_of_each(names).tolist()


def test_every_benchmark_can_be_imported() -> None:
    """Types are checked on the product alone, so a name that moved would be noticed only when a figure is due."""
    names = [module.name for module in pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")]
    imported = [importlib.import_module(name) for name in names if "__main__" not in name]
    assert all(module.__doc__ for module in imported)
    assert {"benchmarks.evidence", "benchmarks.fits", "benchmarks.performance"} <= {
        module.__name__ for module in imported
    }
