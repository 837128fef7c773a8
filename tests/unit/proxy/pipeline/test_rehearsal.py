"""What a first answer needs is loaded before it comes."""

from __future__ import annotations

import json
import subprocess
import sys
from textwrap import dedent

import pytest

from tests.support.upstream import completion

FIRST_ANSWER = dedent(
    """
    import asyncio, json, sys
    from hedgerow.proxy.config import Route, Settings
    from hedgerow.proxy.config.kinds import load_object
    from hedgerow.proxy.pipeline.job import job_of
    from hedgerow.proxy.pipeline.rehearsal import rehearse
    from hedgerow.proxy.pipeline.result import Run
    from hedgerow.proxy.pipeline.run import calibrate
    from hedgerow.proxy.services.services import ROUTE_PIPELINES, STORED_MAPS
    from hedgerow.proxy.upstreams.readiness import Readiness

    class Upstream:
        honours_n = True

        async def complete(self, call):
            return json.loads(sys.argv[2])

    settings = Settings.model_validate({
        "upstreams": {"up": {"provider": "openai", "base_url": "http://up.example/v1"}},
        "routes": [{"name": "qa", "upstream": "up", "mode": "on", "sampling": {"n": 3, "min_n": 3},
                    "rewriting": {"by": "local"}}],
    })
    route, = settings.routes
    pipelines = load_object(ROUTE_PIPELINES)(settings, {"up": Upstream()}, load_object(STORED_MAPS)(settings, None),
                                             Readiness())
    if sys.argv[1] == "rehearsed":
        rehearse(settings.routes, pipelines)
    opened = []
    sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
    body = {"model": "m", "messages": [{"role": "user", "content": "Who wrote Faust?"}]}
    run = Run(job_of(route, "/chat/completions", body, {}))
    asyncio.run(calibrate(run, pipelines["qa"]))
    print(json.dumps([run.result.status, opened]))
    """
)


def first_answer(how: str) -> list[object]:
    """Status of the first answer of a process, and the files that were opened for it."""
    answers = json.dumps(completion("Goethe.", "Goethe.", "Schiller."))
    done = subprocess.run(
        [sys.executable, "-c", FIRST_ANSWER, how, answers], capture_output=True, text=True, check=True
    )
    modules: list[object] = json.loads(done.stdout.splitlines()[-1])
    return modules


@pytest.mark.slow
def test_a_first_answer_reads_no_file() -> None:
    """Without the rehearsal it reads several, on the event loop."""
    assert first_answer("rehearsed") == ["hedged", []]
    status, opened = first_answer("unprepared")
    assert status == "hedged"
    assert opened
