"""Render templates, and set the headers of every page. The only place of the pages that calls Jinja."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from ...calibration import Beta
from ..audit.operators import Alarm
from ..monitoring.figures import MINUS, NARROW_SPACE, dollars, percent, signed
from ..outcomes import Uncovered, explain
from ..types import Key

STATIC = Path(__file__).parent / "static"
SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with "no-referrer" browsers would not send the origin of the proxy's own forms
    "cross-origin-opener-policy": "same-origin",
}
TERMS = {
    "Faithfulness Divergence": "How surprised a reader who believed the stated confidence is by the outcome, in nats. Lower is more faithful.",
    "FD": "Faithfulness Divergence: how surprised a reader who believed the stated confidence is by the outcome, in nats. "
    "Lower is more faithful.",
    "nats": "Natural units of information: a surprise of x nats is like that of an event with probability exp(-x).",
    "smooth ECE": "Smooth expected calibration error: how far confidence and accuracy lie apart, 0 to 1. Lower is better.",
    "generalised ECE": "Expected calibration error of confidences that are distributions, in ten bins of equal width. Lower is better.",
    "W1": "1-Wasserstein distance of two distributions, 0 to 1. Smaller is nearer.",
    "raw confidence": "The share of sampled answers that agree, or another signal of theirs, before the route's calibration map.",
    "calibrated confidence": "The raw confidence corrected by the route's map, which was fitted on answers known to be right or wrong.",
    "perceived confidence": "How sure readers take a wording to be, measured on readings by people where there are any.",
    "readers": "How many people's readings the hedge's perceived confidence comes from; otherwise a model estimated it.",
    "concentration": "How narrow the distribution is, alpha + beta: as if so many answers had been observed.",
    "decisiveness": "How sure an answer sounds: 1 without a hedge, else the confidence that people perceive in its words.",
    "cMFG": "Conditional mean faithfulness: 1 - |decisiveness - confidence|, averaged within ten bins of confidence and then over bins. 1 is perfect; answers that never hedge get about 0.5.",
    "guard": "The check that a rewrite changes how sure the answer sounds, and nothing else.",
    "e-process": "Evidence that the map no longer fits, as a natural logarithm. It may be looked at any time without raising false alarms.",
    "map": "Corrects a route's raw confidence. Green: it fits. Yellow: needs attention. Grey: there is none yet.",
}
"""Explanations of the terms on the pages."""
_SURPRISE = ((0.05, "hardly surprised"), (0.5, "slightly surprised"), (2.0, "surprised"), (6.0, "very surprised"))
NEAR = 0.1
"""Largest distance between perceived and calibrated confidence that counts as fitting."""
_LARGE = ((1e12, None), (1e9, "billion"), (1e6, "million"), (1e3, "thousand"))
MINUTE, HOUR, DAY = 60, 3600, 86400


def page(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A complete page. Never cached, because it shows the present state."""
    return HTMLResponse(fragment(name, **values), status, SECURITY | {"cache-control": "no-store"})


async def rendered(name: str, **values: Any) -> HTMLResponse:
    """A page rendered in a worker thread."""
    return await anyio.to_thread.run_sync(partial(page, name, **values))


def fragment(name: str, **values: Any) -> str:
    """A rendered template; all values are escaped."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hedgerow.proxy.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "count": count,
        "places": places,
        "signed": signed,
        "dollars": dollars,
        "amount": amount,
        "ms": milliseconds,
        "beta": beta,
        "surprise": surprise,
        "belief": belief,
        "explain": explain,
        "ago": ago,
        "span": span,
        "limits": limits,
        "moment": moment,
        "iso": iso,
        "alarm": alarm_words,
        "uncovered": uncovered_words,
        "decision": decision_words,
    }
    environment.globals |= {"asset": asset, "term": term, "explained": explained, "until_midnight": until_midnight}
    return environment


@cache
def asset(name: str) -> str:
    """The address of a static file; it changes with the content, so that browsers may cache it permanently."""
    return f"/static/{name}?{hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]}"


def term(name: str, shown: str | None = None, number: float | None = None) -> Markup:
    """A term, or a value of it, with an explanation that opens by pointer, touch or keyboard.

    >>> term("guard", "checked")
    Markup('<button type="button" class="term">checked<span class="tip">The check that a rewrite changes how sure the answer sounds, and nothing else.</span></button>')
    """
    return explained(shown or name, TERMS[name] if number is None else f"{READINGS[name](number)} {TERMS[name]}")


def explained(shown: str, explanation: str) -> Markup:
    """Text with an explanation, which is part of the button's name for screen readers."""
    return Markup('<button type="button" class="term">{}<span class="tip">{}</span></button>').format(
        shown, explanation
    )


def belief(sounds: float, deserved: float) -> str:
    """What a reader does who trusts the wording of an answer, compared with its calibrated confidence.

    >>> belief(0.93, 0.71), belief(0.71, 0.71), belief(0.12, 0.4)
    ('believe it too readily', 'believe it as it deserves', 'doubt it too much')
    """
    if abs(sounds - deserved) < NEAR:
        return "believe it as it deserves"
    return "believe it too readily" if sounds > deserved else "doubt it too much"


def _of_nats(nats: float) -> str:
    if nats < 0.05:
        return f"{nats:.2f} nats: what was expected."
    return f"{nats:.1f} nats: as surprising as a 1-in-{_rounded(math.exp(min(nats, 100.0)))} event."


def _of_ten(mean: float) -> str:
    """A share as a count out of ten.

    >>> _of_ten(0.71), _of_ten(0.996), _of_ten(0.02)
    ('About 7 in 10', 'Nearly all', 'Hardly any')
    """
    tenths = round(10 * mean)
    return {0: "Hardly any", 10: "Nearly all"}.get(tenths, f"About {tenths} in 10")


READINGS: Mapping[str, Callable[[float], str]] = {
    "FD": _of_nats,
    "Faithfulness Divergence": _of_nats,
    "W1": lambda distance: f"{distance:.3f}: {100 * distance:.1f} percentage points apart on average.",
    "concentration": lambda count: f"{count:.3g}: worth {count:.3g} answers of evidence.",
    "calibrated confidence": lambda mean: f"{percent(mean)}: {_of_ten(mean).lower()} such answers should be right.",
    "raw confidence": lambda mean: (
        f"{percent(mean)}: {_of_ten(mean).lower()} of the model's answers agree with this one."
    ),
    "perceived confidence": lambda mean: (
        f"{percent(mean)}: who reads this wording expects {_of_ten(mean).lower()} such answers to be right."
    ),
    "readers": lambda count: f"{count:,.0f} people said how likely this phrase sounds to them.",
}
"""Functions that put the value of a term into plain words."""


def surprise(nats: float) -> str:
    """How surprised a reader is who believed the stated confidence.

    >>> surprise(0.02), surprise(2.5), surprise(15.48)
    ('hardly surprised', 'very surprised, as by a 1-in-12 event', 'extremely surprised, as by a 1-in-5-million event')
    """
    degree = next((word for limit, word in _SURPRISE if nats < limit), "extremely surprised")
    return degree if nats < 1.0 else f"{degree}, as by a 1-in-{_rounded(math.exp(min(nats, 100.0)))} event"


def _rounded(number: float) -> str:
    for unit, name in _LARGE:
        if number >= unit:
            return f"{number / unit:.0f}-{name}" if name else "trillions"
    return f"{number:.0f}"


def count(number: float | None) -> str:
    """A whole number with separators.

    >>> count(-12345.2)
    '−12,345'
    """
    return "–" if number is None else f"{number:,.0f}".replace("-", MINUS)


def amount(number: float, unit: str) -> str:
    """An amount of a budget.

    >>> amount(1234567, "tokens"), amount(0.25, "dollars")
    ('1,234,567', '$0.25')
    """
    return dollars(number) if unit == "dollars" else count(number)


def until_midnight() -> float:
    """Seconds until the day ends, in UTC."""
    return DAY - time.time() % DAY


def places(number: float | None, digits: int = 2) -> str:
    """A number with so many decimals.

    >>> places(-0.04)
    '−0.04'
    """
    return "–" if number is None or math.isnan(number) else f"{number:.{digits}f}".replace("-", MINUS)


def milliseconds(ms: float) -> str:
    """A duration in the unit that suits it."""
    if ms >= 1e4:
        return f"{ms / 1e3:,.1f}{NARROW_SPACE}s"
    return f"{ms:,.0f}{NARROW_SPACE}ms" if ms >= 10 else f"{ms:.1f}{NARROW_SPACE}ms"


def beta(held: Beta) -> str:
    """A Beta by its parameters."""
    return f"Beta({held.alpha:.3g}, {held.beta:.3g})"


def span(seconds: float) -> str:
    """A length of time in words."""
    for unit, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= unit:
            whole = int(seconds // unit)
            return f"{whole} {name}{'s' if whole != 1 else ''}"
    return "a moment"


def limits(key: Key) -> str:
    """The limits of a named key, as a clause."""
    held = (
        (key.requests_per_minute, "requests a minute"),
        (key.tokens_per_minute, "tokens a minute"),
        (key.concurrency, "at once"),
    )
    return ", ".join(f"{limit:,} {what}" for limit, what in held if limit is not None) or "no limits"


def ago(stamp: float) -> str:
    """How long ago a moment was."""
    return f"{span(max(0.0, time.time() - stamp))} ago"


def moment(stamp: float) -> str:
    """A moment to the minute, in UTC."""
    return datetime.fromtimestamp(stamp, UTC).strftime("%-d %b %Y, %H:%M UTC")


def iso(stamp: float) -> str:
    """A moment for machines."""
    return datetime.fromtimestamp(stamp, UTC).isoformat(timespec="seconds")


_DECISIONS = {
    "normal": "the same once spelling is set aside",
    "alias": "the same by another name",
    "containment": "one inside the other",
    "sentence": "one in the other's sentence",
    "undecided": "not decided by the rules",
    "likely": "decided by how much of one the other holds",
    "judge_late": "not judged in time",
}


def decision_words(how: str) -> str:
    """How pairs of answers were decided, as text."""
    kind, _, reason = how.partition(":")
    if kind == "veto":
        return f"apart by {reason.replace('_', ' ')}"
    return _DECISIONS.get(kind) or f"decided by {how.replace('_', ' ').replace(':', ', ')}"


def uncovered_words(code: str) -> str:
    """Why no promise covers an answer, as a sentence."""
    return Uncovered(code).sentence.replace("`", "")


def alarm_words(alarm: Alarm, *, figures: bool = True) -> str:
    """An alarm as a clause, with its figures."""
    kinds = {
        "outcomes": "confidence and outcomes no longer agree",
        "inputs": "raw confidences look unlike those of the fit",
    }
    _, _, number = alarm.kind.rpartition(" ")
    kinds["promise " + number] = f"promise {number} of the certificate is broken"
    kinds["promise group " + number] = f"promise {number} of the certificate is broken for a group of answers"
    sentence = kinds.get(alarm.kind, alarm.kind.replace("_", " "))
    if not figures:
        return sentence
    measure, limit = ("p-value", "below") if alarm.kind == "inputs" else ("evidence", "from")
    return f"{sentence} ({measure} {alarm.statistic:.3g}, alarm {limit} {alarm.threshold:.3g})"
