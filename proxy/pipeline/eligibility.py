"""What is never hedged, and why: reasons read from the request alone, and from the answers.

Two poems agree in nothing, and neither is wrong. The prompt says most of it (`asks_for_claim`), the answers the rest (`comparable`). In
doubt a request counts as asking for a claim: a needless hedge costs less than a missing one. Nothing here keeps what it read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import orjson

from hedgerow.proxy.config.kinds import SIGNALS
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.pipeline.asked import ends, wants_a_text
from hedgerow.proxy.pipeline.job import Job, asks_for_logprobs
from hedgerow.proxy.types import Json, Sample
from hedgerow.proxy.upstreams.dialects.table import DIALECTS

MAX_DEPTH = 200
"""Brackets up to which a body cannot be nested too deeply, whatever it holds."""
WORDS_OF_A_TEXT = 60
"""From so many words on, answers that all differ were not asked for one thing."""

_POLITE = re.compile(
    r"(?:(?:hi|hello|hey|hallo|hola|bonjour|thanks|thank you|ok(?:ay)?|great|please|bitte|kindly|so|well|now|and|but|oh|ah|aww?|yeah?|yep|wow|haha)\b[\s,.!]*(?=\S)|"
    r"(?:can|could|would|will) you (?:please |help me )?(?=\w+ (?!you))|i (?:need|want|would like) you to |i'd like you to |help me (?:to )?)*"
)
_MAKE = re.compile(
    r"(?:(?:write|compose|create|generate|build|implement|refactor|rewrite|rephrase|reword|paraphrase|proofread"
    r"|summari[sz]e|suggest|recommend|brainstorm|illustrate|come up with|pretend|act as|role-?play|let's|let us|argue|continue)\b(?!-)|"
    r"(?:craft|draft|shorten|polish|improve|edit|plan|design|invent|make|imagine|you are|sing|code|debug|fix|add|decorate|outline|persuade|sketch)"
    r" (?:me|us|my|our|an?|the|this|these|that|it|some|him|her|them|up|you|your|now)\b)"
    r"(?!\s+[\d\"“])(?!.*\bas an? (?:decimal|fraction|percentage|roman numeral|product|sum)\b)"
    r"|complete (?:the|this) (?:\w+ )?(?:dialogue|conversation|story|poem|song|letter|limerick)\b|translate (?:the|this|my|following|these)|(?:tell|sing|read) (?:me |us )?(?:a|an|another|some) (?:\w+ )?(?:joke|story|poem|song|tale|riddle|fun)"
    r"|(?:give|list|provide|share|offer) (?:me |us )?(?:some |a few |\w+ )?(?:ideas?|tips|advice|feedback|suggestions|examples of how|names for)"
    r"|describe .*\bin the (?:style|voice|manner) of\b|i (?:need|want) (?:a|an|some) .*(?:message|letter|email|poem|speech|story|ideas?|script|slogan|text|name)"
    r"|(?:schreibe?|verfasse?|dichte|erzähle?|entwirf|erstelle?|erfinde?|fasse|formuliere?|programmiere?|übersetze? (?:den|die|das|diesen))\b"
    r"|(?:écris|écrivez|rédige[rz]?|raconte|compose|invente|résume[rz]?|imagine|crée|traduis (?:le|la|ce|cette))\b"
    r"|(?:escribe|escríbe|redacta|cuéntame|cuenta|inventa|resume|crea|compón|traduce (?:el|la|este|esta))(?:me|nos|lo|la|le|melo)?\b"
    r"|(?:scrivi|racconta|componi|riassumi|inventa|crea|escreva|conte|resuma|crie|componha)(?:mi|ci|me|nos|te|temi|lo|la|-me)?\b"
    r"|(?:напиши|сочини|расскажи|придумай|создай)\w*\b|(?:请|帮我|给我)*(?:写|创作|编|总结|讲)(?=[一个首篇段封份])"
)
_TEXTS = re.compile(
    r"(?:(?:craft|construct|devise|produce|output|provide|describe|give(?! (?:the|an?) (?:name|title|author|year))|tell|propose|offer|develop|make|add|rearrange|organi[sz]e|teach|help|try|select|list|think of)\b[^.?!]{0,100}?"
    r"\b(?:scene|sentences? (?:with|using|that)|story|stories|poems?|limericks?|haikus?|sonnets?|verses?|lyrics|dialogues?|role-?play|headlines?|slogans?|taglines?|tweets?|pitch|speech|"
    r"opening (?:sentence|line|paragraph)|fictional|hypothetical|imagin\w+|imagery|(?:a|unique|main|vivid) character|landscape|scenery|meadow|painting|artwork|"
    r"card to|letter to|blog post|writing prompt|similes?|advertisement|scenarios?|situation in which|(?:a|the) time when|creative(?:ly)?|lesson plan|in the style|conversation starters?|(?:\d+|three|four|five|some) new words|(?:snack|meal|dinner|recipe|gift|party|project|business) ideas)\b"
    r"|[^.?!]{0,40}\b(?:previous|earlier|last|above) (?:response|reply|answer)\b|(?:please )?(?:take on|assume|play) the role of\b|suppose you are\b|you (?:will|'ll) (?:be|act|play) "
    r"|(?:give|find|get|share|show) (?:me |us )?(?:an? |some )?(?:\w+ )?recipes?\b|recipe (?:for|of)\b|(?:lyrics|song|poem|story|rap|koan|haiku|limerick|sonnet|fable|joke|riddle|essay) (?:for|about|of|on)\b|(?:give|list|provide|share|write) [^.?!]{0,30}\b(?:examples?|uses) of the words?\b|"
    r"write (?:\d+|two|three|four|five|ten) (?:alternatives|ideas|ways|tips|sentences|lines|paragraphs|reasons)\b|"
    r"(?:based on|given|using) [^.?!,]{1,60}, (?:please )?(?:suggest|write|create|generate|compose|come up with|make up)\b)"
)
"""Texts that are to be made, by their names; what was said before, to be said differently; a part to be played."""
_OPINION = re.compile(
    r"(?:what (?:\w+ ){1,6}(?:do|would) you (?:recommend|suggest|advise|prefer|like|enjoy|think)|what do you (?:think|make|say|like|feel|enjoy)|what(?:'s| is| are) your|how do you feel|how are you|how would you|in your opinion|"
    r"would you (?:rather|like|prefer)|do you (?:like|prefer|love|enjoy|hate|think|feel|believe|want|find (?:it|this|that|them)\b|have (?:any|an?) (?:\w+ )?(?:symptoms?|hobb(?:y|ies)|pets?|kids|plans|favou?rites?)\b)|have you ever|should (?:i|we)\b|"
    r"what (?:should|shall|could|can) (?:i|we) (?:cook|wear|do|eat|say|buy|watch|read|give|write|call)|what would be an? (?:appropriate|good|suitable|polite)|which (?:one )?is (?:better|nicer|prettier|more fun)|"
    r"(?:any|got any) (?:ideas|tips|advice)|are you (?:a |an |really )?(?:conscious|sentient|alive|human|real|happy|sad|ok|okay|there|bot|robot|ai)\b|"
    r"who are you|was (?:hältst|denkst|meinst) du|magst du|gefällt dir|welche[sr]? ist dein|was ist dein|wie geht|soll ich|"
    r"que penses-tu|qu'en penses|aimes-tu|quel(?:le)? est t(?:on|a)|devrais-je|¿?qu[ée] (?:opinas|piensas)|¿?te gusta|¿?cu[áa]l es tu|¿?debería|"
    r"(?:che )?cosa (?:ne )?pensi|ti piace|o que você acha|你(?:觉得|喜欢|认为)|どう思|что ты думаешь|тебе нравится)"
)
_CHAT = re.compile(
    r"(?:hi|hello|hey|howdy|yo|good (?:morning|afternoon|evening|night)|thanks?|thank you|thx|ok(?:ay)?|cool|great|nice|lol|haha+|wow|bye|goodbye|"
    r"see you|sorry|welcome|cheers|what'? ?s up|sup|there|nice to meet you|hallo|guten (?:morgen|tag|abend)|danke(?: schön| sehr)?|tschüss|servus|"
    r"bonjour|bonsoir|salut|merci(?: beaucoup)?|comment ça va|ça va|hola|buen[oa]s (?:d[íi]as|tardes|noches)|(?:muchas )?gracias(?: por todo)?|"
    r"¿?qu[ée] tal|¿?cómo estás|adi[óo]s|ciao|grazie(?: mille)?|come stai|buongiorno|ol[áa]|obrigad[oa]|tudo bem|你好|您好|谢谢|再见|"
    r"こんにちは|ありがとう\w*|おはよう\w*|привет|спасибо|здравствуй\w*|как дела)(?:\b|(?<=\W)|$)"
)
_CHAT_ONLY = re.compile(rf"(?:{_CHAT.pattern}[\s,.!?…¡¿]*)+(?:[^\W\d_]+[\s.!…]*)?")
_ABOUT_US = re.compile(
    r"(?:i|i'm|i am|i've|i feel|my|you|you're|your|we|we're|that's|that is|this is)\b(?!.*\b(?:know (?:who|what|when|where|why|how|which|if|whether|the|more)|wonder|tell me|question)\b)"
)
_ECHOES = re.compile(
    r"(?:(?:oh|ah|aww?|yeah?|yep|wow|haha)\b|(?:yes|me too|same here|agreed|i agree|not really|nope|exactly|indeed|ha ha)\b(?=(?:\W+\w+){6}))(?!.*(?:\?|\b(?:who|what|when|where|why|how|which|tell|explain|describe|name|give|list|define|find|solve|calculate)\b))",
    re.DOTALL,
)
""" "Yeah, good shoes really help." """
_MADE_AT_THE_END = re.compile(  # Japanese and Korean say at the end what is to be done
    r"(?:書|作|描|要約し|翻訳し|話し|考え)(?:いて|って|て)(?:ください|くれ|ほしい|。|$)"
    r"|(?:작성|창작|번역|요약)해(?: ?(?:줘|주|주세요|주십시오))?|(?:써|지어|만들어) ?(?:줘|주세요|주십시오)"
)
_SENTENCE = re.compile(r"(?<=[.!?。!?])\s+|\n+")


def skip_reason(job: Job) -> Reason | None:
    """Why an answer to this request is never hedged; None where it may be."""
    reason = DIALECTS[job.path].reason(job.body) or request_reason(job.path, job.chat)
    if reason is Reason.STRUCTURED_OUTPUT and job.route.structured_output == "measure":
        reason = None
    if reason is Reason.TOOL_CALLS and measures_calls(job):
        reason = None
    if reason in (Reason.SEVERAL_CHOICES, Reason.RAW_PROMPT) and measures_choices(job):
        reason = None
    if reason is not None:
        return reason
    return None if measures_calls(job) else unasked_reason(job)


def unasked_reason(job: Job) -> Reason | None:
    """`not_a_claim` where nothing is asked that could be right or wrong, and the route asks for that."""
    return Reason.NOT_A_CLAIM if job.route.claims_only and not asks_for_claim(job.question) else None


def measures_calls(job: Job) -> bool:
    """Whether calls of tools are compared, and there may be some."""
    return job.route.tool_calls == "measure" and offers_tools(job.chat)


def replaces_calls(job: Job) -> bool:
    """Whether the policy may put something else in the place of a call: the client must not have read it yet."""
    return measures_calls(job) and job.route.policy is not None and job.route.policy.calls != "pass"


def measures_choices(job: Job) -> bool:
    """Whether the choices of a request are its samples: enough of them were asked for, as the model says them, and the route's signal needs
    nothing more than they hold.
    """
    body, sampling = job.body, job.route.sampling
    n, prompt = body.get("n"), body.get("prompt", "")
    signal = job.route.signal == "semantic" or (SIGNALS[job.route.signal].needs_logprobs and asks_for_logprobs(body))
    words = isinstance(prompt, str) or (
        bool(prompt) and isinstance(prompt, list) and all(isinstance(p, str) for p in prompt)
    )
    ours = DIALECTS[job.path].several
    as_said = not (body.get("echo") or body.get("suffix") or body.get("best_of") or asks_for_structure(job.chat))
    return ours and signal and words and as_said and isinstance(n, int | float) and max(2, sampling.min_n) <= n


def is_shown_as_it_comes(job: Job) -> bool:
    """Whether a streamed answer goes on as it comes, whatever the route says of streams: it holds several choices, or log-probabilities that
    belong to its very words.
    """
    return measures_choices(job) or asks_for_logprobs(job.chat)


def request_reason(path: str, body: Json) -> Reason | None:
    """Why the form of a request forbids rewriting its answer; None where it does not."""
    if _over_one(body.get("n")) or _over_one(body.get("best_of")):
        return Reason.SEVERAL_CHOICES
    if body.get("modalities") not in (None, [], ["text"]) or body.get("audio"):
        return Reason.MEDIA
    choice = body.get("tool_choice")
    if choice == "required" or isinstance(choice, dict):
        return Reason.TOOL_CALLS
    if path == "/completions" and (not isinstance(body["prompt"], str) or body.get("echo") or body.get("suffix")):
        return Reason.RAW_PROMPT
    return Reason.STRUCTURED_OUTPUT if asks_for_structure(body) else None


def asks_for_structure(body: Json) -> bool:
    """Whether a request asks for JSON."""
    kind = body.get("response_format")
    return isinstance(kind, dict) and kind.get("type") not in (None, "text")


def _over_one(count: object) -> bool:
    """Whether a count is over one, or is not a count: then it is the upstream's to judge."""
    return count is not None and (not isinstance(count, int | float) or count > 1)


def nested_too_deep(data: bytes, body: Json) -> bool:
    """Whether a request cannot be encoded again: the encoder stops at some 250 levels, the decoder at 1,024."""
    if data.count(b"[") + data.count(b"{") < MAX_DEPTH:
        return False
    try:
        orjson.dumps(body)
    except orjson.JSONEncodeError:
        return True
    return False


def answer_reason(samples: Sequence[Sample], choices: Sequence[Json]) -> Reason | None:
    """Why these answers are not compared: a tool is to be called, or there are pictures or sound."""
    if any(sample.has_tool_calls for sample in samples):
        return Reason.TOOL_CALLS
    return Reason.MEDIA if any(_has_media(choice.get("message")) for choice in choices) else None


def draft_reason(sample: Sample) -> Reason | None:
    """Why this draft is not rewritten."""
    if sample.refusal is not None:
        return Reason.REFUSAL
    if sample.finish_reason == "content_filter":
        return Reason.CONTENT_FILTER
    text = sample.text.strip()
    if "```" in text or "~~~" in text:
        return Reason.CODE
    return Reason.STRUCTURED_OUTPUT if _is_structured(text) else None


def _has_media(message: object) -> bool:
    return isinstance(message, dict) and (bool(message.get("audio")) or isinstance(message.get("content"), list))


def _is_structured(text: str) -> bool:
    """Whether the text is a JSON object or array."""
    if not (text.startswith(("{", "[")) and text.endswith(("}", "]"))):
        return False
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def offers_tools(body: Json) -> bool:
    """Whether the answer may be a tool call: one answer is drawn first, to see."""
    return bool(body.get("tools") or body.get("functions")) and body.get("tool_choice") != "none"


def asks_for_claim(prompt: str) -> bool:
    """Whether an answer to this prompt could be right or wrong.

    >>> asks_for_claim("Who wrote the poem The Raven?"), asks_for_claim("Write a poem about a raven.")
    (True, False)
    """
    text = ends(prompt)
    if not any(c.isalnum() for c in text):
        return (
            not text
        )  # a prompt of signs alone is chit-chat; one without text (a picture, say) is not for us to judge
    sentences = [s for s in _SENTENCE.split(text) if any(c.isalnum() for c in s)]
    if any(_wants_something_made(s) for s in sentences) or _CHAT_ONLY.fullmatch(text) or _ECHOES.match(text):
        return False
    return not all(_is_talk(s) for s in sentences) and not wants_a_text(prompt)


def _wants_something_made(sentence: str) -> bool:
    bare = _bare(sentence)
    return bool(_MAKE.match(bare) or _TEXTS.match(bare) or _MADE_AT_THE_END.search(bare))


def _is_talk(sentence: str) -> bool:
    """Whether a sentence is chit-chat, asks for an opinion, or tells of the one who writes."""
    bare = _bare(sentence)
    if _OPINION.match(sentence) or _OPINION.match(bare) or _CHAT_ONLY.fullmatch(bare):
        return True
    return not bare.rstrip().endswith("?") and _ABOUT_US.match(bare) is not None


def _bare(sentence: str) -> str:
    """A sentence without what politeness puts before it."""
    polite = _POLITE.match(sentence)
    return sentence[polite.end() :].lstrip(" ,:-¡¿'\"") if polite else sentence


def comparable(answers: Sequence[str], largest: int | None) -> bool:
    """Whether answers that came can be compared: most say something, most do not ask back, and they are not long texts that all differ.

    Args:
        answers: the texts that were compared.
        largest: size of their largest cluster; None where long answers are compared sentence by sentence.
    """
    asking = sum(answer.rstrip(" \n*\"')").endswith(("?", "\uff1f")) for answer in answers)
    silent = sum(not any(c.isalnum() for c in answer) for answer in answers)
    if 2 * asking > len(answers) or 2 * silent > len(answers):
        return False
    long = all(len(answer.split()) >= WORDS_OF_A_TEXT for answer in answers)
    return not (long and largest == 1 and len(answers) > 1)
