"""Patterns of requests without a right or wrong answer: writing, programs, opinions, small talk. Ten languages, lower case.

Each pattern is matched from the beginning of a sentence; `MADE_AT_THE_END` is searched for.
"""

from __future__ import annotations

import re

from ...lexicon.text.words import one_of

POLITE = re.compile(
    rf"""(?:
        (?:{one_of("hi hello hey hallo hola bonjour thanks ok okay great please bitte kindly so well now and but oh ah aw aww yea yeah yep wow haha")}|thank\ you)\b[\s,.!]*(?=\S)
      | (?:can|could|would|will)\ you\ (?:please\ |help\ me\ )?(?=\w+\ (?!you))
      | i\ (?:need|want|would\ like)\ you\ to\  | i'd\ like\ you\ to\  | help\ me\ (?:to\ )?
    )*""",
    re.VERBOSE,
)
"""Polite openings of a request."""

_MADE = one_of(
    "write compose create generate build implement refactor rewrite rephrase reword paraphrase proofread summarise summarize suggest recommend brainstorm "
    "illustrate pretend role-play roleplay let's argue continue"
)
_MADE_OF_A_THING = one_of(
    "craft draft shorten polish improve edit plan design invent make imagine sing code debug fix add decorate outline persuade sketch"
)
_THING = one_of("me us my our a an the this these that it some him her them up you your now")
_MADE_ELSEWHERE = (
    r"(?:schreibe?|verfasse?|dichte|erzähle?|entwirf|erstelle?|erfinde?|fasse|formuliere?|programmiere?|übersetze? (?:den|die|das|diesen))\b",
    r"(?:écris|écrivez|rédige[rz]?|raconte|compose|invente|résume[rz]?|imagine|crée|traduis (?:le|la|ce|cette))\b",
    r"(?:escribe|escríbe|redacta|cuéntame|cuenta|inventa|resume|crea|compón|traduce (?:el|la|este|esta))(?:me|nos|lo|la|le|melo)?\b",
    r"(?:scrivi|racconta|componi|riassumi|inventa|crea|escreva|conte|resuma|crie|componha)(?:mi|ci|me|nos|te|temi|lo|la|-me)?\b",
    r"(?:напиши|сочини|расскажи|придумай|создай)\w*\b",
    r"(?:请|帮我|给我)*(?:写|创作|编|总结|讲)(?=[一个首篇段封份])",
)
MAKE = re.compile(
    "|".join(
        (
            # "write 5 as a fraction" asks for one thing, and so does 'write "..."'
            rf"(?:(?:{_MADE}|come up with|act as|let us)\b(?!-)|(?:{_MADE_OF_A_THING}|you are) {_THING}\b)"
            r"(?!\s+[\d\"“])(?!.*\bas an? (?:decimal|fraction|percentage|roman numeral|product|sum)\b)",
            r"complete (?:the|this) (?:\w+ )?(?:dialogue|conversation|story|poem|song|letter|limerick)\b",
            r"translate (?:the|this|my|following|these)",
            r"(?:tell|sing|read) (?:me |us )?(?:a|an|another|some) (?:\w+ )?(?:joke|story|poem|song|tale|riddle|fun)",
            r"(?:give|list|provide|share|offer) (?:me |us )?(?:some |a few |\w+ )?(?:ideas?|tips|advice|feedback|suggestions|examples of how|names for)",
            r"describe .*\bin the (?:style|voice|manner) of\b",
            r"i (?:need|want) (?:a|an|some) .*(?:message|letter|email|poem|speech|story|ideas?|script|slogan|text|name)",
            *_MADE_ELSEWHERE,
        )
    )
)
"""Verbs that ask for something to be written or made."""

_MADE_BY_NAME = one_of(
    "craft construct devise produce output provide describe tell propose offer develop make add rearrange organise organize teach help try select list"
)
_TEXT = one_of(
    "scene story stories poem poems limerick limericks haiku haikus sonnet sonnets verse verses lyrics dialogue dialogues role-play roleplay headline headlines slogan slogans tagline taglines "
    "tweet tweets pitch speech fictional hypothetical imagery landscape scenery meadow painting artwork simile similes advertisement scenario scenarios creative creatively vividly"
)
_TEXTS_OF_SEVERAL_WORDS = (
    r"sentences? (?:with|using|that)|opening (?:sentence|line|paragraph)|imagin\w+|(?:a|unique|main|vivid) character|card to|letter to|blog post|writing prompt|situation in which|"
    r"(?:a|the) time when|lesson plan|in the style|conversation starters?|(?:\d+|three|four|five|some) new words|(?:snack|meal|dinner|recipe|gift|party|project|business) ideas"
)
_SENSED = one_of(
    "smell taste sound feeling feel sensation emotion mood atmosphere beach sunset sunrise forest garden park room kitchen storm rainstorm snowfall view picnic dream"
)
TEXTS = re.compile(
    "|".join(
        (
            rf"(?:{_MADE_BY_NAME}|think of|give(?! (?:the|an?) (?:name|title|author|year)))\b[^.?!]{{0,100}}?\b(?:{_TEXT}|{_TEXTS_OF_SEVERAL_WORDS})\b",
            rf"describe (?:the |an? |your )(?:\w+ )?{_SENSED}\b(?= (?:of|at|in|on|from|after|before|during)\b|\W*$)",
            r"introduce (?:yourself|myself|\w+(?: \w+)?, (?:including|who|an?|the)\b)",
            # rewording of an earlier text; role play
            r"[^.?!]{0,40}\b(?:previous|earlier|last|above) (?:response|reply|answer)\b",
            r"(?:please )?(?:take on|assume|play) the role of\b|suppose you are\b|you (?:will|'ll) (?:be|act|play) ",
            r"(?:give|find|get|share|show|provide) (?:me |us )?(?:with )?(?:an? |some )?(?:\w+ )?recipes?\b|recipe (?:for|of)\b",
            r"(?:lyrics|song|poem|story|rap|koan|haiku|limerick|sonnet|fable|joke|riddle|essay) (?:for|about|of|on)\b",
            r"(?:give|list|provide|share|write) [^.?!]{0,30}\b(?:examples?|uses) of the words?\b",
            r"write (?:\d+|two|three|four|five|ten) (?:alternatives|ideas|ways|tips|sentences|lines|paragraphs|reasons)\b",
            # something that the user invented: a text, a character, data
            r"reverse engineer\b|evaluate the (?:relevan\w+|quality|effectiveness) of (?:this|the (?:given|following))\b",
            r"(?:describe|evaluate|assess|comment on|analy[sz]e) the (?:quality|theme|tone|problem|cooperation)\b[^.?!]{0,60}\b(?:provided|given|following|presented)\b",
            r"describe (?:the|an?) (?:antagonist|protagonist|hero(?:ine)?|villain)'s (?:\w+ ){0,2}(?:traits|personality|appearance|motives?)\W*$",
            r"(?:give|make) (?:me |us )?a list of items (?:representing|that represent)\b",
            r"(?:name|list|give) (?:me |us )?(?:\w+ )?positive (?:things|qualities)\b",
            r"(?:based on|given|using) [^.?!,]{1,60}, (?:please )?(?:suggest|write|create|generate|compose|come up with|make up)\b",
        )
    )
)
"""Names of texts that can be requested."""

OPINION = re.compile(
    "|".join(
        (
            r"what (?:\w+ ){1,6}(?:do|would) you (?:recommend|suggest|advise|prefer|like|enjoy|think)|what do you (?:think|make|say|like|feel|enjoy)|what(?:'s| is| are) your",
            r"how do you feel|how are you|how would you|in your opinion|would you (?:rather|like|prefer)|have you ever|should (?:i|we)\b",
            r"do you (?:like|prefer|love|enjoy|hate|think|feel|believe|want|find (?:it|this|that|them)\b|"
            r"have (?:any|an?) (?:\w+ )?(?:symptoms?|hobb(?:y|ies)|pets?|kids|plans|favou?rites?)\b)",
            r"what (?:should|shall|could|can) (?:i|we) (?:cook|wear|do|eat|say|buy|watch|read|give|write|call)|what would be an? (?:appropriate|good|suitable|polite)",
            r"maybe i(?:'ll| will| should| could| can)\b",
            r"which (?:one )?is (?:better|nicer|prettier|more fun)|(?:any|got any) (?:ideas|tips|advice)",
            r"are you (?:a |an |really )?(?:conscious|sentient|alive|human|real|happy|sad|ok|okay|there|bot|robot|ai)\b|who are you",
            r"was (?:hältst|denkst|meinst) du|magst du|gefällt dir|welche[sr]? ist dein|was ist dein|wie geht|soll ich",
            r"que penses-tu|qu'en penses|aimes-tu|quel(?:le)? est t(?:on|a)|devrais-je",
            r"¿?qu[ée] (?:opinas|piensas)|¿?te gusta|¿?cu[áa]l es tu|¿?debería",
            r"(?:che )?cosa (?:ne )?pensi|ti piace|o que você acha|你(?:觉得|喜欢|认为)|どう思|что ты думаешь|тебе нравится",
        )
    )
)

_CHAT = "|".join(
    (
        r"hi|hello|hey|howdy|yo|good (?:morning|afternoon|evening|night)|thanks?|thank you|thx|ok(?:ay)?|cool|great|nice|lol|haha+|wow|bye|goodbye",
        r"see you|sorry|welcome|cheers|what'? ?s up|sup|there|nice to meet you",
        r"hallo|guten (?:morgen|tag|abend)|danke(?: schön| sehr)?|tschüss|servus",
        r"bonjour|bonsoir|salut|merci(?: beaucoup)?|comment ça va|ça va",
        r"hola|buen[oa]s (?:d[íi]as|tardes|noches)|(?:muchas )?gracias(?: por todo)?|¿?qu[ée] tal|¿?cómo estás|adi[óo]s",
        r"ciao|grazie(?: mille)?|come stai|buongiorno|ol[áa]|obrigad[oa]|tudo bem",
        r"你好|您好|谢谢|再见|こんにちは|ありがとう\w*|おはよう\w*|привет|спасибо|здравствуй\w*|как дела",
    )
)
CHAT_ONLY = re.compile(rf"(?:(?:{_CHAT})(?:\b|(?<=\W)|$)[\s,.!?…¡¿]*)+(?:[^\W\d_]+[\s.!…]*)?")
"""Greetings and thanks, optionally with a name."""

_ASKS_WITHIN = r"(?:know (?:who|what|when|where|why|how|which|if|whether|the|more)|wonder|tell me|question)"
ABOUT_US = re.compile(
    rf"(?:i|i'm|i am|i've|i feel|my|you|you're|your|we|we're|that's|that is|this is)\b(?!.*\b{_ASKS_WITHIN}\b)"
)
_ASKS = one_of("who what when where why how which tell explain describe name give list define find solve calculate")
ECHOES = re.compile(
    r"(?:(?:oh|ah|aww?|yeah?|yep|wow|haha)\b|(?:yes|me too|same here|agreed|i agree|not really|nope|exactly|indeed|ha ha)\b(?=(?:\W+\w+){6}))"
    rf"(?!.*(?:\?|(?<!depends )(?<!depends on )(?<!no idea )\b{_ASKS}\b))",
    re.DOTALL,
)
""" "Yeah, good shoes really help." """
MADE_AT_THE_END = re.compile(
    r"(?:書|作|描|要約し|翻訳し|話し|考え)(?:いて|って|て)(?:ください|くれ|ほしい|。|$)"
    r"|(?:작성|창작|번역|요약)해(?: ?(?:줘|주|주세요|주십시오))?|(?:써|지어|만들어) ?(?:줘|주세요|주십시오)"
)
"""Requests to write or make something in Japanese and Korean, where the verb is at the end."""
