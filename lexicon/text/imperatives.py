"""Recognises English instructions by their start ("Boil the eggs.", "In a bowl, combine flour and sugar.").

The only list of imperatives; all parts of the program that must recognise instructions use it. No tagger: a word that
is as often a noun ("Water boils at ...", "Place names ...", "Research on sleep shows ...") counts as an instruction
only if the words after it show that it is a verb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .english import AUXILIARIES, DETERMINERS, FINITE_VERBS, PREPOSITIONS, RELATIVISERS
from .words import word_set

VERBS = word_set(
    """
    accept achieve acknowledge adapt add adjust administer adopt advertise affix align allocate allow alternate always analyse analyze announce answer
    append apply appoint approximate arrange arrive ask assemble assert assess assign assume attach attend authenticate authorize automate avoid bake
    bargain baste be bear become begin bend blanch boil borrow brainstorm braise breathe bring browse build buy calculate cancel capitalize caramelize
    carry carve categorize celebrate check choose chop cite clarify classify clench click clone close collaborate collect combine communicate compare
    compile compose compromise compute conclude configure confirm connect consider consult contact continue convert convince cook cooperate create crimp
    critique crumble cultivate customize dab deactivate debug decide declare decompress decrypt deduce define deglaze delete deliver demonstrate deploy
    derive describe deselect determine develop dial dice differentiate dig dilute disable disassemble discard disconnect discuss dislodge dispose
    dissolve diversify divide do don't donate double-click download drain draw drink drizzle dunk eat edit educate eject elevate eliminate embed embrace
    emphasize empower enable encircle encourage encrypt engage enhance enjoy enroll ensure enter enumerate erase erect establish estimate evaluate
    examine execute exhale expand expect explain explore export expose extend familiarize fasten feed feel feign fertilize fetch find flatten flex flip
    flush fold follow forget forgive formulate foster fry garnish gather gauge generate get give glue go grab grasp grate greet grill grind halve handle
    hang help highlight hire hold hope hover hydrate identify illustrate imagine immobilize implement improve include incorporate increment indicate
    infer inflate inform inhale initialise initialize inject inquire insert inspect install instantiate insure integrate interpret introduce invest
    investigate invite invoke involve irrigate iterate join jot justify keep knead kneel knit lean learn leave lend let leverage lie lift list listen
    load locate look loosen lubricate maintain make manage marinate massage maximize meditate meet melt memorize merge mince minimize mix modify move
    multiply mute navigate negotiate never normalize notify observe obtain omit optimize organise organize outline override paraphrase parboil parse
    participate pass pat peel perform persuade pinch ping place plant please pluck populate position pour practise praise predict preheat prepare
    prevent print prioritize promote prop propose protect prove provide prune publish pull puree pursue purée push put quit raise rearrange reassemble
    reassure reattach reboot recall recite recognize recommend recycle redirect reduce refactor refer reflect refrain refresh refrigerate refuse
    register reheat reinstall relax relieve reload remain remember remind remove rename render rent reopen repair repeat rephrase replace represent
    reseal reset resist resize resolve respond restart restore resume retain retry return revise rewrite right-click rinse roast rotate saute sauté save
    say scan scatter scoop scrape scroll scrub sear secure see seek select sell send serve settle sew shake share sharpen showcase shred shuffle shut
    sift simmer simplify sip sit sketch skewer skip slide smear snap soak solder solicit solve soothe sort sow speak specify spend split sprinkle squat
    squeeze squirt stand stay steep sterilize stir stop straighten strengthen strive stuff submit subscribe substitute subtract suggest summarize
    suppose suppress suspend sustain swap sweeten swipe swirl swish tailor take talk teach tell tenderize terminate thank thaw thicken think thrust tie
    tighten tilt toggle toss translate traverse trim try tuck turn tweak twist uncheck unclog uncomment underline understand undo unfold unhook unify
    uninstall unlock unmold unmute unpack unplug unroll unscrew unsubscribe untie unwrap unzip update upgrade upload use utilise utilize vacuum validate
    varnish verify visit wait wake walk wash watch wear weave weigh weld whip whisk wipe withdraw wrap wring write zoom
    """
)
"""Verbs that begin instructions in cooking, crafts, gardening, software, first aid, school, work and traffic."""
NOUNS_TOO = word_set(
    """
    account approach balance bandage bolt book call challenge change clean clear clip coat commit complete compress conduct contrast cool copy core
    count cover crack craft cream crush cube cut delegate document draft drag drill drive drop dry dust exchange exercise experiment express extract
    factor file fill filter flour focus freeze gain glaze grease ground group guess hammer heat hit honor import increase interview iron label lay lead
    light limit link lock log loop lower mash match measure microwave monitor mount nail note notice nurture offer oil open output pack paint paste
    pause pay pick picture pit plan play plug poach polish post practice press pump quarter quote rake reach read record report request research reserve
    respect rest review reward ride roll round rub run salt sand saw schedule score seal search season set shell shop show sign sleep slice smile sound
    spell spoon spray spread stack staple start state steam steer stem stick stitch store strain stretch structure study sum swallow sweep switch tap
    tape target tear test toast trace track train transfer travel treat trust type value view volunteer vote warm water welcome wish work worry
    """
)
"""Words that begin instructions but are as often nouns at the start of a sentence."""

_OBJECTS = (DETERMINERS - {"that", "both", "all"}) | word_set(
    "it them him me us you yourself all both two three four five six seven eight nine ten half up down out off away apart back aside"
)
"""Words that follow a verb and rarely a noun: "Water the plants", "Turn off"."""
_ADJUNCTS = (PREPOSITIONS - {"of", "because", "due", "than", "like"}) | word_set(
    "until till while when if whether how what where gently firmly thoroughly well again"
)
_LED_BY = word_set(
    "also additionally finally first second third fourth then next afterwards regularly carefully simply lastly secondly thirdly instead again "
    "always never please gently slowly just quickly immediately optionally otherwise now do not don't"
)
_ON_SCREEN = word_set("click select choose tap open install enable disable restart uninstall launch press")
"""Actions on things whose names are capitalised: "Click Save"."""
_TITLE = re.compile(
    r"[A-Z][\w']*(?: (?:[A-Z][\w']*|a|an|the|of|in|on|by|to|for|and|or))* [A-Z][\w']*|Put (?:simply|differently|briefly|bluntly)\b.*"
)
"""A capitalised text without a full stop ("Stand by Me"), or a fixed expression."""
_TELLS = word_set("notice note recall observe remember")
"""Ask the reader to look at what follows: "Notice that the more positive ..."."""
_STATES = word_set("stay get keep remain")
"""Verbs that may be followed by a participle: "Stay hydrated by drinking water."."""
_NUMBERS = word_set("one two three four five six seven eight nine ten")
_SUBORDINATES = RELATIVISERS | word_set("until till once before after as")
_FINITE = AUXILIARIES | FINITE_VERBS
_CLAUSE = 14
"""Number of words within which a noun at the start of a sentence has its verb."""
_LONGEST = 200
"""Number of characters that are read."""
_WORD = re.compile(r"[^\W\d_][\w'-]*|\d[\d.,]*")
_INTRODUCTION = re.compile(
    r"(?:in|on|using|with|when|if|once|after|before|to|for|while|at|from|until|as soon as|during|without|by|under|over)\b[^,.;:]{2,120}, (?=[a-z])",
    re.IGNORECASE,
)
"""A phrase that may come before the verb: "In a large bowl, combine ..."."""
_DO_NOT = re.compile(r"(?:(?:[Aa]lso|[Pp]lease|[Tt]hen|[Aa]nd|[Ss]o)\b,? )?(?:[Dd]o not|[Dd]on't) [a-z]+\b[^?]*$")
"""A prohibition, with any verb; "Don't Look Up" is a title."""


def instructs(sentence: str) -> bool:
    """Whether an English sentence, without its list marker, begins with an imperative. Reads its first 200 characters.

    >>> instructs("Boil the eggs and boil the water."), instructs("In a bowl, combine flour and sugar."), instructs("Never mix bleach with acid.")
    (True, True, True)
    >>> instructs("Water boils at 100 degrees."), instructs("Place names often end in -ton."), instructs("Kill Bill was released in 2003.")
    (False, False, False)
    """
    text = sentence[:_LONGEST].replace("’", "'")
    introduction = _INTRODUCTION.match(text)
    rest = text[introduction.end() :] if introduction else text
    words = _WORD.findall(rest)
    if _DO_NOT.match(rest):
        return True
    led = 0
    while len(words) - led > 2 and words[led].lower() in _LED_BY:
        led += 1
    forbids = any(word.lower() in ("do", "don't") for word in words[:led]) and not words[led].istitle()
    urges = any(word.lower() in ("always", "please") for word in words[:led])
    words = words[led:]
    if len(words) < 2 or _TITLE.fullmatch(text):
        return False
    first, second = words[0].lower(), words[1].lower()
    if (
        first not in VERBS | NOUNS_TOO
        or second == "of"
        or (second in AUXILIARIES and second not in ("do", "have", "be"))
    ):
        return False
    if forbids or (urges and words[0].islower()) or (first == "be" and words[1].islower()):
        return True
    return (len(words) == 2 and led > 0) or _is_verb_here(words, introduced=introduction is not None)


def _is_verb_here(words: Sequence[str], *, introduced: bool) -> bool:
    """Whether a word that may be an imperative is one here, judged by the words after it."""
    first, second = words[0].lower(), words[1].lower()
    if words[1][0].isupper() or introduced:  # "Kill Bill was released", "In football, set pieces are"
        named = first not in _ON_SCREEN and (first in NOUNS_TOO or _is_title(words))
        return not named and not _has_verb(words[1:])
    if second == "that" and first in _TELLS:
        return True
    if len(words) == 2 and first in NOUNS_TOO and second in _NUMBERS:
        return False  # "season two"
    if second in _OBJECTS:  # "Meet the Parents was released"
        return not any(word[0].isupper() for word in words[2:5]) or not _has_verb(words[1:])
    if second in _ADJUNCTS or second.endswith("ly"):
        return first not in NOUNS_TOO or not _has_verb(words[1:])
    return first in VERBS and len(words) > 2 and (first in _STATES or not _is_subject(words))


def _is_subject(words: Sequence[str]) -> bool:
    """Whether the first words are a noun phrase with its verb.

    Two nouns and a verb ("Place names often end"), or a noun and a verb ("Cook sailed to").
    """
    second, third = words[1].lower(), words[2].lower()
    if (second in FINITE_VERBS and not second.endswith("s")) or (second.endswith("ed") and third in PREPOSITIONS):
        return True
    several = second.endswith("s") and not second.endswith("ss")
    ends = third in VERBS or third in FINITE_VERBS or third in ("often", "usually", "generally", "typically")
    return third in AUXILIARIES or (third.endswith("s") and third in FINITE_VERBS) or (several and ends)


def _is_title(words: Sequence[str]) -> bool:
    """Whether all longer words have capitals: "Drive My Car"."""
    return all(word[0].isupper() for word in words if len(word) > 3)


def _has_verb(words: Sequence[str]) -> bool:
    """Whether there is a finite verb before anything that opens another clause."""
    for word in words[:_CLAUSE]:
        if word.lower() in _SUBORDINATES:
            return False
        if word.lower() in _FINITE:
            return True
    return False
