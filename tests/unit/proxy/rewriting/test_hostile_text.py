"""Model text is hostile: reading and wording are linear in it, and what cannot be worded is left alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from hedgerow.calibration import Beta
from hedgerow.lexicon import load, offered
from hedgerow.lexicon.reading.local import read
from hedgerow.proxy.rewriting import FactGuard, LocalRewriter, natural_pieces
from hedgerow.proxy.types import Rewording, Rewrite, RewriteRequest
from tests.support.hostile import HOSTILE, MARKED, NASTY, growth
from tests.support.tables import cases

LOCAL = LocalRewriter(tuple(offered(load(), voices=("impersonal", "first_person"))))
GUARD = FactGuard(reader=None)


def _request(draft: str) -> RewriteRequest:
    return RewriteRequest("What is so?", draft, Beta.from_mean(0.6, 10), (), language="en")


def _word(draft: str) -> Rewording:
    return LOCAL.word(_request(draft), read(draft, "What is so?", "en"))


READERS: dict[str, Callable[[str], object]] = {
    "guard": lambda text: GUARD.check_sync(_request(text), Rewrite(text + " I think.", None)),
    "guard with another end": lambda text: GUARD.check_sync(_request(text), Rewrite(text + " I am not sure.", None)),
    "word": _word,
    "natural_pieces": lambda text: list(natural_pieces(text)),
}


@pytest.mark.slow
@cases("reader", READERS)
def test_time_grows_with_the_length(reader: str) -> None:
    for make in (HOSTILE | MARKED).values():
        assert growth(READERS[reader], make).is_linear


@given(NASTY)
def test_a_wording_loses_nothing(draft: str) -> None:
    """Without its new words the text is the draft, but for the case of a letter; a stream of it is the text."""
    done = _word(draft)
    left = iter(done.text.casefold())
    assert done.status == "hedged" or done.text == draft
    assert all(character in left for character in draft.casefold().strip()) or done.hedge is not None
    assert "".join(natural_pieces(draft)) == draft
