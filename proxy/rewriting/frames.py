"""Puts a hedge into a sentence by one of its frames and adjusts the capitals; None where the frame does not fit.

Also: the hedges of a language, and their distance from a target.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...calibration import Beta
from ...lexicon import NO_HEDGE, Frame, Hedge, Lexicon, Match, load, offered
from ...lexicon.text.english import BE, CLOSED_CLASS, HAVE, PLAIN_OPENERS, SUBJECT_PRONOUNS
from ...lexicon.text.language import grammar
from ...lexicon.text.shape import Shape
from .distances import distance
from .works import begins_with_title

_IN_TITLES = (SUBJECT_PRONOUNS | BE | HAVE) - {"i", "who", "am"}
"""Function words that are capitalised only in titles of works and not in names such as "the Who"."""
_REST_OF_TITLE = re.compile(
    rf"(?:\s+[A-Z][a-z]+){{0,4}}?\s+(?:{'|'.join(sorted(word.capitalize() for word in _IN_TITLES))})\b"
)
_NEXT_NAME = re.compile(r"\s+[A-Z][\w'’]*")
_FIRST_WORD = re.compile(r"^([*_\"“”'‘«„(\[]*)([^\W\d_]+)(['’][^\W\d_]+)?")
_TITLE = re.compile(r"^[*_]*An?\s+(?:[A-Z][\w'’-]*\s+(?:(?:of|the|and|in|to|for|on)\s+)*)+[A-Z][\w'’-]*[*_]*[.!]?$")
_LETTER = re.compile(r"\s+(?:is|was|has|had|and|or|equals|can|does|did)\b|[,.]")
_GERUND = re.compile(
    r"[*_]*[A-Z][a-z]+ing (?:a|an|the|this|that|these|your|their|its|to|with|more|too|enough|such|both|all|for|regularly)\b"
)
"""An "-ing" word with an object ("Managing a patient ..."): a verb, not a name ("Beijing is ...")."""
_ABSTRACT = re.compile(r"[A-Z][a-z]+(?:ities|lties|ness|tions|sions|ments|ologists|isms|ships|ancies|encies)")
"""Words with endings that are rare in names: "Difficulties", "Archaeologists"."""
_DENIAL = re.compile(
    r"\b(?:doubt|doubtful|not|surprised|unlikely|improbable|inconceivable|remotely|barely|whether|"
    r"(?:little|slight|small|slim|remote|low|outside|no|any|tiny|faint) (?:chance|probability|possibility)|slight)\b"
)
_SAYS_NO = re.compile(r"(?:not|nicht|pas)\s", re.IGNORECASE)
"""Starts with a negation, which would combine with a hedge before it: "Probably not an answer"."""
_HANGS_ON = re.compile(r"(?:and|though|but|although|aber|mais|pero|aunque) |to be taken", re.IGNORECASE)
_VOWELS = frozenset("aeiouyàâéèêëîïôûù")
_SPEAKER = re.compile(r"(?:I|we|it|je|ich|yo) |or so", re.IGNORECASE)
KEPT_INSIDE = frozenset(
    {"clearly", "absolutely", "definitively", "obviously", "potentially", "likely", "assuredly", "plausibly"}
)
"""Adverbs that inside a sentence rarely express the speaker's confidence ("clearly visible", "the likely cause").

They are inserted and removed only at the start of a sentence.
"""

NOT_PUT_INSIDE = KEPT_INSIDE | {"maybe"}
"""Removed where a draft has them, but not inserted: "it will maybe die" is not good English."""


PLAIN_FROM = 0.9
"""Calibrated mean from which an answer stays unchanged: a plain statement already sounds as sure."""
WORDS_WITHOUT_STOP = 12
"""Number of words up to which a text without a full stop counts as complete."""
LOW = 0.25
"""Calibrated mean up to which no hedge is inserted: a statement with a denial would contradict itself."""


def is_plain(target: Beta, matches: Sequence[Match]) -> bool:
    """Whether an answer of this confidence should stay unchanged."""
    nearest = matches[0].hedge
    is_booster = nearest.beta.mean > lexicon_of("en")[NO_HEDGE].beta.mean
    return nearest.is_plain or (target.mean >= PLAIN_FROM and not is_booster)


@lru_cache(maxsize=8)
def lexicon_of(language: str) -> Lexicon:
    """The shipped hedges of a language."""
    return load(language=language)


def nearest_foreign(language: str, target: Beta, k: int) -> tuple[Match, ...]:
    """The k nearest hedges of a language other than English; each has only about a dozen, so all are compared."""
    hedges = offered(lexicon_of(language)).hedges
    return tuple(sorted((Match(h, distance(h.beta, target)) for h in hedges), key=lambda match: match.distance)[:k])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context of a sentence, used to tell names from common words.

    Attributes:
        question: the user's; "Do humans ...?" shows that "Humans" is not a name.
        rest: the other sentences of the answer.
        language: "en", "de", "fr" or "es".
    """

    question: str = ""
    rest: str = ""
    language: str = "en"


def capitalise(text: str) -> str:
    """The text with its first letter in upper case, after any leading markup and brackets."""
    match = re.match(r"^[*_(\[¿¡]*", text)
    start = match.end() if match else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def lowers(text: str, around: Surroundings) -> bool | None:
    """Whether the first letter may be in lower case; None where it is unclear if the word is a name."""
    match = _FIRST_WORD.match(text)
    if match is None or not match.group(2)[0].isupper():
        return True
    mark, word, tail = match.groups()
    if any(quote in mark for quote in "\"“”'‘«„") or (len(word) > 1 and not word[1:].islower()):
        return False
    if around.language != "en":
        return word.lower() in grammar(around.language).small or (bool(tail) and len(word) <= 2) or None
    if begins_with_title(text, around.question):
        return False  # "The Lightning Thief", "My Fair Lady opened in 1956."
    if word == "I" or _TITLE.match(text) or (len(word) == 1 and text[match.end() : match.end() + 1] == "."):
        return False
    if word == "A" and (_LETTER.match(text, match.end()) or not text[match.end() :].strip(" .*_)")):
        return False  # "A is the grandfather of C.", and an answer that is a letter alone
    if _REST_OF_TITLE.match(text, match.end()):
        return False  # "When We Were Kings", "How Deep Is Your Love"
    following = _NEXT_NAME.match(text, match.end())
    if following and re.search(rf"(?<=[a-z,] ){word}{re.escape(following[0])}\b", f"{around.question}\n{around.rest}"):
        return False  # "The Others", which is capitalised inside a sentence elsewhere
    if word.lower() in PLAIN_OPENERS:
        return word.lower() in CLOSED_CLASS or not re.match(r"\s+[A-Z]", text[match.end() :])  # "Red" in "Red Sea"
    if _GERUND.match(text) or (_ABSTRACT.fullmatch(word) and text[match.end() :][:2].strip().islower()):
        return True
    if re.match(r" [A-Z]", text[match.end() :]):
        return None  # "Costa Brava": two capitals may be a name, even if the first word occurs in lower case
    return _witness(word, "\n".join(text for text in (around.question, around.rest) if _minds_case(text)))


def decapitalise(text: str, around: Surroundings) -> str:
    """The text for use inside a sentence: its first letter in lower case where that is safe."""
    match = _FIRST_WORD.match(text)
    if match is None or lowers(text, around) is not True:
        return text
    start = match.start(2)
    return text[:start] + text[start].lower() + text[start + 1 :]


def _minds_case(text: str) -> bool:
    """Whether the text has any capitals; without, its lower case says nothing about names."""
    return bool(re.search(r"[A-Z]", text))


def _witness(word: str, text: str) -> bool | None:
    if re.search(rf"(?<![\w.]){re.escape(word.lower().removesuffix('s'))}s?(?!\w)", text):
        return True
    if re.search(rf"(?<=[\w,] ){re.escape(word)}(?!\w)", text):
        return False
    return None


def denies(frame: Frame) -> bool:
    """Whether the frame denies the answer instead of hedging it ("it is unlikely that ...", "probably not ...").

    In a draft these words are part of the content, so they are neither inserted nor removed.
    """
    if frame.kind not in ("clause", "fragment"):
        return False
    opening = frame.text.partition("{")[0].rstrip(" ,:")
    return bool(_DENIAL.search(opening)) and not opening.endswith(("but", "aber", "mais", "pero"))


def usable(hedge: Hedge) -> tuple[Frame, ...]:
    """The frames of a hedge that do not deny the answer."""
    return tuple(frame for frame in hedge.frames if not denies(frame))


def apply(frame: Frame, shape: Shape, around: Surroundings) -> str | None:
    """The sentence with the hedge in it, or None where this frame cannot take this sentence."""
    if shape.kind in ("none", "question") or (_SAYS_NO.match(shape.body) and _joins(frame)):
        return None
    make = {
        "clause": _clause,
        "fragment": _fragment,
        "adverb": _adverb,
        "modal": _modal,
        "parenthetical": _parenthetical,
        "closing": _closing,
        "lead": _lead,
    }[frame.kind]
    return make(frame.text, shape, around)


def _joins(frame: Frame) -> bool:
    """Whether the frame comes directly before the sentence, so that it would combine with a "not" at its start."""
    return frame.kind not in ("closing", "lead") and " that {clause}" not in frame.text


def disturbs_start(text: str, shape: Shape) -> bool:
    """Whether the hedge comes before the body, so that the case of the body's first letter matters."""
    return not text.startswith(shape.head + shape.body[:12].partition(" ")[0])


def _clause(text: str, shape: Shape, around: Surroundings) -> str | None:
    before_verb = shape.body[: shape.adverb_at or 0]
    if shape.kind != "clause" or _EXPLAINS_A_WORD.match(shape.body) or _AFTER_LABEL.search(before_verb):
        return None
    if text.endswith(" that {clause}") and shape.body[:5].lower() in ("that ", "that'", "that’"):
        return None
    opening = text.partition("{clause}")[0].rstrip(" ,")
    if around.language == "en" and (_REPORTS if " " in opening else _LEADS_IN).match(shape.body):
        return None
    if shape.head and opening.endswith((" but", " aber", " mais", " pero")):
        if shape.goes_on:
            return None  # "I am not certain, but therefore, ..."
        answer = decapitalise(shape.head + shape.body, around)
        return capitalise(text.replace("{clause}", answer)) + _full_stop(shape, around)
    body = decapitalise(shape.body, around)
    if around.language == "fr" and opening.endswith(" que") and body[:1].lower() in _VOWELS:
        return _opened(text.replace("e {clause}", "'" + body), shape, _full_stop(shape, around))
    return _opened(text.replace("{clause}", body), shape, _full_stop(shape, around))


def _fragment(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind != "fragment" or shape.head or _NO_SUBJECT.match(shape.body):
        return None
    opening, _, rest = text.partition("{fragment}")
    if (
        shape.unsure
        and opening.rstrip().endswith((" be", "likely"))
        and " " not in opening.rstrip().removesuffix(" be")
    ):
        return None  # "Likely, people who trust can cross the sea"
    if not opening:
        closed = shape.body.endswith((",", ";")) or (shape.stopped and not shape.end and not shape.body.endswith("."))
        return (
            None
            if closed or _is_list(shape)
            else shape.body + rest + (shape.end or ("" if around.rest.strip() and not shape.stopped else "."))
        )
    end = _full_stop(shape, around) if " " in opening.strip() else shape.end
    manner = opening.rstrip()
    if shape.unsure and manner.endswith(" be"):
        return None  # "It may well be this encourages responsible use."
    if around.language == "en" and manner and _LEADS_IN.match(shape.body):
        return None
    if manner and not manner.endswith((",", "is", "be", ":")):
        opening = f"{manner}{_comma(manner, shape, around)} "
    return capitalise(opening) + decapitalise(shape.body, around) + rest + end


def _adverb(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind == "fragment" and _NO_SUBJECT.match(shape.body):
        return None
    if shape.kind == "fragment" and not shape.head:
        end = _full_stop(shape, around) if " " in text else shape.end
        if around.language == "en" and _LEADS_IN.match(shape.body):
            return None  # "Possibly after leaving Carthage, Aeneas sailed"
        comma = _comma(text, shape, around)
        return capitalise(f"{text}{comma} {decapitalise(shape.body, around)}") + end  # "Most likely, new crust forms."
    if shape.adverb_at is None:
        return None
    left, right = shape.body[: shape.adverb_at].rstrip(), shape.body[shape.adverb_at :]
    if text in NOT_PUT_INSIDE and not (text == "likely" and _AFTER_BE.search(left)):
        return None
    if around.language == "en" and _NO_ADVERB_AFTER.search(left):
        return None  # "instructions to possibly do things", "other quite possibly developed countries"
    if (left.endswith(",") and _AMONG_NOUNS.match(right)) or _SAID_IN_PASSING.search(left):
        return None
    twice = _GENERALISES.match(right) or (left.endswith((" can", " could")) and _POSSIBLY.search(text))
    if twice or _MANNER.search(left) or not right.strip("*_ :") or right.startswith((",", ":")):
        return None  # "typically presumably involves"
    return shape.head + f"{left} {text} {right}".rstrip() + shape.end


_AMONG_NOUNS = re.compile(r"\w+,? (?:and|or)\b")
"""A noun that could also be a verb ("causes" in "the patterns, causes, and effects")."""
_LEADS_IN = re.compile(
    r"(?:after|before|when|while|since|as|if|because|although|once|in addition|during|following|throughout|according to|based on|besides|despite|prior to|from a(?:n early| young) age)\b[^,]{0,160},"
    r"|[a-z]{3,20}ly,",
    re.IGNORECASE,
)
"""An introductory phrase; an adverb before it would be read as modifying only that phrase."""
_EXPLAINS_A_WORD = re.compile(r"[\"“][^\"”]{1,40}[\"”] (?:indicates?|means?|refers?|denotes?|stands? for|is used)\b")
"""A sentence about a word: '"There" indicates a place.' A hedge before it would seem to belong to the quotation."""
_AFTER_LABEL = re.compile(r": | [–—-] ")
"""A label: "Natural language processing – models are used ..."; a hedge before it would seem to doubt the label."""
_PRONOUN = re.compile(r"(?:this|that|these|those|it|he|she|they|we|you)\b", re.IGNORECASE)
_NO_SUBJECT = re.compile(r"(?:is|are|was|were|has|have|had) (?!it\b|he\b|she\b|they\b|there\b|this\b)[a-z]")
"""Continues the question, which has the subject: "is an American actor ..."."""
_REPORTS = re.compile(r"(?:according to|based on|as of)\b[^,]{1,160},", re.IGNORECASE)
"""Names a source; "there is a chance that according to ..." would doubt the source."""
_OPENS_A_NAME = re.compile(
    r"[*_\"“]*(?:the|an?|his|her|its|their|it|he|she|they|this|these|those|there|in|on|at|by|to|from)\b", re.IGNORECASE
)
_NO_ADVERB_AFTER = re.compile(
    r"\b(?:to|other|these|those|many|most|some|all|the|an?|this|its|their|his|her|our|your|of|and|or|(?:word|term|name|character|person|song|film|movie|one) you(?:['’]re| are))$",
    re.IGNORECASE,
)


def _comma(text: str, shape: Shape, around: Surroundings) -> str:
    """The comma between an adverb and a possible clause: "Possibly, gradual changes help"."""
    if not shape.unsure or around.language != "en":
        return ""
    short = " " not in text
    bare = short and (
        text in ("perhaps", "maybe") or _OPENS_A_NAME.match(shape.body) or lowers(shape.body, around) is not True
    )
    return "" if bare else ","


_SAID_IN_PASSING = re.compile(r"\b(?:claiming|saying|arguing|alleging|stating|suggesting|believing|thinking)\b")
"""Reported speech in a participle: "They avoid suits, claiming the information is mere gossip" is their claim."""
_GENERALISES = re.compile(
    r"(?:typically|usually|generally|often|commonly|mostly|mainly|primarily|sometimes|not (?:necessarily|always|entirely))\b"
)
"""Words that take no further adverb before them: "are quite possibly typically characterized"."""
_POSSIBLY = re.compile(r"\b(?:possibly|perhaps|maybe|conceivably)\b")
"""Repeats the meaning of "can": "can quite possibly cause"."""
_INFINITIVES = {"is": "be", "are": "be", "'s": "be", "'re": "be", "was": "have been", "were": "have been"}
_BE = re.compile(r"(?<![\w'’])(is|are|was|were)\s+$|(?<=\w)['’](s|re)\s+$")


def _modal(text: str, shape: Shape, around: Surroundings) -> str | None:
    """Insert a modal, only beside a form of "be": "It was Paris." -> "It may have been Paris."

    "be likely to" gives "It is likely to have been Paris."
    """
    del around
    if shape.kind != "clause" or shape.adverb_at is None:
        return None
    left, right = shape.body[: shape.adverb_at], shape.body[shape.adverb_at :]
    if (
        not right.strip("*_ :")
        or (verb := _BE.search(left)) is None
        or (_NO_INFINITIVE.match(right) and not (_EXISTS.search(left) and right.startswith("no ")))
        or _SAID_IN_PASSING.search(left)
        or _SAID_BY_ONE.search(left[: verb.start()])
    ):
        return None
    form = (verb.group(1) or f"'{verb.group(2)}").lower()
    subject = left[: verb.start()].rstrip()
    if form == "'s" and not _CONTRACTING.search(subject):
        return None  # "Paris's" and "what's" cannot be taken apart
    plural = form in ("are", "were", "'re")
    verb_phrase = f"{_conjugated(text, plural)} {_INFINITIVES[form]}"
    return f"{shape.head}{subject} {verb_phrase} {right}".rstrip() + shape.end


_NO_INFINITIVE = re.compile(
    r"(?:to|able|going|about|there|it|been|both|all|each|also|already|still|often|usually|generally|commonly|never|always|not|no|\w+ly)\b",
    re.IGNORECASE,
)
_EXISTS = re.compile(r"\b[Tt]here\s+(?:is|are|was|were)\s+$")
""""There may be no cure" reads better than "There is possibly no cure"."""
_AFTER_BE = re.compile(r"(?:\b(?:is|are|was|were)|['’](?:s|re))$")
_MANNER = re.compile(r"\b(?:(?!only\b)[A-Za-z][a-z]*ly|never|ever|always|often|seldom|also|still|just|even)$")
"""An adverb directly before the place for the hedge."""
_SAID_BY_ONE = re.compile(r"(?:^|\s)(?:I|who|which|that|what|where|when|how|here)\s*$", re.IGNORECASE)
_CONTRACTING = re.compile(r"(?:^|\s)(?:it|he|she|there)$", re.IGNORECASE)


def _conjugated(text: str, plural: bool) -> str:
    """The verb before an infinitive, in the present tense: "may", "are likely to", "appears to"."""
    first, _, rest = text.partition(" ")
    if first == "be":
        return f"{'are' if plural else 'is'} {rest}"
    return text if plural or first not in ("appear", "seem") else f"{first}s {rest}"


def _parenthetical(text: str, shape: Shape, around: Surroundings) -> str | None:
    if shape.kind != "clause" or _HANGS_ON.match(text):
        return None
    inside = shape.adverb_at is not None and "," not in shape.body[: shape.adverb_at]
    if inside and (_SPEAKER.match(text) or lowers(shape.body, around) is not True):
        left, right = shape.body[: shape.adverb_at].rstrip(), shape.body[shape.adverb_at :]
        if not right or left.lower() in SUBJECT_PRONOUNS:
            return None
        return f"{shape.head}{left}, {text}, {right}{shape.end}"
    if _SPEAKER.match(text) or around.language == "de":  # in German the verb would have to come before its subject
        return None
    return _opened(f"{text}, {decapitalise(shape.body, around)}", shape, shape.end)


def _closing(text: str, shape: Shape, around: Surroundings) -> str | None:
    del around
    if (
        _is_list(shape)
        or shape.end not in ("", ".", "!")
        or (shape.stopped and not shape.end and not shape.body.endswith("."))
    ):
        return None
    return f"{shape.head}{shape.body}, {text}."


def _lead(text: str, shape: Shape, around: Surroundings) -> str | None:
    if _is_list(shape):
        return None
    opening, _, rest = text.partition("{answer}")
    body = shape.head + shape.body
    if not opening.rstrip().endswith((".", ":", "!", "?")):
        body = decapitalise(body, around)
    return capitalise(opening) + body + rest + _full_stop(shape, around)


def _opened(text: str, shape: Shape, end: str) -> str:
    """Put the text after a head such as "Yes, ", or else at the start of the sentence with a capital."""
    leads_on = shape.head and not shape.head.rstrip().endswith((".", "!"))
    return shape.head + (text if leads_on else capitalise(text)) + end


def _full_stop(shape: Shape, around: Surroundings) -> str:
    """The end of a full sentence: its own, or a full stop if the sentence is alone, has none and is not broken off."""
    open_end = _is_list(shape) or around.rest.strip() or breaks_off(shape.body)
    return shape.end if shape.stopped or open_end else "."


def breaks_off(text: str) -> bool:
    """Whether a text without a full stop is probably broken off ("Senator David Mc.") rather than a short answer.

    A full stop must not be added to it.
    """
    return len(text.split()) > WORDS_WITHOUT_STOP


def _is_list(shape: Shape) -> bool:
    """Whether the body ends with a colon: something follows, so nothing may be appended."""
    return shape.body.endswith(":")
