"""English closed-class words and the few open-class lists needed to place a hedge.

There is no part-of-speech tagger, since a request has less than a millisecond for this. Where these lists do not
decide, callers use frames that are right for any text.
"""

from __future__ import annotations

from .words import word_set

BE = word_set("is are was were am isn't aren't wasn't weren't ain't")
HAVE = word_set("has have had hasn't haven't hadn't")
DO = word_set("do does did don't doesn't didn't")
MODALS = word_set(
    "will would can could may might must shall should cannot won't wouldn't can't couldn't mightn't mustn't shouldn't"
)
AUXILIARIES = BE | HAVE | DO | MODALS
SUBJECT_PRONOUNS = word_set("i he she it they we you this that these those there who everyone everybody nobody someone")
CERTAIN_SUBJECTS = word_set("i he she they we it there")
"""Pronouns that, at the start of a sentence, are followed by a finite verb as the next word that is no adverb."""

RELATIVISERS = word_set(
    "who whom whose which that when where why how what while because although though if unless whether"
)
CONJUNCTIVE_PREPOSITIONS = word_set("after before since until as than once")
"""Open a clause only before a pronoun ("after he was", not "after the war")."""

PAST_VERBS = word_set(
    "wrote became went took gave began knew grew drew flew sang swam chose spoke stole wore froze ate came ran died won "
    "fell kept held met sold bought brought taught fought thought caught sought told led lost meant sent spent stood "
    "understood built made said got saw sat paid lay lived worked played starred directed composed painted invented "
    "discovered founded created developed recorded released published performed produced served ruled reigned married "
    "moved retired resigned joined happened occurred appeared originated belonged remained contained included "
    "consisted featured voiced portrayed defeated conquered captured signed received earned scored hosted premiered debuted "
    "opened closed started ended lasted continued used called needed wanted believed considered "
    "achieved acted agreed aimed argued arose arrived asked attended blew broke caused ceased changed claimed clung collaborated "
    "collapsed competed concluded contributed crept decided declined departed disappeared drove embarked emerged emigrated "
    "encompassed enjoyed enlisted evolved expanded explored faced failed fled flung forbade forgave forgot gained graduated "
    "helped hid hung immigrated lacked landed managed merged migrated mistook overcame overthrew overtook passed peaked pledged "
    "qualified reacted realized refused relied relocated remarried replied resided resulted returned reunited rode sailed "
    "sank seemed shifted shook showcased showed shrank slept slid spanned sparked spawned sprang stayed stole "
    "strode strove struck struggled studied succeeded suffered surrendered survived swept swore swung threw tore toured "
    "transitioned traveled travelled tried undertook underwent urged visited volunteered voted vowed waited walked "
    "wept withdrew withstood witnessed woke"
)
PREPOSITIONS = word_set(
    "in on at by from to for with without of into over under between about around during within among across near above below "
    "behind beside beyond through throughout against toward towards per via after before since until as than because due like"
)
ADVERBS = word_set(
    "only also just still already never always often usually sometimes first then now ever even once generally typically currently "
    "mainly mostly primarily originally eventually later soon again both all each not probably perhaps maybe possibly"
)
PRESENT_VERBS = word_set(
    "eats drinks kills bears carries collects connects controls converts delivers drives enters finds flies forms helps hits hosts "
    "identifies indicates joins keeps kicks knows leaves likes loses loves manages meets moves offers opens orders passes pays "
    "prevents protects publishes reaches reads reduces releases removes returns rules sees sells sends shows speaks specializes spends "
    "supports teaches travels turns wears wins works stays separates stores states suggests reports celebrates consumes breaks "
    "absorbs allows attacks attends builds buys calls catches competes comprises creates decides defines determines "
    "discovers draws earns employs encourages ensures exceeds exhibits expands explains extends fights functions gets governs "
    "experiences cleaves regulates secretes transports stimulates fertilizes surrounds occupies "
    "means benefits refers contains consists includes occurs begins becomes originates comes goes takes gives tells says believes "
    "thinks wants exists lives lies belongs remains appears happens depends serves lasts makes plays stars sings "
    "performs portrays voices writes requires provides represents helps uses causes produces receives holds owns runs stands costs "
    "weighs measures covers borders flows rises sets grows needs tends involves describes features follows leads sits "
    "accelerates accepts accommodates accompanies achieves acknowledges acquires adapts adds adheres admits adopts advises "
    "affects agrees aligns alters amplifies analyzes announces applies approves argues arises arranges arrives asks asserts "
    "assigns assumes attains attracts avoids ceases chooses circulates cites clarifies classifies combines commits "
    "communicates compares compensates completes complicates composes computes concentrates concludes condenses conducts "
    "confirms considers constitutes continues contradicts contributes converges corresponds culminates cultivates decays "
    "declares decomposes defends delves demonstrates denies denotes depicts derives deserves destroys detects deteriorates "
    "deviates differs diminishes disappears discusses disrupts dissolves distinguishes distributes divides dominates "
    "elaborates elevates eliminates embodies emerges emits emphasizes empowers enables encompasses endures enforces engages "
    "enhances enjoys entails equals erodes establishes evaluates evaporates evokes evolves examines excels excludes "
    "executes exemplifies exerts expects expires explores exposes expresses facilitates fails feels flees flourishes "
    "focuses freezes fulfills generates ignores illustrates imagines imitates implies imposes improves incorporates infects "
    "informs inherits inhibits initiates inspires integrates intends interacts interprets introduces invades invents "
    "investigates invests invites invokes iterates justifies lacks lends maintains manifests marries melts mentions merges "
    "migrates mimics minimizes mitigates modifies motivates multiplies narrates navigates necessitates neutralizes obeys "
    "obtains operates opposes optimizes outweighs overcomes overlooks oversees owes oxidizes participates persists pertains "
    "possesses precedes predates predicts prefers prepares presides prevails prohibits promotes proposes proves provokes "
    "pursues qualifies raises reacts realizes recognizes recommends recounts recovers refines reflects refuses reinforces "
    "rejects relates relies relieves renders replaces replicates resembles resides resists resolves resonates responds "
    "restores restricts retains retires retrieves reveals revives revolves satisfies seeks seems selects settles shines "
    "showcases signifies simplifies simulates solves specifies strengthens strives submits succeeds suffers summarizes "
    "surpasses survives sustains symbolizes synthesizes tackles thins threatens thrives transcends transforms translates "
    "transmits undergoes underlies underscores understands undertakes unfolds unites utilizes vanishes varies verifies "
    "violates warms weakens widens withdraws withstands "
    "mean refer contain show consist include occur become originate belong remain exist depend attract grow"
)
FINITE_VERBS = PAST_VERBS | PRESENT_VERBS
PARTICIPLES = word_set(
    "been become begun born broken brought built bought caught chosen come done drawn driven eaten fallen felt found "
    "forgotten frozen given gone grown had heard held hidden kept known laid led left lost made meant met paid put read "
    "ridden risen run said seen sent set shown shut sold spent spoken stolen stood sung sunk sworn taken taught thought "
    "thrown told understood won worn written"
)
DETERMINERS = word_set(
    "a an the this that these those his her its their our my your some any each every no all both many most"
)
