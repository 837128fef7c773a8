"""Which routes use the shipped judge, and what is said where it cannot run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hedgerow.proxy.clustering import local
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.services.services import check_services, judge_state


def _settings(tmp_path: Path, **route: Any) -> Settings:
    return Settings(
        upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},  # type: ignore[dict-item]
        routes=[{"name": "test", "upstream": "u", "mode": "on"} | route],  # type: ignore[arg-type]
        maps={"folder": tmp_path},  # type: ignore[arg-type]
        audit={"url": f"sqlite:///{tmp_path}/audit.db", "spool": tmp_path / "spool"},  # type: ignore[arg-type]
    )


ASKED = {
    "judge.claims": {"judge": {"claims": "local"}},
    "rewriting.entailment": {"rewriting": {"entailment": "local"}},
}


@pytest.mark.parametrize("key", ASKED)
def test_a_route_that_names_the_judge_where_it_cannot_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """With the key and what to install."""
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=rf"routes: test: {key}: local: onnxruntime is not installed: pip install"):
        check_services(_settings(tmp_path, **ASKED[key]))


@pytest.mark.skipif(local.missing() is not None, reason=local.missing() or "")
@pytest.mark.parametrize("key", ASKED)
def test_a_route_may_name_the_judge_where_it_is_installed(tmp_path: Path, key: str) -> None:
    assert check_services(_settings(tmp_path, **ASKED[key])) == []


def test_a_route_that_leaves_it_open_says_who_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words alone where the extra is missing; nothing is said where no route asks."""
    open_ = _settings(tmp_path, judge={"claims": "auto"})
    assert judge_state(_settings(tmp_path)) is None
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    assert judge_state(open_) == "none: onnxruntime is not installed: pip install 'hedgerow[judge]'"
    assert check_services(open_) == []
