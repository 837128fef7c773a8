"""The report on a certificate: one HTML page with a sealed JSON block, from which every figure can be recomputed.

`document` reads the audit, `page` writes the HTML, `read_page` extracts the block again, and `report_seal` verifies it
without a database.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np

from ...calibration.promises.certificate import Certificate, CertificateError, SealState, check, sign
from ...calibration.promises.watching import watch
from ..audit.maps import StoredCertificates
from ..audit.operators import Engine, read_alarms, read_changes
from ..audit.promised import count_promised
from ..audit.verify import chain_ends
from ..config import Promises, Route
from ..errors import InputError
from ..monitoring.promises import ID_LENGTH, PromiseHealth, evidence, health, rows_of
from ..types import Json
from .report.page import environment

KIND = "promises_report"
SCHEMA = 1
BLOCK = '<script type="application/json" id="hedgerow-report">'
_CLOSE = "</script>"
_FIGURES = ("labels", "share", "low", "high", "evidence")


def document(engine: Engine, route: Route, certificate: Certificate, key: bytes, made_at: datetime) -> Json:
    """The sealed block.

    It has the certificate, the state of each promise, its verdicts, alarms, changes, and the ends of the audit's hash
    chains.

    Raises:
        StoreError: the store cannot be read.
    """
    how, known = route.promises or Promises(), evidence(engine, route, certificate)
    state, judged = health(route, certificate, known), known.judged
    promises = []
    for promise, done in zip(certificate.promises, state.promises, strict=True):
        rows, wrong = rows_of(promise, judged)
        counted = promise.wish.subject != "abstain"
        columns = zip(judged.told_at[rows], wrong[rows], judged.drawn[rows], strict=True)
        verdicts = [[int(at), round(float(x), 6), round(float(p), 9)] for at, x, p in columns] if counted else []
        promises.append(_figures(done) | {"alpha": known.alpha, "least": known.least, "verdicts": verdicts})
    alarms = [each for each in read_alarms(engine, route=route.name) if each.map_id == certificate.id[:ID_LENGTH]]
    content: Json = {
        "kind": KIND,
        "schema": SCHEMA,
        "made_at": made_at.isoformat(timespec="seconds"),
        "route": route.name,
        "mode": route.mode,
        "certificate": certificate.to_dict(),
        "certificate_seal": certificate.check_seal(key),
        "since": datetime.fromtimestamp(known.since, UTC).isoformat(timespec="seconds"),
        "share": how.share,
        "kinds": list(how.kinds),
        "answers": count_promised(engine, route=route.name, certificate=certificate.id),
        "volunteered": judged.volunteered,
        "promises": promises,
        "alarms": [{"kind": a.kind, "raised": a.created_at, "cleared": a.cleared_at, "by": a.actor} for a in alarms],
        "changes": [
            {"at": c.created_at, "by": c.actor, "what": c.what, "before": c.before, "after": c.after}
            for c in read_changes(engine, route=route.name, limit=20)
        ],
        "certificates_faults": StoredCertificates(engine, key).verify(),
        "chains": chain_ends(engine, route.name),
    }
    return content | {"seal": sign(content, key)}


def _figures(done: PromiseHealth) -> Json:
    """The figures of a promise; without names of users."""
    groups = [
        {
            "by": g.by,
            "name": "one of them" if g.by == "user" else g.name,
            "labels": g.labels,
            "share": g.share,
            "low": g.low,
        }
        for g in done.groups
    ]
    named = ("promise", "sentence", "limit", "state", *_FIGURES, "threshold", "line", "one_key")
    return {name: getattr(done, name) for name in named} | {"groups": groups}


def page(content: Json) -> str:
    """The HTML page, made from the block alone."""
    block = json.dumps(content, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
    months = [_by_month(promise["verdicts"]) for promise in content["promises"]]
    template = environment().get_template("promises.html")
    certificate = Certificate.from_dict(content["certificate"])
    signed = str(content["seal"]).startswith("hmac-")
    return template.render(r=content, c=certificate, months=months, signed=signed, block=block, open=BLOCK, day=_day)


def read_page(text: str) -> Json:
    """The block of a page.

    Raises:
        InputError: there is none, or the page around it was not made from it.
    """
    start = text.find(BLOCK)
    end = text.find(_CLOSE, start)
    try:
        content = json.loads(text[start + len(BLOCK) : end]) if 0 <= start < end else None
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise InputError("the page contains no report on promises")
        same = page(content) == text
    except (ValueError, KeyError, TypeError, RecursionError, CertificateError) as error:
        raise InputError("the report in the page cannot be read") from error
    if not same:
        raise InputError(
            "the page says something else than the sealed block in it, or another version of Hedgerow wrote it"
        )
    return content


def report_seal(content: Json, key: bytes) -> SealState:
    """The state of a report's seal; for a valid one, checks that figures and certificate agree with it.

    Raises:
        CertificateError: the seal is valid, but the certificate's own seal is not, or the figures do not follow from
            the verdicts.
    """
    if (state := check(content, key)) != "valid":
        return state
    certificate = Certificate.from_dict(content["certificate"])
    if certificate.check_seal(key) != "valid":
        raise CertificateError(
            f"the seal of the report is valid, but that of the certificate {certificate.id} in it is not"
        )
    if content["certificates_faults"]:
        raise CertificateError(f"the chain of certificates was faulty: {content['certificates_faults'][0]}")
    for promise in content["promises"]:
        if promise["verdicts"] and not _follows(promise):
            raise CertificateError(
                f"the figures of {promise['promise']!r} do not follow from the verdicts in the report"
            )
    return state


def _follows(promise: Json) -> bool:
    """Whether the figures of a promise follow from its verdicts."""
    _, wrong, drawn = np.array(promise["verdicts"], dtype=np.float64).T
    again = watch(wrong, level=promise["limit"], drawn=drawn, least=promise["least"], alpha=promise["alpha"])
    figures = [float(getattr(again, name) or 0.0) for name in _FIGURES]
    kept = (
        promise["state"] in (again.state, "broken") or promise.get("one_key") is not None
    )  # an alarm remains even if its rows were purged; none is raised on one key's word
    return kept and bool(np.allclose(figures, [float(promise[name] or 0.0) for name in _FIGURES], rtol=1e-4, atol=1e-6))


def _by_month(verdicts: list[list[float]]) -> list[tuple[str, int, float]]:
    """(month, verdicts, share wrong) of each month, corrected for sampling probabilities."""
    counts: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for at, x, drawn in verdicts:
        month = f"{datetime.fromtimestamp(at, UTC):%Y-%m}"
        counts[month] += 1
        wrong[month] += x / drawn  # type: ignore[assignment]
        weights[month] += 1.0 / drawn  # type: ignore[assignment]
    return [(month, counts[month], wrong[month] / weights[month]) for month in sorted(counts)]


def _day(moment: Any) -> str:
    """A date and time in UTC."""
    when = datetime.fromisoformat(moment) if isinstance(moment, str) else datetime.fromtimestamp(moment, UTC)
    return f"{when:%Y-%m-%d %H:%M} UTC"
