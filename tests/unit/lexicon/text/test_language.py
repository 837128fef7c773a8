"""Language detection: short answers, answers without evidence, and languages that must not come out as English."""

from __future__ import annotations

from pathlib import Path

from hedgerow.lexicon.text.language import known_language_of, language_of
from tests.support.tables import cases

BY_THEMSELVES = [
    ("en", "It was Paris."), ("en", "Einstein flunked maths."), ("en", "東京 (Tokyo) is the capital."),
    ("en", "The film is La vita è bella by Roberto Benigni."), ("en", "Gabriel García Márquez wrote Cien años de soledad."),
    ("de", "Die Hauptstadt ist Wien."), ("de", "Ja, das stimmt."), ("de", "Die Donau mündet in das Schwarze Meer."),
    ("fr", "C'est Victor Hugo."), ("fr", "L’auteur est Victor Hugo."), ("es", "Cervantes escribió el Quijote en 1605."),
    ("it", "Dante ha scritto la Divina Commedia nel Trecento."), ("nl", "Dit is de langste rivier van het land."),
    ("pl", "Wydaje mi się, że to Kraków."), ("tr", "Bu Orhan Pamuk olabilir, ama emin değilim."), ("id", "Ibu kota Indonesia adalah Jakarta."),
    ("vi", "Thủ đô của Việt Nam là Hà Nội."), ("ja", "たぶん東京だと思います。"), ("zh", "中国的首都是北京。"), ("ko", "서울입니다."),
    ("uk", "Це був Шевченко, я думаю, і він її любив."), ("el", "Η Αθήνα."), ("he", "ירושלים"), ("th", "กรุงเทพ"), (None, "Łódź"),
]  # fmt: skip
WITH_QUESTION = [
    ("de", "Wien", "Was ist die Hauptstadt von Österreich?"), ("fr", "Le Nil", "Quel est le plus long fleuve du monde ?"),
    ("es", "Sí", "¿Es Madrid la capital de España?"), ("de", "1889", "Wann wurde der Eiffelturm gebaut?"),
    ("ja", "Tokyo", "日本の首都はどこですか？"), ("pl", "Warszawa", "Jaka jest stolica Polski?"),
    ("sv", "Stockholm", "Vad heter Sveriges huvudstad och var ligger den?"), ("pt", "Lisboa", "Qual é a capital de Portugal?"),
    ("en", "Łódź", "Which Polish city is the setting of the film?"), ("en", "Röntgen", "who discovered x rays"),
    ("en", "Der Ring des Nibelungen", "What is Wagner's cycle of four operas called?"),
    ("en", "Les Misérables", "Which musical is based on a novel by Victor Hugo?"), ("en", "Paris", ""),
    ("en", "Ludwig van Beethoven", "Who composed Für Elise?"), ("en", "Luiz Inácio Lula da Silva", "Who is the president of Brazil?"),
]  # fmt: skip


@cases(("language", "text"), BY_THEMSELVES)
def test_a_text_that_shows_its_language(language: str | None, text: str) -> None:
    assert language_of(text) == language


@cases(("language", "text", "question"), WITH_QUESTION)
def test_a_short_answer_takes_the_language_of_its_question(language: str, text: str, question: str) -> None:
    assert language_of(text, question) == language


@cases("text", ["To był Kopernik, tak się wydaje.", "東京です。", "Łódź", "Bu onun kitabı değil."])
def test_what_cannot_be_taken_apart_is_unknown(text: str) -> None:
    assert known_language_of(text) is None


SAMPLES = [
    line.split("\t")
    for line in (Path(__file__).parents[3] / "data" / "languages.tsv").read_text(encoding="utf-8").splitlines()
]
"""One or two sentences in each of some seventy languages and scripts, romanised and mixed ones, formulas of maths and chemistry."""
SIGNS = ("maths", "chemistry")


def test_no_other_language_is_taken_for_one_that_has_hedges() -> None:
    """By itself; and where the question was English, but for two whose words stand too near to others for so few."""
    other = [(code, text) for code, text in SAMPLES if code not in SIGNS]
    assert len(other) >= 70
    assert not [text for _, text in other if known_language_of(text)]
    assert [code for code, text in other if known_language_of(text, "What is it called?")] == ["gl", "no", "mixed"]


@cases("text", [text for code, text in SAMPLES if code in SIGNS])
def test_a_formula_is_in_no_foreign_language(text: str) -> None:
    assert known_language_of(text) in ("en", None)


@cases(
    "text",
    [
        "Gabriel García Márquez", "Beyoncé", "Newton discovered gravity.", "William Lewis hid Olivia on North Brother Island.", "Water boils faster uphill.", "Snow covers everything.", "São Paulo",
        "It is called Łódź.", "Joan Miró painted it.", "Iron, copper, zinc", "iPhone, iPad and eBay",
        "David W. Duclon is Cherie Johnson’s stepfather.",  # "w" is Polish
    ],
)  # fmt: skip
def test_english_with_foreign_names_stays_english(text: str) -> None:
    assert known_language_of(text, "What is it called?") == "en"


@cases(
    "name", ["Vincent van Gogh.", "Leonardo da Vinci.", "Otto von Bismarck", "Rio de Janeiro.", "José de San Martín."]
)
def test_a_name_with_small_words_takes_the_language_of_its_question(name: str) -> None:
    """Painters, poets and cities are what people ask for; a sentence about one shows its own language."""
    assert language_of(name, "Who or where was it?") == "en"
    assert language_of(name, "Wer oder wo war das?") == "de"
    assert language_of(f"Das ist {name}", "Who or where was it?") != "en"
