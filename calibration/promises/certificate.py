"""The certificate of promises: thresholds, promises, data and assumptions, with a seal. Immutable.

At serving, a certificate decides what is sent plain, hedged or not at all; the sets of answers in its promises are
exactly those that `decide` and `word_at` produce from a calibrated confidence.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from math import isfinite, nextafter
from typing import Any, Literal

from ..errors import CalibrationError, RangeError
from .wishes import Wish

# The seal of a JSON object, over everything but itself: an HMAC with the audit's hash key, or a checksum without one.

SealState = Literal["valid", "altered", "needs_key"]


def sign(body: Mapping[str, Any], key: bytes) -> str:
    """The seal of a JSON object; its field "seal" is ignored.

    Returns
    -------
    str
        "hmac-sha256:..." with a key, "sha256:..." without one (empty).

    Raises
    ------
    TypeError, ValueError
        If the object has no JSON form.
    """
    covered = {name: value for name, value in body.items() if name != "seal"}
    data = json.dumps(covered, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    digest = hmac.digest(key, data, "sha256") if key else hashlib.sha256(data).digest()
    return ("hmac-sha256:" if key else "sha256:") + digest.hex()


def check(body: Mapping[str, Any], key: bytes) -> SealState:
    """Whether a JSON object is unchanged since it was sealed.

    With a key only an HMAC counts; a checksum shows accidental changes, not deliberate ones.

    Returns
    -------
    {"valid", "altered", "needs_key"}
        "needs_key": it has an HMAC, and no key was given.
    """
    seal = str(body.get("seal", ""))
    if not key and seal.startswith("hmac-"):
        return "needs_key"
    return "valid" if hmac.compare_digest(seal.encode(), sign(body, key).encode()) else "altered"


Decision = Literal["plain", "hedge", "abstain"]
KIND = "certificate"
"""The value of the JSON field for the kind of document."""
SCHEMA = 1
"""Version of the JSON form; newer ones are refused."""
ASSUMPTIONS = (
    "The labelled answers were drawn like those that will be served: same questions, same model, same settings (exchangeability).",
    "Which answers got a label did not depend on whether they were right.",
    "Labels tell the truth; each answer was labelled by itself and counts once.",
    "The calibration map was not fitted on these labels, and the confidence that is compared with a threshold is that of this map.",
)
"""The assumptions of every certificate, in words."""


class CertificateError(CalibrationError):
    """A certificate cannot be read; the message says what is missing or wrong."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A granted wish.

    Attributes
    ----------
    wish : Wish
        With a limit.
    threshold : float
        Calibrated confidence from which on an answer belongs to the set; of "abstain" that below which it is not answered.
    n : int
        Labels that the test used: those of the set; of "abstain" and "plain_and_wrong" all.
    wrong : float
        How many of these are wrong (grades count in part); of "abstain", how many are not answered.
    bound : float
        Upper bound of the share at the level of the test; at most the limit. What is promised is the limit.
    level : float
        Probability of error that the test of this threshold was allowed, in (0, 1); of a promise on average 1.
    share : float
        Share of the labelled answers that are in the set.
    """

    wish: Wish
    threshold: float
    n: int
    wrong: float
    bound: float
    level: float
    share: float

    @property
    def estimate(self) -> float:
        """Share of wrong answers among the labels."""
        return self.wrong / self.n if self.n else 0.0

    @property
    def in_words(self) -> str:
        """The promise and the labelled result, in one line."""
        if self.wish.subject == "abstain":
            return f"{self.wish.sentence}: those below {self.threshold:g}, {self.wrong:g} of {self.n:,}"
        share = f"{self.wrong:g} of {self.n:,} wrong, at most {self.bound:.1%}"
        return f"{self.wish.sentence}: from a confidence of {self.threshold:g} on, {share}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON object; it includes the wish in words."""
        own = asdict(self) | {"estimate": self.estimate}
        return {"promise": self.wish.text, "sentence": self.wish.sentence} | own

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Promise:
        """The value from an object that `to_dict` wrote."""
        names = ("threshold", "n", "wrong", "bound", "level", "share")
        return cls(Wish(**content["wish"]), **{name: content[name] for name in names})


@dataclass(frozen=True, slots=True)
class ServingThresholds:
    """Thresholds on the calibrated confidence for serving; all in [0, 1].

    Attributes
    ----------
    answer : float
        Answers below it are not given; 0: all are.
    plain : float or None
        Answers from here on go out plain, and no others do. None: nothing is promised of plain answers; words decide alone.
    worded : tuple of (float, float)
        (w, t): words of a confidence of w or more are for answers from t on; t >= w, both ascending.
    """

    answer: float = 0.0
    plain: float | None = None
    worded: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        starts = [self.answer, *(t for _, t in self.worded), *([] if self.plain is None else [self.plain])]
        words = [w for w, _ in self.worded]
        if not all(isfinite(value) and 0.0 <= value <= 1.0 for value in (*starts, *words)):
            raise RangeError(f"thresholds must be in [0, 1], got {starts!r} for words from {words!r}")
        if starts != sorted(starts) or words != sorted(words) or any(t < w for w, t in self.worded):
            raise RangeError(
                f"thresholds must ascend from answered to plain, and none may be below the confidence of its words: {self!r}"
            )


@dataclass(frozen=True, slots=True)
class Certificate:
    """Promises with the thresholds that keep them, and all data an auditor needs.

    Attributes
    ----------
    id : str
        Its name.
    issued_at : datetime
        UTC.
    thresholds : ServingThresholds
    promises : tuple[Promise, ...]
        They hold together, with probability `confidence` over the draw of the labels.
    goals : tuple[str, ...]
        Wishes without a limit, in words: what was made as small as the promises allow.
    confidence : float
        In (0, 1).
    n : int
        Labelled answers.
    data_hash : str
        SHA-256 of the columns (confidence, correct) in their order.
    data : str
        Where the labels come from, in words.
    map_id : str or None
        The calibration map whose confidences the thresholds are for; None: uncalibrated.
    route, signal, model : str
        What it is for; "" = any, or not known.
    assumptions, notes : tuple[str, ...]
        What it rests on, and what was remarkable about the data, in words.
    previous : str
        Seal of the certificate that was stored before this one; "" for the first, or where it was not stored.
    seal : str
        "hmac-sha256:..." with the audit's hash key, else "sha256:...", over everything else; "" before `sealed`.
    """

    id: str
    issued_at: datetime
    thresholds: ServingThresholds
    promises: tuple[Promise, ...]
    confidence: float
    n: int
    data_hash: str
    goals: tuple[str, ...] = ()
    data: str = ""
    map_id: str | None = None
    route: str = ""
    signal: str = ""
    model: str = ""
    assumptions: tuple[str, ...] = ASSUMPTIONS
    notes: tuple[str, ...] = ()
    previous: str = ""
    seal: str = ""

    def decide(self, confidence: float) -> Decision:
        """What to serve at a calibrated mean in [0, 1].

        "plain": the draft as it is. "hedge": worded at `word_at`; where `thresholds.plain` is set it must not go out plain.
        "abstain": not answered (or a stronger model is asked, which no promise here covers).

        Raises
        ------
        RangeError
            If the mean lies outside [0, 1].
        """
        _require_share(confidence)
        if confidence < self.thresholds.answer:
            return "abstain"
        plain = self.thresholds.plain
        return "plain" if plain is not None and confidence >= plain else "hedge"

    def word_at(self, confidence: float) -> float:
        """The confidence used to word an answer: the calibrated mean, lowered where the labels do not support it.

        Monotone and never above the mean; at least w exactly from the threshold of `worded(>= w)` on, and linear in
        between.

        Examples
        --------
        >>> certificate = Certificate("c", datetime(2026, 1, 1, tzinfo=UTC), ServingThresholds(worded=((0.8, 0.9),)), (), 0.95, 0, "")
        >>> [round(certificate.word_at(mean), 3) for mean in (0.45, 0.899, 0.9, 0.95, 1.0)]
        [0.4, 0.799, 0.8, 0.9, 1.0]
        """
        _require_share(confidence)
        worded = self.thresholds.worded
        place = bisect_right([t for _, t in worded], confidence)
        words, start = worded[place - 1] if place else (0.0, 0.0)
        next_words, end = worded[place] if place < len(worded) else (1.0, 1.0)
        if start >= end:
            return min(confidence, words) if place else confidence
        value = words + (next_words - words) * (confidence - start) / (end - start)
        highest = nextafter(next_words, 0.0) if place < len(worded) else 1.0
        return max(words, min(value, highest, confidence))

    def covering(self, confidence: float) -> tuple[Promise, ...]:
        """The promises that cover an answer with this calibrated mean, if it is served as `decide` says."""
        decision = self.decide(confidence)

        def covers(promise: Promise) -> bool:
            subject = promise.wish.subject
            if subject in ("plain", "plain_and_wrong"):
                return decision == "plain"
            if subject == "abstain":
                return decision == "abstain"
            return decision != "abstain" and confidence >= promise.threshold

        return tuple(promise for promise in self.promises if covers(promise))

    def sealed(self, key: bytes, previous: str = "") -> Certificate:
        """The certificate after `previous`, with its seal: an HMAC with the audit's hash key, or a checksum if it is
        empty.
        """
        placed = replace(self, previous=previous)
        return replace(placed, seal=sign(placed.to_dict(), key))

    def check_seal(self, key: bytes) -> SealState:
        """Whether the certificate is unchanged since it was sealed; see `hedgerow.calibration.promises.certificate.check`."""
        return check(self.to_dict(), key)

    def to_dict(self) -> dict[str, Any]:
        """A JSON object that `from_dict` turns back into an equal value."""
        content = asdict(self) | {
            "kind": KIND,
            "schema": SCHEMA,
            "issued_at": self.issued_at.isoformat(),
            "thresholds": asdict(self.thresholds) | {"worded": [list(pair) for pair in self.thresholds.worded]},
            "promises": [promise.to_dict() for promise in self.promises],
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in content.items()}

    def to_json(self) -> str:
        """`to_dict` as text, with a final line break."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """The value from an object that `to_dict` wrote. The seal is not checked: see `check_seal`.

        Raises
        ------
        CertificateError
            If something is missing, of the wrong kind, or of a newer schema.
        """
        try:
            if content["schema"] > SCHEMA:
                raise CertificateError(f"the certificate has schema {content['schema']}; this version knows {SCHEMA}")
            fields = {name: value for name, value in content.items() if name not in ("kind", "schema")}
            worded = tuple((float(w), float(t)) for w, t in fields["thresholds"]["worded"])
            fields["thresholds"] = ServingThresholds(**fields["thresholds"] | {"worded": worded})
            fields["promises"] = tuple(Promise.from_dict(promise) for promise in fields["promises"])
            fields["issued_at"] = datetime.fromisoformat(fields["issued_at"]).astimezone(UTC)
            for name in ("goals", "assumptions", "notes"):
                fields[name] = tuple(fields[name])
            return cls(**fields)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, CertificateError):
                raise
            raise CertificateError(f"not a certificate of promises: {error!r}") from error

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """The value from a text that `to_json` wrote; errors as for `from_dict`."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CertificateError("not a certificate of promises: not valid JSON") from error
        if not isinstance(content, dict):
            raise CertificateError("not a certificate of promises: not a JSON object")
        return cls.from_dict(content)


def _require_share(confidence: float) -> None:
    if not 0.0 <= confidence <= 1.0:
        raise RangeError(f"confidence must be in [0, 1], got {confidence!r}")
