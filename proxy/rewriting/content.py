"""Do two texts say the same words, but for words of confidence and grammar?

The rewrite's words are read along the draft's. Words of grammar may come and go, words of confidence may come; every other word
must stand there in the same order. Strict on purpose: a rewrite that says it differently is asked for again, or the template is
used. What is lost by strictness is style; what would be lost without it is facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hedgerow.lexicon.text.words import word_set
from hedgerow.proxy.rewriting.phrases import straight

_TOKEN = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
GRAMMAR = word_set(
    "a an the is are was were be been being am do does did has have had having will would shall it that there to which as so "
    "und dass ist war sind waren que qu est c es fue"
)
"""Words that carry no fact of their own; tense may shift with a modal verb."""
DOUBT = word_set(
    "likely unlikely probably possibly perhaps maybe presumably apparently seemingly certainly definitely surely undoubtedly "
    "may might could possible probable plausible conceivably supposedly potentially"
)
"""Words of confidence that may also go: a draft's own hedges."""
CORE = DOUBT | word_set(
    "think believe guess guessing suspect suppose assume imagine reckon sure certain confident confidence positive certainty know "
    "knowledge recall remember mistaken wrong right doubt doubts doubtful uncertain unsure seems seem appears appear chance chances "
    "hazard convinced inclined opinion estimate odds bet doute peut croire sicher glaube vermute denke seguro creo"
)
"""Words that are about confidence by themselves."""
COMPANIONS = word_set(
    "i my me we our say correct answer best rough educated wild tentative no far from entirely completely fully quite fairly pretty "
    "rather reasonably very really almost nearly absolutely but though although however if can could tell good fair well take grain "
    "salt of about this just only with on in case would serves memory correctly understanding idea lean toward towards honestly at "
    "all too highly somewhat more less than even for and strong high low small slim own 100 percent ich mir je me yo mi no lo"
)
"""Words that come along with them, and only with them."""
NEGATIONS = word_set("not no never none nor neither without nicht kein keine nie pas jamais non nunca ni sin")
_NEGATION_REACH = 4


def words(text: str) -> list[str]:
    """The words of a text, contractions opened ("isn't" -> "is", "not")."""
    found: list[str] = []
    for token in _TOKEN.findall(straight(text)):
        base, apostrophe, tail = token.partition("'")
        if tail.lower() == "t" and base.lower().endswith("n"):
            found += ["can" if base.lower() == "can" else "will" if base.lower() == "won" else base[:-1], "not"]
        elif token.lower() == "cannot":
            found += ["can", "not"]
        else:
            found += [base, *([tail] if apostrophe and tail.lower() not in ("s", "re", "m", "ve", "ll", "d") else [])]
    return found


def difference(draft: str, rewrite: str) -> str | None:
    """Say "added", "dropped" or "negation" where the texts say different things, None where they say the same."""
    left, right = words(draft), words(rewrite)
    position, inserted = 0, list[str]()
    for word in right:
        ahead = position
        while ahead < len(left) and _may_go(left[ahead]) and not _same(left[ahead], word):
            ahead += 1
        if ahead < len(left) and _same(left[ahead], word):
            if fault := _fault(inserted, left[position:]):
                return fault
            position, inserted = ahead + 1, []
        else:
            inserted.append(word.lower())
    return _fault(inserted, left[position:]) or _lost(left[position:])


def _fault(inserted: Sequence[str], ahead: Sequence[str]) -> str | None:
    """What is wrong with words that the rewrite has and the draft has not, at one place."""
    if all(word in GRAMMAR for word in inserted):
        return None
    for index, word in enumerate(inserted):
        if word in NEGATIONS and not CORE & set(inserted[index + 1 : index + 1 + _NEGATION_REACH]):
            return "negation"
    if CORE & set(inserted) and set(inserted) <= GRAMMAR | CORE | COMPANIONS | NEGATIONS:
        return None
    if next((word for word in ahead if not _may_go(word)), "").lower() in NEGATIONS:
        return "negation"
    return "dropped" if set(inserted) <= {word.lower() for word in ahead} else "added"


def _lost(rest: Sequence[str]) -> str | None:
    """What is wrong with words of the draft that the rewrite does not reach."""
    lost = [word.lower() for word in rest if not _may_go(word)]
    if not lost:
        return None
    return "negation" if all(word in NEGATIONS for word in lost) else "dropped"


def _may_go(word: str) -> bool:
    """Grammar and doubt may go; a capital makes grammar a part of a name ("The Caretaker") and May a month."""
    return (word in GRAMMAR and word.islower()) or (word.lower() in DOUBT and word != "May")


def _same(left: str, right: str) -> bool:
    """Equal, but for a capital at a seam; "US" and "us" are two words."""
    if left.casefold() != right.casefold():
        return False
    return left == right or (left[1:] == right[1:] and len(left) > 1) or len(left) == 1
