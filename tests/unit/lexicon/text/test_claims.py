"""What a text claims: where a sentence says several things, what lists and tables say, and of whom."""

from __future__ import annotations

from hedgerow.lexicon.text.claims import MOST, claims
from hedgerow.lexicon.text.clauses import clauses, subject_of
from hedgerow.lexicon.text.sentences import sentences
from tests.support.tables import cases


def parts(sentence: str, language: str = "en") -> list[tuple[str, str]]:
    return [(sentence[part.start : part.end], part.subject) for part in clauses(sentence, language)]


def test_two_verbs_of_one_subject_are_two_claims() -> None:
    assert parts("Marie Curie was born in Warsaw in 1867 and died in Passy in 1934.") == [
        ("Marie Curie was born in Warsaw in 1867", ""),
        ("died in Passy in 1934.", "Marie Curie"),
    ]


def test_a_pronoun_after_a_comma_begins_a_claim_on_the_same_subject() -> None:
    assert parts("Born in 1876, in Karachi, Jinnah was a lawyer, and he led the League; he died in 1948.") == [
        ("Born in 1876, in Karachi, Jinnah was a lawyer", ""),
        ("he led the League", "Jinnah"),
        ("he died in 1948.", "Jinnah"),
    ]


def test_a_clause_with_a_subject_of_its_own_needs_none() -> None:
    assert parts("The tower was opened in 1889, but the lifts were finished in 1890.")[1] == (
        "the lifts were finished in 1890.",
        "",
    )


@cases(
    "sentence",
    [
        "She wrote novels and plays about women.",  # a noun that looks like a verb, in another tense
        "The film was written and directed by Nolan in 2010.",
        "If water boils at 100 degrees and it is heated further, it turns to steam.",
        "It is both the largest planet and was the first to be found.",
        'He sang "Now and then he was here; and he was gone" in 1990.',
        "In 1990 Rome, Paris, and London were among its members.",
        "Firms that can show a record of it are likely to command higher fees and attract more business.",
        "It could go deeper into the stones used in Sweden, the problems faced there, and the methods used in the care of them.",
        "Rome and Paris.",
    ],
)
def test_what_would_lose_its_sense_stays_whole(sentence: str) -> None:
    assert parts(sentence) == [(sentence, "")]


def test_a_verb_behind_a_described_noun_begins_a_claim() -> None:
    assert len(parts("The tower was opened in 1889, and the methods used in its lifts were new at the time.")) == 2
    assert len(parts("The firm sells tools in Rome and makes parts for the trade.")) == 2


def test_other_languages_are_split_at_semicolons_alone() -> None:
    assert len(parts("Sie wurde in Rom geboren und starb in Paris.", "de")) == 1
    assert len(parts("Sie wurde in Rom geboren; sie starb 1934 in Paris.", "de")) == 2


def test_the_subject_is_what_stands_before_the_verb() -> None:
    assert subject_of("Marie Curie, who was born in Warsaw, won two prizes.") == "Marie Curie"
    assert subject_of("Throughout his career, Burgess also taught at Bonn.") == "Burgess"
    assert subject_of("A list of names.") == ""
    assert subject_of("However, Burgess taught at Bonn.") == "Burgess"
    assert subject_of("However, there are a few other methods.") == ""


ANSWER = """# Marie Curie

Marie Curie was born in Warsaw in 1867. She moved to Paris in 1891.

Her discoveries:
- Polonium (1898)
- **Radium**: found in 1898 with Pierre.

| country | capital | people |
|:--|---|--:|
| France | Paris | 68 million |
| Peru | Lima | n/a |

```
code = 1
```
> She said so.
"""


def test_lists_and_tables_carry_what_they_are_about() -> None:
    found = {claim.text: (claim.kind, claim.context) for claim in claims(ANSWER)}
    assert found["She moved to Paris in 1891."] == ("sentence", "Marie Curie")
    assert found["Polonium (1898)"] == ("item", "Her discoveries")
    assert found["found in 1898 with Pierre."] == ("item", "Her discoveries, Radium")
    assert found["Paris"] == ("cell", "France, capital")
    assert found["68 million"] == ("cell", "France, people")
    assert found["Lima"] == ("cell", "Peru, capital")
    assert not {"France", "capital", "n/a", "code = 1", "She said so.", "Marie Curie"} & found.keys()


def test_a_claim_knows_its_sentence_and_its_place() -> None:
    for claim in claims(ANSWER):
        assert ANSWER[claim.start : claim.end] == claim.text
        assert (claim.sentence is None) == (claim.kind == "cell")
        assert claim.sentence is None or claim.text in sentences(ANSWER)[claim.sentence]


def test_a_table_without_names_of_columns_says_its_rows() -> None:
    assert [claim.statement for claim in claims("| France | Paris |\n| Peru | Lima |")] == [
        "France: Paris",
        "Peru: Lima",
    ]


def test_what_says_nothing_is_left_out_before_it_is_split() -> None:
    asked = []

    def says(text: str, kind: str) -> bool:
        asked.append((text, kind))
        return "Rome" in text

    text = "Here is what I know. She was born in Rome and died in Paris in 1934.\n\n1. Rome it is."
    assert [claim.text for claim in claims(text, says)] == [
        "She was born in Rome",
        "died in Paris in 1934.",
        "Rome it is.",
    ]
    assert asked[1] == ("She was born in Rome and died in Paris in 1934.", "sentence")
    assert asked[2][1] == "item"


def test_no_more_claims_are_found_than_can_be_measured() -> None:
    assert len(claims("He was born in 1900. " * 300)) == MOST
