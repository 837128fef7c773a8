"""The guard: nothing but the confidence may have changed."""

from __future__ import annotations

from dataclasses import dataclass

from lexicon import Hedge
from proxy.rewriting.spans import first_difference
from proxy.rewriting.strip import Stripper
from proxy.values import Rewrite, RewriteRequest, Verdict

LENGTH_FACTOR = 1.5
LENGTH_ALLOWANCE = 300
"""Characters that a hedge may add on top of the factor."""


@dataclass(frozen=True)
class FactGuard:
    """Compares what draft and rewrite say once the words of confidence are taken out of both.

    Attributes:
        hedges: the lexicon's entries; their frames are words of confidence.
    """

    hedges: tuple[Hedge, ...] = ()

    async def check(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Compare the rewrite with the draft. Never raises for bad text: bad text is a refusal."""
        return self.judge(request, rewrite)

    def judge(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """The same without the ceremony of a coroutine."""
        if not rewrite.text.strip():
            return Verdict(False, "empty", "the rewrite is empty")
        limit = LENGTH_FACTOR * len(request.draft) + LENGTH_ALLOWANCE
        if len(rewrite.text) > limit:
            return Verdict(
                False, "too_long", f"the rewrite has {len(rewrite.text)} characters; {limit:.0f} are allowed"
            )
        stripper = Stripper(self.hedges)
        kind = first_difference(stripper.strip(request.draft), stripper.strip(rewrite.text))
        if kind is not None:
            return Verdict(False, f"{kind}_changed", f"a protected {kind} of the draft was changed, dropped or added")
        return Verdict(True)
