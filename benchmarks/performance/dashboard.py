"""The dashboard on recorded traffic: `python -m benchmarks.performance.dashboard seed FOLDER`, `... time FOLDER`.

`seed` replays recorded answers through the real pipeline into an audit of its own, spread over thirty days, with verdicts on a part, a map
fitted on the first of them, and an audit configuration to serve. `time` multiplies those rows and measures the dashboard's queries.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from rich.progress import track

from benchmarks import DATA
from hedgerow.calibration import MapRegistry
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.metrics import expected_brier, expected_nll, faithfulness_divergence
from hedgerow.lexicon import perceive
from hedgerow.proxy.audit import counts, queries
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import read_answer
from hedgerow.proxy.audit.tables import alarms, answers, changes, route_states, texts, verdicts
from hedgerow.proxy.config import Settings
from hedgerow.proxy.gateway.finish import entry
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.job import Job, job_of, new_id
from hedgerow.proxy.pipeline.result import Result, Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.pipeline.steps import RoutePipeline
from hedgerow.proxy.protocols import Call
from hedgerow.proxy.services.services import open_pipelines
from hedgerow.proxy.types import Json

DAY = 86400.0
DAYS = 30
FITTED_AFTER = 9
"""Days of shadow before the map is fitted."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A question with its recorded answers and whether each of them is right."""

    question: str
    texts: tuple[str, ...]
    right: Mapping[str, bool]


def recorded(data: Path) -> dict[str, list[Recorded]]:
    """The recorded answers by route."""
    sources = {
        "support": ("triviaqa_llama13b/samples.jsonl.gz", "triviaqa_gemma2_2b/train.jsonl.gz"),
        "search": ("nq_qwen25_1_5b/nq_open.jsonl",),
    }
    return {
        route: [row for file in files for row in _rows(data / "samples" / file)] for route, files in sources.items()
    }


def _rows(path: Path) -> Iterator[Recorded]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in text.splitlines():
        row = json.loads(line)
        drawn = row["samples"][:10]
        right = {s["text"]: bool(s.get("contains", s.get("correct"))) for s in drawn}
        yield Recorded(row["question"], tuple(s["text"] for s in drawn), right)


class Replay:
    """An upstream that says what was recorded."""

    honours_n = True

    def __init__(self, said: Sequence[str]) -> None:
        self._said = said

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        choices = [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for i, text in enumerate(self._said)
        ]
        spent = sum(len(text) // 4 + 2 for text in self._said)
        usage = {"prompt_tokens": 20 + len(call.body["messages"][0]["content"]) // 4, "completion_tokens": spent}
        return {
            "id": "chatcmpl-replay",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": choices,
            "usage": usage,
        }


def settings_of(folder: Path) -> Settings:
    """What the audit in a folder is written and served with."""
    route = {"upstream": "models", "mode": "on"}
    return Settings(
        upstreams={"models": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "unused"}},
        routes=[
            {"name": "support", "model": "llama-13b"} | route,
            {"name": "search", "model": "qwen2.5-1.5b", "match": {"model": "search-*"}} | route | {"mode": "shadow"},
            {"name": "tools", "match": {"model": "tools-*"}} | route | {"mode": "off"},
        ],
        audit={"url": f"sqlite:///{folder}/audit.db"},
        maps={"folder": folder / "maps"},
    )


async def seed(folder: Path, count: int) -> None:
    """Fill the audit of a folder, which is made by now."""
    settings, rng, now = settings_of(folder), random.Random(7), time.time()
    held = recorded(DATA)
    engine = await asyncio.to_thread(open_engine, settings.audit)
    moments = sorted(now - DAYS * DAY * rng.random() ** 1.15 for _ in range(count))
    labelled: list[Json] = []
    async with open_pipelines(settings) as services:
        with engine.begin() as connection:
            for moment in track(moments, description="replaying"):
                draw = rng.random()
                if draw < 0.14:
                    _insert(connection, _passed(settings, rng, moment), None)
                    continue
                name = "search" if draw < 0.3 else "support"
                steps = services.steps[name]
                if name == "support" and len(labelled) >= 250 and moment > now - (DAYS - FITTED_AFTER) * DAY:
                    steps = _with_map(settings, labelled, steps, moment, connection)
                replayed = await _replay(rng.choice(held[name]), steps, settings.routes[0 if name == "support" else 1])
                mode = "shadow" if name == "search" or steps is services.steps[name] else "on"
                row, right = _row(replayed[0], mode, moment, rng), replayed[1]
                if rng.random() < 0.3:
                    verdict = _verdict(row, right, moment + rng.random() * DAY, rng)
                    _insert(connection, row, verdict)
                    if name == "support" and steps is services.steps[name]:
                        labelled.append(row | {"correct": float(right)})
                else:
                    _insert(connection, row, None)
            _operators(connection, now)
    engine.dispose()


_fitted: dict[str, Any] = {}


def _with_map(
    settings: Settings, labelled: list[Json], steps: RoutePipeline, moment: float, connection: sa.Connection
) -> RoutePipeline:
    """The route's pipeline with the map fitted on what was labelled until now."""
    if "steps" not in _fitted:
        columns = [[row[name] for row in labelled] for name in ("raw_alpha", "raw_beta", "correct")]
        registry = MapRegistry(settings.maps.folder)
        version = f"platt-semantic-{int(moment)}"
        registry.add(version, fit_map("platt", *columns, signal="semantic", model="llama-13b"))
        registry.activate(version, route="support")
        active = registry.active(route="support", model="llama-13b", signal="semantic")
        _fitted["steps"] = replace(steps, active_map=lambda _: active)
        for what, before, after in (("map", None, version), ("mode", "shadow", "on")):
            verdict = {
                "created_at": moment,
                "actor": "maria",
                "what": what,
                "route": "support",
                "before": before,
                "after": after,
            }
            connection.execute(sa.insert(changes).values(**verdict))
    drawn: RoutePipeline = _fitted["steps"]
    return drawn


async def _replay(source: Recorded, steps: RoutePipeline, route: Any) -> tuple[Result, bool]:
    body = {"model": route.model, "messages": [{"role": "user", "content": source.question}]}
    run = Run(job_of(route, "/chat/completions", body, {}))
    await calibrate(run, replace(steps, upstream=Replay(source.texts)))  # type: ignore[arg-type]
    return run.result, source.right[run.result.draft or ""]


def _row(result: Result, mode: Any, moment: float, rng: random.Random) -> Json:
    written = entry(result._replace(job=result.job._replace(mode=mode)), "full", http_status=200)
    row: Json = {name: value for name, value in written.row.items() if name in answers.columns} | {"store_text": "full"}
    perceived = perceive(result.text or "").beta
    row |= {"perceived_alpha": perceived.alpha, "perceived_beta": perceived.beta}
    row["story"]["timings_ms"]["sample"] = rng.lognormvariate(7.1, 0.4)
    row["texts"] = {name: text for name, text in asdict(written.texts or Texts()).items() if name != "served"}
    return row | {"id": _id(moment, rng), "created_at": moment, "duration_ms": rng.lognormvariate(7.2, 0.4)}


def _passed(settings: Settings, rng: random.Random, moment: float) -> Json:
    route, reason = rng.choice(
        [(0, "tool_calls"), (0, "structured_output"), (0, "code"), (2, "mode_off"), (2, "mode_off")]
    )
    mode: Any = "off" if reason == "mode_off" else "on"
    job = Job(new_id(), settings.routes[route], "/chat/completions", {"model": "m"}, {}, time.perf_counter(), mode=mode)
    row = entry(Result(job, Status.PASSED, reason), "none", http_status=200).row
    return row | {"id": _id(moment, rng), "created_at": moment, "duration_ms": rng.lognormvariate(6, 0.3)}


def _id(moment: float, rng: random.Random) -> str:
    return f"hr_{int(moment * 1000):011x}{rng.getrandbits(64):016x}"


def _verdict(row: Json, right: bool, moment: float, rng: random.Random) -> Json:
    kind = rng.choice(["client", "client", "grader", "human"])
    verdict: Json = {"created_at": moment, "correct": float(right), "source": kind, "kind": kind, "current": True}
    for suffix, names in (("_raw", ("raw_alpha", "raw_beta")), ("", ("alpha", "beta"))):
        a, b = (row[name] for name in names)
        verdict |= {f"fd{suffix}": float(faithfulness_divergence(a, b, right))}
        verdict |= {f"brier{suffix}": float(expected_brier([a], [b], [right])[0])}
        verdict |= {f"nll{suffix}": float(expected_nll([a], [b], [right])[0])}
    perceived = (row["perceived_alpha"], row["perceived_beta"])
    return verdict | {"fd_perceived": float(faithfulness_divergence(*perceived, right))}


def _insert(connection: sa.Connection, row: Json, verdict: Json | None) -> None:
    said = row.pop("texts", None)
    connection.execute(sa.insert(answers).values(**row))
    if said:
        connection.execute(sa.insert(texts).values(answer_id=row["id"], **said))
    if verdict:
        connection.execute(sa.insert(verdicts).values(answer_id=row["id"], **verdict))


def _operators(connection: sa.Connection, now: float) -> None:
    alarm = {
        "created_at": now - 0.4 * DAY,
        "route": "search",
        "map_id": None,
        "kind": "outcomes",
        "statistic": 6.2,
        "threshold": 4.605,
    }
    connection.execute(sa.insert(alarms).values(**alarm))
    connection.execute(
        sa.insert(route_states).values(route="support", mode="on", updated_at=now - 12 * DAY, actor="maria")
    )


def measure(folder: Path, rows: int) -> None:
    """Multiply the rows and time what every page asks, each query on its own, in milliseconds of processor time (median of 5)."""
    engine = open_engine(settings_of(folder).audit)
    now = time.time()
    with engine.begin() as connection:
        held = connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar_one()
        for turn in track(range(1, -(-rows // held)), description="multiplying"):
            _multiply(connection, turn)
        connection.exec_driver_sql("ANALYZE")
    period, route = queries.Period(now - 30 * DAY, now), "support"
    asked = {
        "counts by time, route and status": lambda c: counts.tallies(c, period, DAY),
        "the same of one route": lambda c: counts.tallies(c, period, DAY, route),
        "histogram of confidences": lambda c: counts.histogram(c, period, route),
        "labelled answers": lambda c: queries.labelled(c, period),
        "worst surprises": lambda c: queries.surprises(c, period),
        "one answer": lambda c: read_answer(c, "hr_none"),
    }
    with engine.connect() as connection:
        total = connection.execute(sa.select(sa.func.count()).select_from(answers)).scalar_one()
        print(f"{total:,} rows")
        for name, query in asked.items():
            times = []
            for _ in range(5):
                start = time.thread_time()
                query(connection)
                times.append((time.thread_time() - start) * 1e3)
            print(f"{name:40s} {statistics.median(times):9.1f} ms")


def _multiply(connection: sa.Connection, turn: int) -> None:
    """Copies of all first rows and verdicts, under ids of their own."""
    for table, key in ((answers, "id"), (verdicts, "answer_id")):
        names = [c.name for c in table.columns if not (table is verdicts and c.name == "id")]
        chosen = [sa.literal(f"x{turn}_").concat(table.c[n]) if n == key else table.c[n] for n in names]
        statement = sa.select(*chosen).where(~table.c[key].startswith("x"))
        connection.execute(sa.insert(table).from_select(names, statement))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("seed", "time"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int)
    chosen = parser.parse_args()
    if chosen.what == "seed":
        chosen.folder.mkdir(parents=True, exist_ok=True)
        (chosen.folder / "audit.db").unlink(missing_ok=True)
        asyncio.run(seed(chosen.folder, chosen.rows or 3000))
    else:
        measure(chosen.folder, chosen.rows or 200_000)
