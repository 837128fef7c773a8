"""Local maps: learned where they help, equal in both forms, kept as JSON, and silent on questions that they do not know."""

import json

import numpy as np
import pytest

from hedgerow.calibration import Beta, FittedMap, MapRegistry
from hedgerow.calibration.errors import MapFileError, NotEnoughData, RangeError
from hedgerow.calibration.maps.local import LocalMap, packed, unpacked
from hedgerow.calibration.regimes.direct import DirectEstimator
from hedgerow.calibration.regimes.discovery import Columns
from hedgerow.calibration.regimes.local import fit_local, to_map

from .test_direct import clusters


def fitted(n=1500, shift=1.2, seed=0):
    train, _, _ = clusters(n, seed, shift=shift)
    return fit_local(
        train,
        10 * train.confidence,
        10 * (1 - train.confidence),
        signal="semantic",
        describe=lambda h, f: [["word"]] * len(f.regimes),
    )


@pytest.fixture(scope="module")
def made():
    return fitted()


def test_it_helps_where_kinds_of_questions_differ_and_says_so(made):
    assert made.helps
    local = made.fitted.map
    assert local.helps
    assert {sign for sign, _, _ in local.regimes} == {-1, 1}
    held = made.fitted.provenance.cross_validation["expected_brier"]
    assert held["after"] < held["before"]
    test, truth, kind = clusters(600, 9)
    places = [local.at(row) for row in test.x]
    mine = np.array([place.map.means(mean) for place, mean in zip(places, test.confidence, strict=True)])
    alone = local.means(test.confidence)
    assert np.mean((mine - truth) ** 2) < 0.2 * np.mean((alone - truth) ** 2)
    assert np.mean([place.known for place in places]) > 0.95
    signs = np.array([0 if p.regime is None else local.regimes[p.regime - 1][0] for p in places])
    assert np.mean(signs[kind == 0] == -1) > 0.9
    assert np.mean(signs[kind == 2] == 1) > 0.9


def test_the_map_is_what_was_learned_and_single_and_array_forms_agree():
    train, _, _ = clusters(800, 3)
    estimator = DirectEstimator(train.x, train.confidence, train.prompt, np.random.default_rng(0))
    field = estimator.fit(train.correct)
    local = to_map(field, estimator.centres, train.x, train.prompt, np.random.default_rng(0))
    np.testing.assert_allclose(local.shifts(train.x), field.shift(train.x), atol=2e-4)
    served = LocalMap(
        **{**{k: v for k, v in local.to_dict().items() if k != "kind"}, "gain": (-0.1, -0.2, -0.05), "least_mass": -1e9}
    )
    expected = field.corrected(train.x, train.confidence)
    for i in range(0, 800, 97):
        one = served.at(train.x[i]).map.apply(Beta.from_mean(float(train.confidence[i]), 10.0))
        assert one.mean == pytest.approx(expected[i], abs=2e-4)
        assert one.concentration == pytest.approx(10.0, abs=1e-5)


def test_far_from_what_it_has_seen_the_confidence_alone_is_calibrated(made):
    place = made.fitted.map.at(np.full(8, 30.0))
    assert not place.known
    assert place.regime is None
    assert place.map == made.fitted.map.fallback
    assert place.mass < made.fitted.map.least_mass


def test_where_questions_say_nothing_the_confidence_alone_serves():
    useless = fitted(800, shift=0.0)
    assert not useless.helps
    train, _, _ = clusters(5, 1)
    assert useless.fitted.map.at(train.x[0]).map == useless.fitted.map.fallback
    assert useless.fitted.map.regimes == ()


def test_it_survives_the_registry_and_damage_is_an_error_that_names_the_file(made, tmp_path):
    registry = MapRegistry(tmp_path)
    registry.add("here", made.fitted)
    registry.activate("here", route="support")
    again = MapRegistry(tmp_path).active(route="support", model="m", signal="semantic")
    assert again.fitted == made.fitted
    assert FittedMap.from_dict(json.loads(json.dumps(made.fitted.to_dict()))) == made.fitted
    content = json.loads((tmp_path / "maps" / "here.json").read_text())
    for part, value in (("weights", packed(np.zeros(3))), ("anchors", "no base64!"), ("centres", packed([np.nan] * 8))):
        damaged = {**content, "map": {**content["map"], part: value}}
        (tmp_path / "maps" / "damaged.json").write_text(json.dumps(damaged))
        with pytest.raises(MapFileError, match=r"damaged\.json"):
            MapRegistry(tmp_path).load("damaged")


def test_embeddings_of_another_model_are_refused(made):
    with pytest.raises(RangeError, match="embeddings of 8 finite numbers, got 5"):
        made.fitted.map.at(np.zeros(5))
    with pytest.raises(RangeError):
        made.fitted.map.at(np.full(8, np.nan))


def test_what_it_keeps_is_not_a_question(made):
    """Centres stand for at least three questions; none of them is one of the questions."""
    train, _, _ = clusters(1500, 0)
    local = made.fitted.map
    for text in (local.centres, local.anchors, local.cells):
        kept = unpacked(text, 8)
        assert min(np.abs(train.x - row).max(axis=1).min() for row in kept) > 1e-4


def test_few_answers_are_refused():
    train, _, _ = clusters(90, 0)
    with pytest.raises(NotEnoughData):
        fit_local(train, 10 * train.confidence, 10 * (1 - train.confidence))
    same = Columns(train.x, train.confidence, train.correct, np.zeros(90, int))
    with pytest.raises(NotEnoughData, match="90 answers to 1 different questions leave 0 to compare maps on"):
        fit_local(same, 10 * train.confidence, 10 * (1 - train.confidence))
    few = Columns(train.x, train.confidence, train.correct, np.arange(90) % 8)
    tripled = Columns(*(np.concatenate([column] * 3) for column in (few.x, few.confidence, few.correct, few.prompt)))
    with pytest.raises(
        NotEnoughData, match=r"270 answers to 8 different questions leave \d+ to 5 to learn from: at least 100 to 50"
    ):
        fit_local(tripled, 10 * tripled.confidence, 10 * (1 - tripled.confidence))
