"""The local way: short facts, single statements, yes and no in their own words; everything else by one sentence, or as it is."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration import Beta
from hedgerow.lexicon import load, offered
from hedgerow.lexicon.hedges.offered import written
from hedgerow.lexicon.reading.local import read
from hedgerow.proxy.rewriting.guard import perceived_confidence
from hedgerow.proxy.rewriting.local import word_locally
from hedgerow.proxy.rewriting.phrases import Voice
from hedgerow.proxy.rewriting.policy import BANDS, Claimed, band_of
from hedgerow.proxy.types import Rewording
from tests.support.tables import cases

VOICE = Voice(tuple(offered(load(), voices=("impersonal", "first_person"))), written())


def worded(
    answer: str, mean: float, question: str = "", claims: dict[str, float] | None = None, voice: Voice = VOICE
) -> Rewording:
    """The answer at a mean, and at those of its claims."""
    known = [
        Claimed(answer.index(text), answer.index(text) + len(text), Beta.from_mean(each, 10))
        for text, each in (claims or {}).items()
    ]
    return word_locally(read(answer, question), Beta.from_mean(mean, 10), known, voice, perceived_confidence)


MARKED = [
    # answer, question, words that must stay, in this order
    ("Jupiter.", "What is the largest planet?", "Jupiter."),
    ("26 October 2021", "On which day did she break the record?", "26 October 2021"),
    ("The merger took place in 2005.", "When did the merger take place?", "took place in 2005."),
    ("In May 2023, the FDA approved the vaccine.", "When was it approved?", "May 2023"),
    ("Yes, Verizon has increased its debt.", "Has Verizon increased its debt?", "Verizon has increased its debt."),
    ("No.", "Did she win?", "no."),
    ("**Canberra** is the capital of Australia.", "What is the capital of Australia?", "**Canberra** is"),
    ("She didn't win the prize.", "Did she win the prize?", "didn't win the prize."),
    ("To Kill a Mockingbird was written by Harper Lee.", "Who wrote it?", "To Kill a Mockingbird"),
]


@cases("mean", [0.6, 0.3, 0.1])
def test_a_doubtful_fact_says_so_and_keeps_its_words(mean: float) -> None:
    """Each is marked, perceived in the band of its confidence, and loses no word."""
    faults = []
    for answer, question, kept in MARKED:
        done = worded(answer, mean, question)
        heard = done.perceived.mean if done.perceived else 1.0
        if done.status != "hedged" or kept.lower() not in done.text.lower() or band_of(heard) != band_of(mean):
            faults.append(f"{answer!r} at {mean}: {done.text!r}, {done.status}, heard at {heard:.2f}")
    assert not faults, "\n".join(faults)


def test_a_sure_fact_stays_as_it_is() -> None:
    assert [worded(answer, 0.8, question).text for answer, question, _ in MARKED] == [answer for answer, *_ in MARKED]


FOREIGN = [
    # language, answer, question: what it becomes; None where no place is sure, so that a sentence after it says it
    (
        "de",
        "Das Buch wurde von Goethe geschrieben.",
        "Wer schrieb das Buch?",
        "Das Buch wurde {} von Goethe geschrieben.",
    ),
    ("de", "Der Autor ist Goethe.", "Wer ist der Autor von diesem Buch?", "Der Autor ist {} Goethe."),
    ("fr", "Le roman fut écrit par Victor Hugo.", "Qui a écrit ce roman ?", "Le roman fut {} écrit par Victor Hugo."),
    ("es", "La capital es Madrid.", "¿Cuál es la capital de España?", "La capital es {} Madrid."),
    ("de", "Sie bestätigten das Ergebnis.", "Was haben die Forscher mit dem Ergebnis gemacht?", None),
]


@cases(("language", "answer", "question", "wanted"), FOREIGN)
def test_a_sentence_that_no_parser_reads_takes_its_hedge_at_its_verb(
    language: str, answer: str, question: str, wanted: str | None
) -> None:
    """Never before a whole sentence of a language in which the verb would have to move."""
    voice = Voice(tuple(offered(load(language))), written(language))
    text = worded(answer, 0.4, question, voice=voice).text
    before, after = wanted.split("{}") if wanted else (f"{answer} ", "")
    assert text.startswith(before)
    assert text.endswith(after)
    assert len(text.split()) > len(answer.split())


LEFT_ALONE = [
    ("I don't know.", "Who won the cup in 1911?"),
    ("Could you tell me which palms you mean?", "What are characteristics of palms?"),
    ("I'm sorry, but the information provided does not include the figures needed.", "What was the DPO in 2018?"),
    ("Sure! I'd be happy to help with that.", "Can you help me?"),
    ("Roses are red,\nviolets are blue.", "Write me a poem"),
    ("Preheat the oven to 200 degrees. Then bake for an hour.", "How do I bake a potato?"),
    ("B)", "Which of these is a noble gas? A) nitrogen B) krypton C) bromine"),
    ("Done.", "Fix the typo in notes.txt."),
    ("I don't have live data. You can look at the website of the town.", "What is the weather in Turku right now?"),
]


def test_what_claims_nothing_is_left_alone() -> None:
    changed = [answer for answer, question in LEFT_ALONE if worded(answer, 0.3, question).text != answer]
    assert not changed


def test_a_yes_is_hedged_itself() -> None:
    """Never "Yes, X has perhaps": the word itself carries the doubt."""
    text = worded("Yes, the risk decreased.", 0.6, "Did the risk decrease?").text
    assert text.lower().endswith("yes: the risk decreased.")


def test_a_yes_is_hedged_before_its_reason() -> None:
    reason = "They lack a working gene for the sweet taste receptor."
    text = worded(f"No, cats can't taste sweet things. {reason}", 0.5, "Can cats taste sweet things?").text
    assert text.endswith(f" no: cats can't taste sweet things. {reason}")


def test_a_list_or_a_sum_in_doubt_says_so_before_it_begins() -> None:
    """Items and steps take no hedge of their own."""
    for answer, question in (
        ("1. Helium\n2. Neon\n3. Radon", "List the noble gases in order of atomic number."),
        ("54 ÷ 0.75 = 72\n72 ÷ 24 = 3", "A tank of 54 litres leaks 0.75 litres an hour. In how many days is it empty?"),
    ):
        text = worded(answer, 0.3, question).text
        assert text.endswith(answer)
        assert len(text) > len(answer)


def test_an_item_without_number_or_head_is_named_by_its_words() -> None:
    points = {"Runs from Moscow to Vladivostok": 0.7, "Crosses 11 *time* zones": 0.2, "Electrified since 2002": 0.6}
    answer = "\n".join(f"- {point}" for point in points)
    assert "“Crosses 11 time zones”" in worded(answer, 0.5, "What is the Trans-Siberian Railway?", points).text


PLACED = [
    ("What are Chladni figures?", "Chladni figures are patterns of sand on a plate.", "{} Chladni figures are"),
    ("How many dominoes are there?", "As a result, the set has 55 tiles.", "As a result, {} the set has"),
    (
        "Who may ask for more?",
        "Under the act of 2019, a landlord can ask for five weeks.",
        "{} that under the act of 2019,",
    ),
    (
        "Where did she study?",
        "Born in Saint Petersburg, she studied in Berlin.",
        "Born in Saint Petersburg, she {} studied",
    ),
    ("What is the maximum?", "The maximum possible break in snooker is 147 points.", "{} the maximum possible break"),
]


@cases(("question", "answer", "wanted"), PLACED)
def test_a_hedge_stands_where_a_writer_would_put_it(question: str, answer: str, wanted: str) -> None:
    """Names keep their capitals, a connective stays first, and what tells of a number or a thing is no doubt of the claim."""
    before, after = wanted.split("{}")
    phrases = {worded(answer, 0.3 + n / 100, question).text for n in range(45)} - {answer}
    assert any(text.startswith(before) and after in text for text in phrases), phrases


def test_of_claims_that_are_about_equally_sure_the_least_sure_is_marked() -> None:
    first, second = "The painting was made by Théodore Géricault in 1819.", "It measures 4.9 by 7.2 metres."
    text = worded(f"{first} {second}", 0.7, "Who painted it and how big is it?", {first: 0.78, second: 0.68}).text
    assert text.startswith(first)
    assert not text.endswith(second)


def test_a_doubtful_row_of_a_table_is_named_after_it() -> None:
    rows = ["| Denmark | no |", "| Finland | yes |", "| Sweden | yes |"]
    answer = "\n".join(["| Country | Euro |", "|---|---|", *rows])
    text = worded(
        answer, 0.6, "Which Nordic countries have the euro?", dict(zip(rows, (0.9, 0.8, 0.1), strict=True))
    ).text
    assert text.startswith(answer)
    assert "Sweden" in text[len(answer) :]


def test_no_second_hedge_beside_words_that_doubt_already() -> None:
    answer = "I think it might have been around 1905, but please double-check."
    assert worded(answer, 0.15, "In what year did the train first run?").text.endswith(answer)


def test_words_that_overstate_an_answer_go() -> None:
    assert "definitely" not in worded("It is definitely Paris.", 0.6, "What is the capital of France?").text


def test_a_long_answer_in_doubt_says_so_before_it_begins() -> None:
    answer = " ".join(f"The town of Alden had {n} mills in {1800 + n}." for n in range(10, 16))
    done = worded(answer, 0.1, "What do you know of Alden?")
    assert done.text.endswith(answer)
    assert band_of(done.perceived.mean if done.perceived else 1) == "front"


def test_the_doubtful_claim_is_marked_and_the_sure_one_is_not() -> None:
    sure, low = "The ship was laid down in 1937.", "Its captain was born in Kobe."
    text = worded(f"{sure} {low}", 0.6, "Tell me about the ship.", {sure: 0.93, low: 0.3}).text
    assert text.startswith(sure)
    assert not text.endswith(f" {low}")


def test_doubtful_points_of_a_list_are_named_after_it() -> None:
    answer = "1. Lyon was founded in 43 BC.\n2. Metz was founded in 52 BC.\n3. Nice was founded in 350 BC."
    points = {"Lyon was founded in 43 BC.": 0.9, "Metz was founded in 52 BC.": 0.9, "Nice was founded in 350 BC.": 0.2}
    text = worded(answer, 0.7, "When were these founded?", points).text
    assert text.startswith(answer)
    assert "point 3" in text


@cases("mean", [0.7, 0.5, 0.3, 0.1])
def test_twelve_turns_do_not_sound_alike(mean: float) -> None:
    """No phrase more than four times in twelve turns, and each turn is marked."""
    turns = [f"The hall was rebuilt in {1900 + n}." for n in range(12)]
    said: list[str] = []
    phrases: list[str | None] = []
    for answer in turns:
        done = worded(
            answer, mean, "When?", voice=Voice(VOICE.hedges, VOICE.written, tuple(filter(None, phrases[-3:])))
        )
        phrases.append(done.hedge)
        said.append(done.text)
    assert None not in phrases
    assert Counter(phrases).most_common(1)[0][1] <= 4


@given(st.floats(0.01, 0.99), st.text(max_size=300))
def test_any_text_keeps_its_words(mean: float, answer: str) -> None:
    """Whatever the text: it comes out as it is, or with words put in; and a mark is never heard in a surer band than the confidence."""
    done = worded(answer, mean)
    letters = iter(done.text.lower())
    assert all(letter in letters for letter in answer.lower().strip()) or done.status == "hedged"
    if done.status == "hedged" and done.perceived is not None:
        assert list(BANDS).index(band_of(done.perceived.mean)) >= list(BANDS).index(band_of(mean)) - 1
