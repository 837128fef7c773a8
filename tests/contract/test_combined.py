"""`signal: combined`: fitted by the command, kept with its map, used by the route; without a fit nothing is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from tests.support.upstream import Upstream, completion

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]


def _rows(folder: Path) -> Path:
    """Right answers agree and are probable, wrong ones neither; a few are the other way round."""
    rows = []
    for i in range(80):
        right = i % 2 == 0
        agreeing = (8 if right else 4) + i % 3 - 1 if i % 10 else 6
        texts = ["Canberra"] * agreeing + [f"Town {j}" for j in range(10 - agreeing)]
        samples = [{"text": t, "logprob_mean": (-0.1 if right else -0.6) - 0.01 * (j % 3)} for j, t in enumerate(texts)]
        rows.append({"question": "Which?", "samples": samples, "correct": right})
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def _fit(data: Path, folder: Path, *more: str) -> Any:
    options = ["--data", str(data), "--signal", "combined", "--folder", str(folder), "--version", "both", "--activate"]
    return CliRunner().invoke(app, ["fit", *options, *more])


def _with_logprobs(_request: Any, body: Any) -> JSONResponse:
    answer = completion(*(["Canberra.", "Canberra.", "Sydney."] * 4)[: body.get("n") or 1])
    for choice in answer["choices"]:
        choice["logprobs"] = {"content": [{"token": "x", "logprob": -0.2}]}
    return JSONResponse(answer)


def test_fitted_stored_and_used(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path) -> None:
    """The weights are kept with the map; the route asks for log-probabilities and names its signal and map."""
    done = _fit(_rows(tmp_path), tmp_path / "maps")
    assert done.exit_code == 0, done.output
    weights = json.loads((tmp_path / "maps" / "maps" / "both.json").read_text())["weights"]
    assert set(weights) == {"bias", "semantic", "token"}
    assert weights["semantic"] > 0 < weights["token"]
    upstream.default = _with_logprobs
    field = client_of(serve(signal="combined")).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    assert upstream.calls[0]["logprobs"] is True
    assert (field["signal"], field["map"]) == ("combined", "both")
    assert 0.0 < field["raw"]["mean"] < 1.0


@pytest.mark.parametrize(
    ("damage", "reason"),
    [(None, "no_weights"), ({}, "no_weights"), ({"bias": 0.0, "semantic": 1.0}, "no_weights")],
)
def test_without_weights_the_draft_stands(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Path, damage: dict[str, float] | None, reason: str
) -> None:
    """No map yet, or one without its weights: the plain draft, marked."""
    if damage is not None:
        assert _fit(_rows(tmp_path), tmp_path / "maps").exit_code == 0
        file = tmp_path / "maps" / "maps" / "both.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"weights": damage}))
    upstream.default = _with_logprobs
    field = client_of(serve(signal="combined")).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("degraded", reason)


def test_answers_without_log_probabilities_are_named(tmp_path: Path) -> None:
    """Bad input: exit code 2 and the lines that lack them; one kind of label is bad input too."""
    path = _rows(tmp_path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("\n".join(json.dumps(row | {"samples": [s["text"] for s in row["samples"]]}) for row in rows))
    done = _fit(path, tmp_path / "maps")
    assert done.exit_code == 2
    assert "no token log-probabilities" in done.stderr
    path.write_text("\n".join(json.dumps(row | {"correct": True}) for row in rows))
    assert "of both kinds" in _fit(path, tmp_path / "maps").stderr
