"""Epistemic markers are found where a reader finds them, under one name."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.lexicon import LexiconError, TextTooLong
from hedgerow.lexicon.perception.markers import find_markers, marker_of, standard
from hedgerow.lexicon.perception.people import people_read
from tests.support.hostile import HOSTILE, growth
from tests.support.tables import cases

MARKED = Path(__file__).parents[2] / "data" / "lexicon" / "markers.jsonl"
VARIED = MARKED.with_name("varied_markers.jsonl")


def measured(*halves: str, of: Path = MARKED, key: str = "half") -> tuple[float, float]:
    """Precision and recall over the hand-marked sentences of real answers, by overlap."""
    right = found_ = met = gold = 0
    for line in of.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row[key] in halves:
            found = [(m.start, m.end) for m in find_markers(row["text"])]
            right += sum(any(a < d and c < b for a, b in row["markers"]) for c, d in found)
            met += sum(any(a < d and c < b for c, d in found) for a, b in row["markers"])
            gold, found_ = gold + len(row["markers"]), found_ + len(found)
    return right / found_, met / gold


@cases(("half", "precision", "recall"), [("tuned", 0.98, 0.985), ("held", 0.97, 0.98)])
def test_the_marked_sentences_of_real_answers(half, precision, recall):
    """Those that the rules were mended on, and those that they had never met; tests/data/lexicon/markers.md says how they were drawn."""
    found = measured(half)
    assert found[0] >= precision
    assert found[1] >= recall


def test_the_marked_sentences_with_varied_words():
    """Those of licensed sources, by whose faults the rules were mended: as first met .967 and .941 (docs/evidence/markers.md)."""
    found = measured(
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "seventeenth",
        of=VARIED,
        key="draw",
    )
    assert found[0] >= 0.975
    assert found[1] >= 0.975


@cases(("written", "name"), [
    ("I'm fairly sure", "fairly sure"), ("I am fairly sure that", "fairly sure"), ("Fairly sure", "fairly sure"),
    ("It's likely that", "likely"), ("likely", "likely"), ("We believe", "I believe"), ("think", "I think"),
    ("I don't think", "I do not think"), ("it seems", "seem"), ("to the best of my knowledge", "to the best of my knowledge"),
    ("I can't say for sure", "cannot say for sure"), ("I could be wrong", "could be wrong"), ("", "<no_hedge>"), ("<no_hedge>", "<no_hedge>"),
    ("a strange new phrase", "strange new phrase"),
])  # fmt: skip
def test_wordings_of_one_marker_have_one_name(written, name):
    """Whether extracted or met in a sentence."""
    assert standard(written) == name
    assert standard(name) == name


@cases("text", [
    "You may want to begin as soon as possible.", "May your days be merry.", "Could you say more?", "Make sure it is shut.",
    "Some people believe in ghosts.", "He said to her that it was late.", "A possible cause is age.", "She appeared in two films.",
    "For certain types of wood it fails.", "It deepens my understanding.", "I think of you.", "Certainly, here it is.", "Sure, here it is.",
    "They are more likely to win.", "He could not read.", "It is usually closed.", "In May it rains.",
    "Once the ore was melted, it could be poured into forms.", "They had a wall that nothing could break.", "Here is how you could do it.",
    "I was hoping you could help.", "You may choose another folder.", "We may write it as a sum.", "It may be shown to be even.",
    "Keep a positive attitude.", "Speak slowly and clearly, without notes.", "First, clearly define the task.", "Only certain folders are read.",
    "I want to be sure I understand.", "It tries every possible key.", "Otherwise, it is not possible.", "It appeared on their first album.",
    "That makes it appear as if nothing was there.", "This is a great chance to meet others.", "Use a table that looks like this:",
    "I do not have access to internet tools.", "Here is what the page might look like.", "It shows what the future of music may look like.", "I know, I know.",
    "I cannot tell a lie.", "It makes it clear that she lied.", 'The song "Seems Like Old Times" is on.',
    "It was a hall where players could explore.", "May I look it up?", "What might your group have felt?", "There is no further information available.",
    "The more likely an event is, the higher is its probability.", "She wrote back, suggesting that they meet.", "In this example I assume that they collide.",
    "We cannot find a value for y.", "Here is what kinds of models you could use.", "We will be sure to review it.",
    "I do not have any rooms available.", "A seeming contradiction is none.", "The error message indicates a fault.",
    "A probability of 1 means that the event is certain to happen.", "She hid so that nobody hunting could find her.", "There is more information in the index.",
    'They sing "Mad Because I Don\'t Know What To Do" on it.', "No agreement could be reached.", "Call Me Maybe is a song.",
    "She plays in Kevin (Probably) Saves the World.", 'The killer in "I Know What You Did Last Summer" is Ben.', "It was used to indicate perfection.",
    "There are certain restrictions.", "- Clearly define the scope.", "If a date cannot be determined, use 'Unknown'.", "They may serve any number of terms.",
    "They feared the might of the sea.", "It included a camera that could be moved.", "Laws were passed so that such practices could spread.",
    "If the data is not available, the function returns nothing.", "He spoke with confidence.", "I have full confidence in you.", "Use the data points to draw it.",
    "The word indicates that it is hers.", "A grain of salt is small.", "I could really use some help.", "You might like to begin.", "It was later than I thought.", "Vague titles make it difficult to find a book without more context.", "They shone so that all may see.", "The summary could be further developed.", "Years went by before these ideas could be tested.", "It is said by Popeye.",
])  # fmt: skip
def test_what_looks_like_a_marker_and_is_none(text):
    """Permission, requests, others' beliefs, how often, what is possible to do."""
    assert marker_of(text) == "<no_hedge>"


@cases(("text", "name"), [
    ("This could also be a reason.", "could"), ("He realised that it could be an opportunity.", "could"), ("A program could read the note that he wrote.", "could"),
    ("You may need another key.", "may"), ("We may know them.", "may"), ("The pattern in the numbers suggests that it is 1.", "suggest"),
    ("They are unlikely to matter.", "unlikely"), ("This is still speculative.", "speculative"), ("It looks like you are lost.", "looks like"),
    ("I have no data, so I cannot describe the roof.", "cannot describe"), ("We cannot calculate the distance without a map.", "cannot calculate"),
    ("I could not find any information on her.", "could not find"), ("No information is available about her.", "no information"),
    ("I cannot confidently give a year.", "cannot give"), ("The answer is not clear from the text.", "not clear"), ("I'm not familiar with that song.", "not familiar"),
    ("The size cannot be determined.", "cannot be determined"), ("It was Rome, as far as I recall.", "as far as I recall"), ("I don't have a confirmed date.", "not have a confirmed"),
    ("Estimates suggesting a million are old.", "suggest"), ("It was longer, suggesting that it was older.", "suggest"), ("I think about 4 million live there.", "I think"),
    ("Singer of it: Not sure, he was not in it.", "not sure"), ("A poem of this name: not aware of any.", "not aware"), ("There is no new series that I am aware of.", "that I am aware of"),
    ("It has been suggested that they left.", "suggest"), ("Its origins are a bit unclear.", "bit unclear"), ("A reasonable guess is 1960.", "reasonable guess"),
    ("I cannot browse and do not have information on her.", "not have information"),
    ("The date is **uncertain**.", "uncertain"), ("Her seemingly quiet life was none.", "seemingly"), ("The cost, if left unpaid, could double.", "could"),
    ("I don't have that date memorized, but I can look it up.", "not have that memorized"), ("I don't have her birthdate in my training data.", "not have in my data"), ("I don't have that specific score.", "not have that specific"),
    ("I don't have the exact time for the race.", "not have the exact"), ("There is no specific data available on it.", "no specific data"), ("The information about him is not readily available.", "not available"),
    ("There is not enough information to name a film.", "not enough information"), ("Further information about them could not be found.", "could not be found"), ("There is no way of knowing who won.", "no way of knowing"),
    ("I could not locate this song.", "could not locate"), ("I'm not informed about that canal.", "not informed"), ("He evidently had problems.", "evidently"), ("His question seemed to hang in the air.", "seem"), ("His question hung there, seeming to wait.", "seem"),
    ("High unemployment indicates distress.", "indicate"), ("The loss increases, indicating that the model is overfitting.", "indicate"), ("The paper suggested a link between them.", "suggest"), ("But more likely, it was Rome.", "likely"),
    ("More information would be needed to confirm that.", "more information would be needed to confirm"), ("I need more context to answer that.", "more context to answer"),
    ("I must assume that it was Rome.", "I assume"), ("That date is not in my training data.", "not in my data"), ("No canonical source I can find names him.", "no canonical source"),
    ("No specific information about her is there.", "no specific information"), ("The information on her is not found in any record.", "not found"), ("The year is not confirmed.", "not confirmed"),
    ("The sizes suggest they might be sold in bars.", None), ("It was known from studies suggesting that use could harm them.", None),
    ("I cannot provide the day of her birth.", "cannot provide"), ("I don't have the specific month.", "not have the specific"), ("He sat there, appearing to wait.", "appear"),
    ("Rare elements were found, suggesting an origin elsewhere.", "suggest"), ("The curve suggests a trade-off.", "suggest"), ("They are punctual, so being late could upset them.", "could"),
    ("It might, for example, be sold.", "might"), ("You may slip or fall.", "may"), ("It's technically possible those are processed.", "possible"), ("There's a chance Ann Lee Smith won.", "chance"),
    ("I'm guessing it was Rome.", "guessing"), ("I'm inclined to say Rome.", "inclined to say"), ("I want to say it was Rome.", "I want to say"), ("From what I understand, it was Rome.", "from what I understand"),
    ("My tentative answer is Rome.", "tentative"), ("The evidence points to Rome.", "points"), ("I recall it being Rome.", "I recall"), ("I have a vague recollection of Rome.", "vague recollection"),
    ("I have serious doubts about Rome.", "doubt"), ("With little confidence, it was Rome.", "little confidence"), ("I don't have enough confidence to answer.", "confidence"), ("Rome is a possibility.", "possibility"),
    ("If my data is correct, it was Rome.", "if my data is correct"), ("It was Rome, without question.", "without question"), ("There is insufficient information to answer.", "insufficient information"), ("The information is unavailable.", "unavailable"),
    ("Information about his early life is limited.", "limited"), ("I lack the details to answer.", "lack the details"), ("I do not possess the information.", "not possess the information"), ("There is no reliable way to verify it.", "no reliable way to verify"), ("I could prescribe something wrong.", "could"),
    ("I can't access the report right now to verify the minute.", "cannot access"), ("Further information is needed to determine who won.", "information is needed to determine"),
    ("The name is of Spanish origin, suggesting roots in Spain.", "suggest"), ("A performance has been suggested as an origin.", "suggest"), ("I do not have the ability to predict who wins.", "not have the to predict"),
    ("My best available information is that it was Rome.", "my best available information"), ("I couldn't find Rome in my database.", "could not find"), ("I couldn't validate that.", "could not validate"),
    ("A lower error indicates that the model is better.", "indicate"), ("There is a gap between the scores, indicating a wide spread.", "indicate"), ("If a firm only had little data, a tree could be used.", "could"),
    ("Over the coming years we could see a rise in prices.", "could"), ("May cause drowsiness.", "may"), ("To determine who won, we need more information.", "more information"), ("There is little information about him.", "little information"),
    ("We are not given enough information to answer.", "not enough information"), ("Additional information would need to be provided to accurately predict it.", "information would need to be to predict"),
    ("You might also like the sequel.", "might"), ("Instead of \"it was blue\", you could say more.", "could"), ("Without knowing its contents, it is difficult to sort it.", "difficult to"),
    ("Some clues suggest that he knew.", "suggest"), ("Take it with a grain of salt.", "grain of salt"), ("There seems to be no information available.", "no information"), ("It is traditionally said to be old.", "said to"), ("It is reported she was there.", "reported"),
])  # fmt: skip
def test_markers_in_their_contexts(text, name):
    """What may be, what follows from evidence, and what the writer does not know."""
    assert marker_of(text) == name


def test_markers_that_stand_together_are_one():
    """And those apart are several."""
    assert [m.name for m in find_markers("It could potentially be Rome, but I'm not sure.")] == [
        "could potentially",
        "not sure",
    ]
    assert marker_of("It may be Rome, or perhaps Athens.") is None


@given(st.text(max_size=300))
def test_any_text_is_read(text):
    """Markers lie inside the text, in order, without overlap."""
    end = 0
    for marker in find_markers(text):
        assert end <= marker.start < marker.end <= len(text)
        assert marker.name
        end = marker.end


@cases(("text", "name"), [
    ("I do not have Smith's private information.", "not have information"), ("I doubt that Anna is unlikely to win.", "doubt that is unlikely"),
    ("It is impossible for Anna to say who won.", "impossible for to say"),
])  # fmt: skip
def test_a_name_holds_no_other_word_of_its_text(text, name):
    """Audits keep names where they keep no texts."""
    assert marker_of(text) == name


@cases("name", HOSTILE)
def test_spotting_is_linear(name):
    """What a broken model repeats costs no more than ordinary text of that length."""
    assert growth(find_markers, HOSTILE[name]).is_linear


@cases("repeated", ["may ", "could not be ", "not have ", "it is possible to ", "I not think "])
def test_spotting_of_nothing_but_markers_is_linear(repeated):
    """A sentence that is one long marker, or many."""
    assert growth(find_markers, lambda n: repeated * (n // len(repeated))).is_linear


def test_too_long_a_text_is_refused():
    """At once."""
    with pytest.raises(TextTooLong):
        find_markers("may " * 1_000_000)


def test_what_people_read_in_a_marker():
    """The entry of the lexicon by the standardised name; the fitted reader where there is none; no guess where there are no words."""
    assert people_read("fairly sure").hedge.id == "i-am-fairly-sure"
    assert people_read("<no_hedge>").decisiveness == 1.0
    assert people_read("seem").hedge is None
    assert 0.4 < people_read("seem").mean < 0.8
    unknown = people_read("difficult to pinpoint")  # the reader's vocabulary has none of its words
    assert (unknown.mean, unknown.decisiveness) == (None, None)
    with pytest.raises(LexiconError):
        people_read("&")
