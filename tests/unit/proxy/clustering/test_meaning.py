"""Two sides of "same meaning" on written pairs (tests/data/meaning.tsv), and the review's cases with their right value."""

from __future__ import annotations

from benchmarks.evidence.parts.meaning import pairs, set_aside, wrong
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.rules import judge_pair
from tests.support.tables import cases

OPEN = [pair for pair in pairs() if not set_aside(pair)]
KINDS = sorted({pair["kind"] for pair in OPEN})
KNOWN = {("John Adams", "John Quincy Adams"), ("black hole", "hole"), ("15-love", "love-15")}
"""What needs knowledge of the world: written down, so that a fourth is noticed."""


@cases("kind", KINDS)
def test_answers_that_differ_in_one_telling_thing_are_not_merged(kind):
    """Options, signs, units, versions, prefixes, orders of numbers: none of the half that rules were changed on, but three known ones."""
    merged = [(p["a"], p["b"]) for p in OPEN if p["kind"] == kind and p["same"] == "0" and wrong(p)]
    assert set(merged) <= KNOWN


def test_few_answers_are_split_for_it():
    split = [(p["a"], p["b"]) for p in OPEN if p["same"] == "1" and wrong(p)]
    assert len(split) <= 0.06 * sum(p["same"] == "1" for p in OPEN), split


def test_every_kind_has_pairs_enough_on_both_sides():
    every = pairs()
    for kind in KINDS:
        assert sum(p["kind"] == kind for p in every) >= 60
        assert {p["same"] for p in every if p["kind"] == kind and not set_aside(p)} == {"0", "1"}
    assert 0.4 < len(OPEN) / len(every) < 0.6


@cases(
    ("question", "answers", "largest"),
    [
        ("Which option is right?", ["A", "(A)", "A.", "Answer: A", "Option A", "a"], 6),
        ("Universal recipient?", ["AB+", "AB-", "AB+", "AB-", "AB+"], 3),
        ("Where was Mozart born?", ["Austria"] * 3 + ["Australia"] * 2, 3),
        ("What was the score, Brazil first?", ["1-7"] * 3 + ["7-1"] * 7, 7),
        ("How much power?", ["5 MW", "5 mW", "5 megawatts"], 2),
    ],
)
def test_the_largest_group_holds_what_says_the_same_and_nothing_else(question, answers, largest):
    assert len(cluster_by_rules(question, answers).clusters[0]) == largest


@cases(
    ("a", "b", "reason"),
    [("x > 2", "x < 2", "sign"), ("Vitamin B", "Vitamin C", "option"), ("2:1", "1:2", "order"), ("hypertension", "hypotension", "antonym")],
)  # fmt: skip
def test_what_is_opposite_is_vetoed_so_that_no_judge_merges_it(a, b, reason):
    assert judge_pair("Which?", a, b).decided_by == f"veto:{reason}"


@cases(
    ("same", "other"),
    [("tumour|tumor", "mouse|moose"), ("colour|color", "mourning|morning"), ("aluminium|aluminum", "Ammonia|Ammonium"),
     ("haemoglobin|hemoglobin", "Magnesium|Magnesia"), ("Sukhwinder|Sukhvinder", "Wales|Vales"), ("traveller|traveler", "desert|dessert"),
     ("organise|organize", "dosing|dozing"), ("Oscar|Oskar", "snacks|snakes"), ("theatre|theater", "loose|louse"), ("300K|300 kelvin", "300K|300000"),
     ("$300K|$300,000", "$5 m|5 m"), ("5 metres per second|5 m/s", "five per secondary school|5 m/s")],
)  # fmt: skip
def test_another_writing_is_merged_and_its_neighbour_is_not(same, other):
    assert judge_pair("", *same.split("|")).same
    assert not judge_pair("", *other.split("|")).same


@cases(
    ("denial", "open_"),
    [("visible|invisible", "flammable|inflammable"), ("organic|inorganic", "come|income"), ("exact|inexact", "land|inland"),
     ("moral|amoral", "like|alike"), ("aerobic|anaerobic", "other|another"), ("typical|atypical", "round|around"),
     ("relevant|irrelevant", "migrant|immigrant"), ("regular|irregular", "radiate|irradiate"), ("married|unmarried", "ravel|unravel"),
     ("honest|dishonest", "sever|dissever"), ("linear|nonlinear", "aesthetic|esthetic"), ("competent|incompetent", "body|embody"),
     ("import|export", "imbed|embed")],
)  # fmt: skip
def test_only_a_sure_denial_is_vetoed(denial, open_):
    """A prefix that also stands before words without denying them leaves the pair to a judge."""
    assert judge_pair("", *denial.split("|")).decided_by == "veto:antonym"
    assert judge_pair("", *open_.split("|")).same is not False
