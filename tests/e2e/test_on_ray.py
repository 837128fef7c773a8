"""Bulk commands with `--on ray`: the same results as in one process, nothing paid twice, and workers that die. The Ray is real, of two workers."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import psutil
import pytest
import yaml
from starlette.responses import JSONResponse
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.errors import UpstreamRejected
from hedgerow.proxy.lab.spreading import Place, WorkerLost, nothing, over, place
from tests.support.upstream import Upstream, completion

pytest.importorskip("ray", reason="Ray is not installed (extra `ray`)")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Ray's own start and end
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N = 4
QUESTIONS = 24


@pytest.fixture(scope="module", autouse=True)
def joined() -> Iterator[None]:
    """A Ray of this machine that commands join; it reports nothing to anybody."""
    before = dict(os.environ)
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
    os.environ.pop("RAY_ADDRESS", None)
    import ray

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()
        os.environ.clear()
        os.environ.update(before)


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def number_in(body: Any) -> int:
    return int(body["messages"][-1]["content"].split()[-1].rstrip("?"))


def answer(_request: Any, body: Any) -> JSONResponse:
    """Between one and four of four answers agree, by the question's number."""
    number = number_in(body)
    agreed = ["The Danube."] * (1 + number % N) + ["The Po.", "The Elbe.", "The Main."]
    return JSONResponse(completion(*agreed[: body["n"]]))


@pytest.fixture
def rivers(tmp_path: Path, upstream: Upstream) -> Path:
    """A folder with a configuration and questions."""
    upstream.default = answer
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    route = {"name": "mine", "upstream": "scripted", "mode": "on", "model": "m", "sampling": {"n": N, "min_n": 2}}
    route |= {"rewriting": {"by": "local"}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"upstreams": {"scripted": named}, "routes": [route]}))
    gold = [["Danube"] if (i % N >= 2) != (i % 7 == 0) else ["Rhine"] for i in range(QUESTIONS)]
    write(
        tmp_path / "q.jsonl", [{"question": f"Which river is number {i}?", "gold": gold[i]} for i in range(QUESTIONS)]
    )
    return tmp_path


def collect(folder: Path, out: str, *more: object, code: int = 0) -> Any:
    config = ("--config", folder / "config.yaml")
    return run("collect", folder / "q.jsonl", "--out", folder / out, "--yes", *config, *more, code=code)


def asked(upstream: Upstream) -> Counter[int]:
    return Counter(map(number_in, upstream.calls))


def figures(text: str) -> Any:
    document = json.loads(text)
    document.get("provenance", {}).pop("fitted_at", None)
    return document


def test_from_questions_to_figures_all_is_as_in_one_process(rivers: Path, upstream: Upstream) -> None:
    """Rows, grades and figures are the same to the last bit, for the same calls."""
    for out, where in (("here", ()), ("there", ("--on", "ray"))):
        upstream.calls.clear()
        said = collect(rivers, f"{out}.jsonl", "--concurrency", 1, *where).stderr
        assert f"{QUESTIONS} calls" in said
        assert asked(upstream) == dict.fromkeys(range(QUESTIONS), 1)
        run("grade", rivers / f"{out}.jsonl", "--out", rivers / f"{out}.graded.jsonl", *where)
    for name in ("{}.jsonl", "{}.graded.jsonl"):
        assert (rivers / name.format("here")).read_bytes() == (rivers / name.format("there")).read_bytes()
    graded = [json.loads(line) for line in (rivers / "here.graded.jsonl").read_text().splitlines()]
    data = write(
        rivers / "many.jsonl",
        [row | {name: f"{row[name]}{i}" for name in ("key", "id")} for i in range(6) for row in graded],
    )
    evaluate = ("evaluate", "--data", data, "--resamples", 5)
    assert figures(run(*evaluate, "--json").stdout) == figures(run(*evaluate, "--json", "--on", "ray").stdout)


def test_an_experiment_is_the_same_experiment(rivers: Path, upstream: Upstream) -> None:
    """One report, wherever it was worked out, for the same calls."""
    reports = []
    for out, where in (("here", ()), ("there", ("--on", "ray"))):
        settings = {
            "routes": ["mine"],
            "questions": [{"name": "rivers", "path": "q.jsonl"}],
            "resamples": 5,
            "out": out,
        }
        (rivers / "e.yaml").write_text(yaml.safe_dump(settings))
        run("experiment", "run", rivers / "e.yaml", "--yes", *where)
        (held,) = json.loads((rivers / out / "report.json").read_text())["runs"]
        held["signal_space"]["semantic"].pop("provenance")
        reports.append(held)
    assert reports[0] == reports[1]
    assert asked(upstream) == dict.fromkeys(range(QUESTIONS), 2)


def test_a_worker_killed_half_way_costs_no_more_than_what_it_had(rivers: Path, upstream: Upstream) -> None:
    """Its questions are left, and named; all others are answered, and the same command asks for nothing that is there."""
    killed: list[int] = []

    def kills_once(request: Any, body: Any) -> JSONResponse:
        if number_in(body) == QUESTIONS // 2 and not killed:
            ends = (request.client.port, request.url.port)
            open_now = [c for c in psutil.net_connections("tcp") if c.laddr and c.raddr and c.pid]
            killed.extend(c.pid for c in open_now if (c.laddr.port, c.raddr.port) == ends)
            os.kill(killed[0], signal.SIGKILL)
        return answer(request, body)

    upstream.default = kills_once
    stopped = collect(rivers, "out.jsonl", "--on", "ray", code=1)
    done = {json.loads(line)["question"] for line in (rivers / "out.jsonl").read_text().splitlines()}
    lost = {i for i in range(QUESTIONS) if f"Which river is number {i}?" not in done}
    assert QUESTIONS // 2 in lost
    assert stopped.stderr.count("worker_lost") == len(lost) <= 4  # as many as are under way at once
    assert f"{len(lost)} of {QUESTIONS} questions are not answered yet" in stopped.stderr
    collect(rivers, "out.jsonl", "--on", "ray")
    times = asked(upstream)
    assert {i for i, n in times.items() if n > 1} <= lost
    assert max(times.values()) <= 2
    rows = [json.loads(line)["question"] for line in (rivers / "out.jsonl").read_text().splitlines()]
    assert sorted(rows) == sorted(f"Which river is number {i}?" for i in range(QUESTIONS))


def test_what_costs_nothing_is_done_again_when_a_worker_dies(tmp_path: Path) -> None:
    """Every result, once and in order; what may be paid for is given back as lost instead; an error of ours stays what it was."""
    mark = tmp_path / "died"

    async def doubled(_: None, item: int) -> int:
        if item == 70 and not mark.exists():
            mark.touch()
            os._exit(1)
        return 2 * item

    async def dies(_: None) -> None:
        os._exit(1)

    async def refuses(_: None) -> None:
        raise UpstreamRejected(429, b"{}", "application/json", "3")

    async def work(where: Place) -> list[int]:
        async with where.workers(nothing) as workers:
            results = [result async for result in workers.each(doubled, range(200))]
            with pytest.raises(WorkerLost, match="the worker in the Ray cluster died"):
                await workers.run(dies)
            with pytest.raises(UpstreamRejected) as caught:
                await workers.run(refuses)
            assert (caught.value.status, caught.value.retry_after) == (429, "3")
            return results

    with place("ray") as where:
        assert anyio.run(work, where) == [2 * i for i in range(200)]
        assert mark.exists()
        assert list(over(where, lambda x: x + 1, range(5))) == [1, 2, 3, 4, 5]


def test_regimes_are_the_same_regimes(tmp_path: Path) -> None:
    """Sets with exchanged labels are searched by the workers, with the same draws."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(300):
        kind, confidence = int(rng.integers(0, 3)), float(rng.uniform(0.3, 0.95))
        right = bool(rng.random() < confidence + 0.25 * (kind - 1))
        embedding = (np.eye(6)[kind] + rng.normal(0, 0.2, 6)).round(4).tolist()
        rows.append({"text": f"case {i}", "confidence": confidence, "correct": right, "embedding": embedding})
    regimes = ("regimes", "--data", write(tmp_path / "d.jsonl", rows), "--permutations", 3, "--resamples", 3, "--json")
    assert json.loads(run(*regimes).stdout) == json.loads(run(*regimes, "--on", "ray").stdout)


def test_a_place_that_is_none_is_named(tmp_path: Path) -> None:
    """One sentence, before anything is read or paid."""
    refused = run("evaluate", "--data", write(tmp_path / "d.jsonl", [{}]), "--on", "spark", code=2)
    assert "--on spark: expected ray, or ray://HOST:PORT" in refused.stderr
