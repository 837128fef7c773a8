"""The certificate: decisions at its thresholds, words never surer than certified, JSON there and back, and a seal that shows changes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from hedgerow.calibration.errors import RangeError
from hedgerow.calibration.promises.certificate import Certificate, CertificateError, Promise, ServingThresholds
from hedgerow.calibration.promises.wishes import parse
from tests.support.tables import cases

KEY = b"the audit's key"
THRESHOLDS = ServingThresholds(answer=0.3, plain=0.95, worded=((0.6, 0.6), (0.8, 0.9)))
CERTIFICATE = Certificate(
    "support-20261122",
    datetime(2026, 11, 22, 10, tzinfo=UTC),
    THRESHOLDS,
    (
        Promise(parse("plain_wrong <= 5%"), 0.95, 412, 9.0, 0.041, 0.025, 0.4),
        Promise(parse("worded(>= .8) wrong <= 20%"), 0.9, 500, 40.0, 0.11, 0.025, 0.5),
    ),
    0.95,
    1000,
    "ab" * 32,
    goals=("abstain as little as possible",),
    map_id="support-map",
    route="support",
    notes=("no wrong label among the plain answers",),
)


def test_what_is_served_at_and_beside_the_thresholds() -> None:
    """A confidence on a threshold belongs to the set that starts there."""
    means = (0.0, 0.299, 0.3, 0.949, 0.95, 1.0)
    decisions = ["abstain", "abstain", "hedge", "hedge", "plain", "plain"]
    assert [CERTIFICATE.decide(mean) for mean in means] == decisions
    unlimited = replace(CERTIFICATE, thresholds=ServingThresholds())
    assert {unlimited.decide(mean) for mean in means} == {"hedge"}


def test_words_are_as_sure_as_certified_and_never_surer_than_the_mean() -> None:
    """Words of 0.8 or more exactly from the threshold on; the order of confidences is kept."""
    means = np.linspace(0.0, 1.0, 2001)
    words = np.array([CERTIFICATE.word_at(mean) for mean in means])
    assert (np.diff(words) >= 0.0).all()
    assert (words <= means).all()
    for start, threshold in THRESHOLDS.worded:
        assert ((words >= start) == (means >= threshold)).all()
    together = replace(CERTIFICATE, thresholds=ServingThresholds(worded=((0.6, 0.85), (0.8, 0.85))))
    assert together.word_at(0.85) == 0.8
    assert together.word_at(0.8499999) < 0.6


def test_the_promises_that_cover_an_answer() -> None:
    """Plain answers are covered by both promises, well worded ones by one, the rest by none."""
    covered = {mean: [p.wish.subject for p in CERTIFICATE.covering(mean)] for mean in (0.1, 0.5, 0.92, 0.97)}
    assert covered == {0.1: [], 0.5: [], 0.92: ["worded"], 0.97: ["plain", "worded"]}


def test_json_there_and_back() -> None:
    """Also through text, and the seal holds on the other side."""
    sealed = CERTIFICATE.sealed(KEY, "hmac-sha256:before")
    again = Certificate.from_json(sealed.to_json())
    assert again == sealed
    assert again.check_seal(KEY) == "valid"
    assert json.loads(sealed.to_json())["promises"][0]["promise"] == "plain_wrong <= 5 %"


@cases(
    "change",
    [
        {"thresholds": replace(THRESHOLDS, plain=0.5, worded=())},
        {"promises": CERTIFICATE.promises[:1]},
        {"promises": (replace(CERTIFICATE.promises[0], bound=0.01), CERTIFICATE.promises[1])},
        {"map_id": "another"},
        {"n": 10_000},
        {"previous": ""},
        {"seal": "hmac-sha256:" + "0" * 64},
        {"seal": ""},
    ],
    ids=str,
)
def test_a_changed_certificate_is_found(change: dict[str, object]) -> None:
    """Whatever is changed."""
    changed = replace(CERTIFICATE.sealed(KEY, "hmac-sha256:before"), **change)
    assert changed.check_seal(KEY) == "altered"


def test_a_checksum_is_not_a_signature() -> None:
    """With a key, what is sealed without one does not count; without the key, nothing is said of what has one."""
    assert CERTIFICATE.sealed(b"").check_seal(b"") == "valid"
    assert CERTIFICATE.sealed(b"").check_seal(KEY) == "altered"
    assert CERTIFICATE.sealed(KEY).check_seal(b"") == "needs_key"
    assert CERTIFICATE.sealed(KEY).check_seal(b"another key") == "altered"


@cases(
    "text",
    ["", "[]", "{}", "null", '{"schema": 99}', '{"schema": "1"}', CERTIFICATE.to_json().replace('"answer"', '"reply"'),
     CERTIFICATE.to_json().replace('"issued_at": "2026', '"issued_at": "20x6'), CERTIFICATE.to_json().replace("0.3", "null", 1),
     "[" * 100_000],
    ids=range(10),
)  # fmt: skip
def test_what_is_not_a_certificate_is_refused(text: str) -> None:
    """With our own error, whatever is wrong with it."""
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


@cases("thresholds", [(0.5, 0.4, ()), (0.0, 0.8, ((0.8, 0.9),)), (0.0, None, ((0.8, 0.7),)), (1.5, None, ())])
def test_thresholds_that_contradict_each_other_are_refused(thresholds: tuple[float, float | None, tuple[()]]) -> None:
    """Plain below answered, words surer than their confidence, outside [0, 1]."""
    with pytest.raises(RangeError):
        ServingThresholds(*thresholds)


def test_a_confidence_outside_its_range_is_refused() -> None:
    """Also where it is not a number."""
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(RangeError):
            CERTIFICATE.decide(wrong)
        with pytest.raises(RangeError):
            CERTIFICATE.word_at(wrong)
