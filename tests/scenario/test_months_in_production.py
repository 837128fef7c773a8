"""Months in production, replayed in a minute: shadow, verdicts, a map, `on`, and the day the model gets worse.

3,000 questions with recorded answers of real models go through a real server, whose upstream is scripted to answer as those models did.
The reader of the answers knows the gold ones. Everything an operator does is done as an operator would: over HTTP and by `hedgerow fit`.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse
from typer.testing import CliRunner

from hedgerow.calibration import FittedMap
from hedgerow.calibration.drift import plausible, sequential_test
from hedgerow.calibration.metrics import bootstrap_interval, faithfulness_divergence, generalised_ece
from hedgerow.proxy.app import application
from hedgerow.proxy.cli import app as command
from hedgerow.proxy.config import load
from hedgerow.proxy.grading.rules import contains_gold
from tests.support.servers import serving
from tests.support.upstream import Upstream, completion
from tests.support.waiting import until

QUESTIONS = 3000
SHADOW = 2000
"""Questions of the first, watching phase."""
TOLD = 0.3
"""Share of answers in shadow whose outcome somebody reports."""
DELAY = 300
"""Verdicts within which the alarm is to fire once seven in ten right answers have become wrong ones."""
ADMIN = {"authorization": "Bearer adm-of-these-tests"}
AT_ONCE = 8


@dataclass
class World:
    """What stands around the proxy: recorded answers, the upstream that gives them, and an operator."""

    rows: list[dict[str, Any]]
    config: Path
    address: str = ""
    broken: float = 0.0
    numbers: Iterator[int] = field(default_factory=itertools.count)
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    served: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    spoilt: dict[str, bool] = field(default_factory=dict)

    def reply(self, _request: Request, body: dict[str, Any]) -> JSONResponse:
        """The recorded answers to the question; of a broken model some answers agree as before and are wrong."""
        question = body["messages"][-1]["content"]
        texts = [sample["text"] for sample in self.by_question[question]["samples"][:10]]
        if self.spoilt.setdefault(question, self.rng.random() < self.broken):
            texts = ["Not " + text for text in texts]
        n = body.get("n") or 1
        return JSONResponse(completion(*(texts[i % len(texts)] for i in range(n)), id=f"chatcmpl-{next(self.numbers)}"))

    @property
    def by_question(self) -> dict[str, dict[str, Any]]:
        return self._by_question

    def __post_init__(self) -> None:
        self._by_question = {row["question"]: row for row in self.rows}

    def ask(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        """Put questions to the proxy; the ids of the answers, in order."""

        async def whole() -> list[str]:
            turns = asyncio.Semaphore(AT_ONCE)
            async with httpx.AsyncClient(timeout=120) as client:

                async def one(row: dict[str, Any]) -> str:
                    body = {"model": "m", "messages": [{"role": "user", "content": row["question"]}]}
                    async with turns:
                        reply = await client.post(f"{self.address}/v1/chat/completions", json=body)
                    answer = reply.json()
                    name = str(answer["hedgerow"]["id"] if "hedgerow" in answer else answer["id"])
                    self.served[name] = row, answer["choices"][0]["message"]["content"]
                    return name

                return list(await asyncio.gather(*map(one, rows)))

        return asyncio.run(whole())

    def tell(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Report whether these answers were right; what was settled."""
        verdicts = [{"id": name, "correct": self.is_right(name)} for name in names]
        results: list[dict[str, Any]] = []
        for start in range(0, len(verdicts), 1000):
            sent = httpx.post(
                f"{self.address}/v1/feedback", json=verdicts[start : start + 1000], headers=ADMIN, timeout=120
            )
            results += sent.json()["results"]
        return results

    def is_right(self, name: str) -> bool:
        row, text = self.served[name]
        return not text.startswith("Not ") and "Not " not in text and contains_gold(text, row["gold"])

    def act(self, what: str, **body: Any) -> Any:
        """What an operator does over HTTP."""
        reply = httpx.post(f"{self.address}/v1/admin/{what}", json=body, headers=ADMIN, timeout=120)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def route(self) -> dict[str, Any]:
        """The route as the operator sees it."""
        routes: dict[str, Any] = httpx.get(f"{self.address}/v1/admin/routes", headers=ADMIN, timeout=120).json()[
            "routes"
        ][0]
        return routes

    def answered(self, mode: str) -> int:
        """Requests that are wholly done with, shadow work included."""
        text = httpx.get(f"{self.address}/metrics", timeout=120).text
        counted = [
            line
            for line in text.splitlines()
            if line.startswith("hedgerow_requests_total{") and f'mode="{mode}"' in line
        ]
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in counted))

    def hedgerow(self, *arguments: str) -> str:
        """What an operator types."""
        result = CliRunner().invoke(command, [*arguments, "--config", str(self.config)])
        assert result.exit_code == 0, result.output
        return result.stdout


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, Any]]:
    """2,573 arithmetic and 427 trivia questions with ten answers each, in a mixed order that stays the same."""
    folder = Path(__file__).parents[3] / "shared" / "data" / "samples"
    if not folder.is_dir():
        pytest.skip("the recorded answers are not beside the checkout (../shared/data)")
    rows: dict[str, dict[str, Any]] = {}
    for name in (
        "answerable_math/llama.jsonl.gz",
        "triviaqa_gemma2_2b/train.jsonl.gz",
        "triviaqa_llama13b/samples.jsonl.gz",
    ):
        with gzip.open(folder / name, "rt") as lines:
            for row in map(json.loads, lines):
                rows.setdefault(row["question"], row)
    first = list(rows.values())[:QUESTIONS]
    random.Random(1).shuffle(first)
    return first


@pytest.fixture
def world(recorded: list[dict[str, Any]], tmp_path: Path) -> Iterator[World]:
    """The proxy in shadow before the scripted upstream, with its configuration in a file."""
    world = World(recorded, tmp_path / "config.yaml")
    upstream = Upstream(default=world.reply)
    with serving(upstream) as behind:
        content = {
            "server": {"admin_key": "adm-of-these-tests"},
            "upstreams": {"scripted": {"provider": "openai", "base_url": f"{behind}/v1"}},
            "routes": [{"name": "support", "upstream": "scripted", "mode": "shadow", "store_text": "none"}],
            "audit": {
                "url": f"sqlite:///{tmp_path}/audit.db",
                "synchronous": "normal",
                "spool": str(tmp_path / "spool"),
            },
            "maps": {"folder": str(tmp_path / "maps")},
            "drift": {"every_s": 3600, "on_alarm": "shadow"},
        }
        world.config.write_text(yaml.safe_dump(content))
        with serving(application(load(world.config), address="test"), lifespan="on") as world.address:
            yield world


def test_months_in_production(world: World) -> None:
    """FD and generalised ECE as served fall by what the fit foretold; then the model gets worse, and the proxy says so and steps back."""
    # The first months: shadow. Clients get the upstream's own answers; somebody reports whether three in ten were right.
    in_shadow = world.ask(world.rows[:SHADOW])
    until(lambda: world.answered("shadow") == len(in_shadow))
    reported = world.rng.sample(in_shadow, int(TOLD * len(in_shadow)))
    # an answer that was passed on, because its request seemed to ask for nothing, has no row that its own id finds
    assert sum("error" in result for result in world.tell(reported)) <= 0.01 * len(reported)

    # A map is fitted on these verdicts. Those that come later than its own say what it will do.
    printed = world.hedgerow("fit", "--from-audit", "--route", "support", "--since", "1d", "--activate", "--json")
    foretold = json.loads(printed)
    assert (foretold["is_better"], foretold["activated"]) == (True, True)
    world.act("routes/support/mode", mode="on", actor="ada", note=f"map {foretold['version']}")
    world.act("reload")
    assert (world.route()["mode"], world.route()["map"]) == ("on", foretold["version"])

    # The next months: on. Everybody reports, so that what was served can be measured.
    served = world.ask(world.rows[SHADOW:])
    told = [result for result in world.tell(served) if "error" not in result]
    settled = [result for result in told if result["faithfulness_divergence"]["calibrated"] is not None]
    assert len(settled) > 0.9 * len(served)
    columns = as_served(world, served)
    for name, metric in (("faithfulness_divergence", faithfulness_divergence), ("generalised_ece", generalised_ece)):
        fell = change(metric, columns)
        promised = foretold["metrics"][name]
        low, high = promised["difference_interval"]
        assert fell.high < 0, f"{name} did not fall: {fell}"
        assert max(low, fell.low) <= min(high, fell.high), f"{name}: {fell} against {promised}"
    health = world.act("check")["routes"][0]["health"]
    assert (health["alarms"], health["n_verdicts"]) == ([], len(settled))

    # Then the model gets worse: it is as sure as ever, and seven in ten of its right answers are wrong now.
    world.broken = 0.7
    world.spoilt.clear()
    world.tell(world.ask(world.rows[:DELAY]))
    assert "outcomes" in world.act("check")["routes"][0]["health"]["alarms"]
    world.act("reload")
    route = world.route()
    assert route["mode"] == "shadow"
    assert (route["health"]["status"], route["set_by"]) == ("yellow", "drift watcher")
    history = httpx.get(f"{world.address}/v1/admin/changes", headers=ADMIN, timeout=120).json()["changes"]
    assert [(c["what"], c["after"]) for c in history[:3]] == [
        ("mode", "shadow"),
        ("mode", "on"),
        ("map", foretold["version"]),
    ]

    # The map as it was served, on twenty other orders of the months in which nothing had changed: no alarm.
    fitted = FittedMap.from_dict(json.loads(world.hedgerow("maps", "show", foretold["version"])))
    nulls = plausible(fitted.provenance.information, alpha=0.005)
    rng = np.random.default_rng(3)
    mean, correct = columns[2] / (columns[2] + columns[3]), columns[4]
    for _ in range(20):
        run = rng.permutation(mean.size)
        assert sequential_test(mean[run], correct[run], alpha=0.005, nulls=nulls).alarm_at is None


def as_served(world: World, names: Sequence[str]) -> list[Any]:
    """Raw and calibrated parameters and the outcome of these answers, from an export of the audit."""
    out = world.config.parent / "served.jsonl"
    world.hedgerow("audit", "export", str(out))
    wanted = set(names)
    rows = [
        row
        for row in map(json.loads, out.read_text().splitlines())
        if row["id"] in wanted and row["correct"] is not None
    ]
    return [np.array([row[key] for row in rows]) for key in ("raw_alpha", "raw_beta", "alpha", "beta", "correct")]


def change(metric: Callable[..., Any], columns: Sequence[Any]) -> Any:
    """What the map did to a metric of these answers, with an interval."""

    def difference(raw_a: Any, raw_b: Any, a: Any, b: Any, y: Any) -> float:
        return float(np.mean(metric(a, b, y)) - np.mean(metric(raw_a, raw_b, y)))

    return bootstrap_interval(difference, *columns, rng=np.random.default_rng(0), resamples=300)
