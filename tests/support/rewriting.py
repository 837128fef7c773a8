"""Drafts, hedges and an editor for the tests of rewriting."""

from __future__ import annotations

from pathlib import Path

import anyio
import yaml

from hedgerow.calibration import Beta
from hedgerow.lexicon import Frame, Hedge, Match, Retriever, load
from hedgerow.proxy.rewriting import DirectBetaRewriter, FactGuard, TemplateRewriter, append_confidence_sentence, reword
from hedgerow.proxy.types import Rewording, RewriteRequest, Usage

GOLDEN = yaml.safe_load((Path(__file__).parents[1] / "data" / "rewriting_golden.yaml").read_text(encoding="utf-8"))
RETRIEVER = Retriever(load())
TEMPLATE = TemplateRewriter()
GUARD = FactGuard()


def only(frame: dict[str, str]) -> Match:
    """A hedge that can be said in one way."""
    ((kind, text),) = frame.items()
    return Match(Hedge("only", text, Beta(7, 3), "people", 1, (Frame(kind, text),)), 0.0)  # type: ignore[arg-type]


def word(draft: str, frame: dict[str, str], question: str = "") -> str:
    """A draft as the template words it with one frame."""
    return TEMPLATE.rewrite_sync(RewriteRequest(question, draft, Beta(7, 3), (only(frame),))).text


def request_for(draft: str, mean: float = 0.6) -> RewriteRequest:
    """A draft that is to sound as sure as this."""
    target = Beta.from_mean(mean, 10)
    return RewriteRequest("What is so?", draft, target, RETRIEVER.nearest(target, 5))


class Editor:
    """A model that answers what it is told to, and remembers what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, system: str, user: str) -> tuple[str, Usage]:
        self.asked.append((system, user))
        return self.answers.pop(0), Usage(100, 10)


def appended(request: RewriteRequest) -> Rewording:
    """The draft with a closing sentence."""
    return anyio.run(append_confidence_sentence, request)


def reworded(request: RewriteRequest, editor: Editor | None = None) -> Rewording:
    """The draft as the step words it, by an editor where there is one."""
    rewriters = [*([DirectBetaRewriter(editor)] if editor else []), TEMPLATE]
    return anyio.run(lambda: reword(request, rewriters=rewriters, guard=GUARD))
