"""The files of deploy/, held against the schemas of the tools that read them and against the proxy itself. No container engine is needed."""

from __future__ import annotations

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hedgerow.proxy.config import load
from hedgerow.proxy.monitoring.metrics import Metrics
from tests.support.tables import cases

DEPLOY = Path(__file__).parents[3] / "deploy"
KUBERNETES = sorted(set((DEPLOY / "kubernetes").glob("*.yaml")) - {DEPLOY / "kubernetes" / "kustomization.yaml"})
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "hedgerow.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
ENVIRONMENT = {
    "HEDGEROW_ADMIN_KEY": "an-admin-key-of-a-cluster",
    "HEDGEROW_UPSTREAM_URL": "http://127.0.0.1:9/v1",
    "HEDGEROW_AUDIT_URL": "postgresql+psycopg://hedgerow:x@127.0.0.1/hedgerow",
}


def parsed(name: str) -> Any:
    """One Kubernetes manifest."""
    return yaml.safe_load((DEPLOY / "kubernetes" / f"{name}.yaml").read_text(encoding="utf-8"))


@cases("path", KUBERNETES, ids=lambda path: path.stem)
def test_manifests_follow_the_schemas_of_kubernetes(path: Path) -> None:
    """Strictly: a key that the API does not know is an error."""
    import kubernetes_validate

    manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert kubernetes_validate.validate(manifest, "1.31", strict=True) == "1.31"


def test_kustomization_names_every_manifest_once() -> None:
    """A manifest that is not listed is never applied."""
    listed = parsed("kustomization")["resources"]
    assert sorted(listed) == sorted(path.name for path in KUBERNETES)


def test_compose_follows_its_schema() -> None:
    """The compose specification's own schema."""
    source = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(json.loads(source.read_text(encoding="utf-8")))
    assert [fault.message for fault in validator.iter_errors(composed)] == []
    for service in composed["services"].values():
        for volume in service.get("volumes", []):
            source_path = volume.split(":")[0]
            assert not source_path.startswith("./") or (DEPLOY / source_path).exists(), volume


@pytest.mark.parametrize("where", ["file", "configmap"])
def test_deployed_configuration_is_a_configuration(where: str, tmp_path: Path, monkeypatch: Any) -> None:
    """What the containers start with passes the same check as any other, with the variables that compose and the Secret set."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    path = DEPLOY / "config.yaml"
    if where == "configmap":
        path = tmp_path / "config.yaml"
        path.write_text(parsed("configmap")["data"]["config.yaml"], encoding="utf-8")
    settings = load(path)
    assert settings.audit.url == ENVIRONMENT["HEDGEROW_AUDIT_URL"]
    assert settings.routes[0].mode == "shadow"


def test_every_variable_of_the_configuration_is_set_in_the_cluster() -> None:
    """A variable that nobody sets would stop the pods at their start."""
    wanted = set(re.findall(r"\$\{(\w+)\}", parsed("configmap")["data"]["config.yaml"]))
    secrets = set(parsed("secret")["stringData"])
    for name in ("deployment", "migration"):
        (container,) = parsed(name)["spec"]["template"]["spec"]["containers"]
        assert wanted == secrets | {entry["name"] for entry in container["env"]}, name


def test_image_is_small_in_rights() -> None:
    """Two stages, no compiler in either; no root, a health check, and starts the command that operators know."""
    stages = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").split("\nFROM ")[1:]
    last = stages[-1]
    assert len(stages) == 2
    assert not re.search(r"apt-get|build-essential|cmake|gcc", "\n".join(stages))
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert '\nENTRYPOINT ["hedgerow"]' in last
    assert not re.search(r":latest\b", "\n".join(stages))


def test_grace_is_longer_than_the_drain() -> None:
    """The orchestrator kills only after the proxy has had its time to let requests end."""
    from hedgerow.proxy.cli.serving.serve import SHUTDOWN_S

    assert parsed("deployment")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > SHUTDOWN_S
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert int(composed["services"]["proxy"]["stop_grace_period"].removesuffix("s")) > SHUTDOWN_S


def known_series() -> set[str]:
    """Every series name that the proxy exposes."""
    found = set()
    for family in Metrics().registry.collect():
        suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
        found |= {family.name + suffix for suffix in suffixes}
    return found


def queries() -> list[str]:
    """Every query of the dashboard and the alerts."""
    found = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    return found + [rule["expr"] for rule in ALERTS] + [DASHBOARD["templating"]["list"][0]["query"]]


@cases("query", queries())
def test_queries_ask_for_series_that_exist(query: str) -> None:
    """A renamed metric would leave an empty panel, or an alert that never fires."""
    asked = set(re.findall(r"\bhedgerow_\w+", query))
    assert asked <= known_series()
    assert asked or query.startswith("up{")


def test_labels_of_queries_exist() -> None:
    """Grouping by a label that a metric does not have gives one nameless line."""
    labels = {"le", "job"}
    for metric in Metrics().registry._collector_to_names:
        labels |= set(getattr(metric, "_labelnames", ()))
    for query in queries():
        for group in re.findall(r"by \(([^)]*)\)", query):
            assert {name.strip() for name in group.split(",")} <= labels, query


def test_every_alert_links_to_its_runbook() -> None:
    """Each alert has a section that says where to look and what to do, links to it, and no section stays behind when an alert goes."""
    text = (DEPLOY.parent / "docs" / "runbooks.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == {rule["alert"] for rule in ALERTS}
    for rule in ALERTS:
        assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{rule['alert'].lower()}"
        assert "**Look**" in sections[rule["alert"]], rule["alert"]
        assert "**Do**" in sections[rule["alert"]], rule["alert"]


def test_panels_do_not_overlap() -> None:
    """Grafana would shift them about."""
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
