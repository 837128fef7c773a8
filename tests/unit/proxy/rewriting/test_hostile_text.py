"""Model text is hostile: rewriting is linear in it, and what it cannot reword it leaves alone."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest
from hypothesis import given

from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.rewriting import (
    FactGuard,
    TemplateRewriter,
    append_confidence_sentence,
    assertions,
    natural_pieces,
    reword,
    reword_sentences,
)
from hedgerow.proxy.rewriting.baselines import answer_only
from hedgerow.proxy.rewriting.claims import is_claim, may_claim
from hedgerow.proxy.rewriting.comparing import compare
from hedgerow.proxy.rewriting.doubt import doubts_of
from hedgerow.proxy.types import Rewording, Rewrite, RewriteRequest
from tests.support.hostile import HOSTILE, MARKED, NASTY, growth

RETRIEVER = Retriever(load())
TEMPLATE = TemplateRewriter()
GUARD = FactGuard(reader=None)
DOUBTS = doubts_of(GUARD.hedges)
TARGET = Beta.from_mean(0.6, 10)
HEDGES = RETRIEVER.nearest(TARGET, 5)


def _request(draft: str) -> RewriteRequest:
    return RewriteRequest("What is so?", draft, TARGET, HEDGES, language="en")


def _reword(draft: str) -> Rewording:
    return anyio.run(lambda: reword(_request(draft), rewriters=[TEMPLATE], guard=GUARD, reader=None))


def _reword_sentences(draft: str) -> Rewording:
    targets = [Beta.from_mean(0.4 if i < 3 else 0.94, 10) for i in range(len(sentences(draft)))]
    return reword_sentences("What is so?", draft, targets, nearest=lambda _, __: HEDGES, template=TEMPLATE, guard=GUARD)


READERS: dict[str, Callable[[str], object]] = {
    "strip": TEMPLATE.strippers.of("en").strip,
    "strip de": TEMPLATE.strippers.of("de").strip,
    "compare": lambda text: compare(text, text.replace("a", "b"), DOUBTS),
    "compare with another end": lambda text: compare(text, text + " I am not sure of this.", DOUBTS),
    "guard": lambda text: GUARD.check_sync(_request(text), Rewrite(text + " I think.", None)),
    "reword": _reword,
    "assertions": assertions,
    "append": lambda text: anyio.run(append_confidence_sentence, _request(text)),
    "natural_pieces": lambda text: list(natural_pieces(text)),
    "answer_only": answer_only,
    "is_claim": is_claim,
    "may_claim": may_claim,
}


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader: str) -> None:
    for make in (HOSTILE | MARKED).values():
        assert growth(READERS[reader], make).is_linear


@pytest.mark.parametrize("name", [*HOSTILE, *MARKED])
def test_time_of_sentence_by_sentence_rewording_grows_with_the_length(name: str) -> None:
    assert growth(_reword_sentences, (HOSTILE | MARKED)[name]).is_linear


@given(NASTY)
def test_a_rewording_says_the_same_or_is_the_draft(draft: str) -> None:
    done = _reword(draft)
    assert done.text == draft or GUARD.check_sync(_request(draft), Rewrite(done.text, done.hedge)).accepted
    assert "".join(natural_pieces(draft)) == draft
    assert compare(draft, draft, DOUBTS) is None
