"""What takes longer than a few milliseconds leaves the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from hedgerow.calibration import Beta
from hedgerow.lexicon import Retriever, load
from hedgerow.proxy.clustering.support import SentenceSupport
from hedgerow.proxy.pipeline.long import claims_of_long
from hedgerow.proxy.pipeline.steps import LongAnswerPipeline
from hedgerow.proxy.pipeline.wording import reworded
from hedgerow.proxy.rewriting import Choice, FactGuard, TemplateRewriter, reword
from hedgerow.proxy.rewriting.guard import perceived_confidence
from hedgerow.proxy.types import Rewrite, RewriteRequest

RETRIEVER = Retriever(load())
SENTENCE = "The tower number {} stands in Brussels. "


class Watched:
    """Notes the thread that each part of the step runs on."""

    def __init__(self) -> None:
        self.threads: dict[str, set[str]] = {}

    def on(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            self.threads.setdefault(part, set()).add(
                "loop" if threading.current_thread() is threading.main_thread() else "worker"
            )
            return work(*arguments)

        return watched


class WatchedTemplate(TemplateRewriter):
    """A template that is watched."""

    watched: Watched

    def rewrite_sync(self, request: RewriteRequest) -> Rewrite:
        rewrite: Rewrite = self.watched.on("template", super().rewrite_sync)(request)
        return rewrite


def _threads(draft: str) -> dict[str, set[str]]:
    watched = Watched()
    template = WatchedTemplate()
    object.__setattr__(template, "watched", watched)
    guard = FactGuard(reader=watched.on("guard", perceived_confidence))
    target = Beta(6, 4)
    request = RewriteRequest("", draft, target, RETRIEVER.nearest(target, 5))
    reader = watched.on("reader", perceived_confidence)
    done = anyio.run(lambda: reword(request, rewriters=[template], guard=guard, reader=reader))
    assert done.status == "hedged"
    return watched.threads


@pytest.mark.parametrize(("count", "where"), [(1, "loop"), (100, "worker")])
def test_a_long_answer_is_worded_and_read_in_a_worker(count: int, where: str) -> None:
    """A short one is not: handing it over would take longer than the work."""
    draft = "".join(SENTENCE.format(i) for i in range(count))
    assert _threads(draft) == {part: {where} for part in ("template", "guard", "reader")}


def test_sentence_by_sentence_works_in_a_worker() -> None:
    """Reading the sentences and wording them both."""
    watched = Watched()

    by_sentence = LongAnswerPipeline(
        minimum=3, support=lambda _job, _spent: SentenceSupport(), active_map=lambda _: pytest.fail("not asked"), retriever=Choice.of(load()), k=5,
        template=TemplateRewriter(), guard=FactGuard(reader=watched.on("guard", perceived_confidence)),
    )  # fmt: skip
    draft = "".join(SENTENCE.format(i) for i in range(4)).strip()

    async def run() -> Any:
        claims = await claims_of_long(by_sentence, "", draft)
        assert claims is not None
        assert len(claims) == 4
        return await reworded(by_sentence, "", draft, [Beta.from_mean(mean, 10) for mean in (0.4, 0.9, 0.9, 0.9)])

    assert anyio.run(run).status == "hedged"
    assert watched.threads == {"guard": {"worker"}}
