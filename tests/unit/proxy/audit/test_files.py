"""Verdicts from files, the audit into files, and a new map from verdicts: as an operator types it."""

from __future__ import annotations

import asyncio
import codecs
import gzip
import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.operators import read_changes, states
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import open_store
from hedgerow.proxy.audit.verdicts import MAX_VERDICTS, PICKED, Verdict, write_verdicts
from hedgerow.proxy.cli import app
from hedgerow.proxy.cli.shared.store import whoami
from hedgerow.proxy.config import load
from hedgerow.proxy.services.active_map import stored_maps
from tests.support.audit import agreement, fill, right
from tests.unit.proxy.audit.conftest import entry


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration with one route; its audit is empty."""
    path = tmp_path / "config.yaml"
    content = {
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "on"}],
        "audit": {"url": f"sqlite:///{tmp_path}/a.db", "spool": str(tmp_path / "spool"), "synchronous": "normal"},
        "maps": {"folder": str(tmp_path / "maps")},
    }
    path.write_text(yaml.safe_dump(content))
    return path


def filled(config: Path, n: int, judged: bool = True) -> list[str]:
    """Answers whose agreement overstates them."""
    rng = np.random.default_rng(4)
    agree = agreement(rng, n)
    correct = right(rng, agree)

    async def work() -> list[str]:
        store = await open_store(load(config).audit, lambda _: None)
        try:
            return await fill(store, agree, correct if judged else [])
        finally:
            await store.aclose()

    return asyncio.run(work())


def run(config: Path, *arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments), "--config", str(config)])
    assert result.exit_code == code, result.output
    return result


def test_a_csv_is_imported_line_by_line(config: Path, tmp_path: Path) -> None:
    """Words and numbers are read, bad lines named with their number, and the second time changes nothing."""
    names = filled(config, 6, judged=False)
    file = tmp_path / "verdicts.csv"
    lines = [f"{names[0]},yes,", f"{names[1]},0,really", "nobody,1,", f"{names[2]},maybe,", f"{names[3]},0.5,"]
    file.write_text("id,correct,note\n" + "\n".join(lines) + "\n")
    first = run(config, "audit", "import", file, "--actor", "ada", code=1)
    assert "3 verdicts recorded, 0 known already, 2 lines at fault" in first.stdout
    assert "line 4: no audit row has the id 'nobody'" in first.stderr
    assert "line 5: 'correct': expected" in first.stderr
    assert "0 verdicts recorded, 3 known already" in run(config, "audit", "import", file, code=1).stdout
    out = tmp_path / "out.jsonl"
    run(config, "audit", "export", out)
    rows = {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}
    assert [rows[name]["correct"] for name in names[:5]] == [1.0, 0.0, None, 0.5, None]
    assert (rows[names[1]]["kind"], rows[names[1]]["actor"]) == ("import", "ada")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "csv.gz", "parquet"])
def test_an_export_is_read_back_by_evaluate(config: Path, tmp_path: Path, ending: str) -> None:
    """The same figures whichever form it takes."""
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    filled(config, 300)
    out = tmp_path / f"out.{ending}"
    assert "300 answers" in run(config, "audit", "export", out, "--route", "test").stdout
    result = CliRunner().invoke(app, ["evaluate", "--data", str(out), "--json", "--resamples", "0"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["n"], document["n_fitted"], document["bad_rows"]) == (210, 90, 0)
    assert document["generalised_ece"]["after"] < document["generalised_ece"]["before"]


def test_of_what_the_review_queue_picked_no_figure_is_taken(config: Path, tmp_path: Path) -> None:
    """An export says which answers were picked for their confidence; a map may learn from them, a share of what is served is not theirs."""
    names = filled(config, 340, judged=False)
    verdicts = [Verdict(name, i % 2, propensity=PICKED if i < 40 else None) for i, name in enumerate(names)]
    engine = open_engine(load(config).audit)
    write_verdicts(engine, verdicts)
    engine.dispose()
    for ending in ("jsonl", "csv"):
        out = tmp_path / f"out.{ending}"
        run(config, "audit", "export", out)
        evaluated = CliRunner().invoke(app, ["evaluate", "--data", str(out), "--json", "--resamples", "0"])
        assert json.loads(evaluated.stdout)["n_fitted"] + json.loads(evaluated.stdout)["n"] == 300
        assert "left out: 40 rows that the review queue picked" in evaluated.stderr
        certified = run(config, "certify", "-p", "answered_wrong<=70%", "--data", out)
        assert "300 labelled answers of a file" in certified.stdout
        assert "left out: 40 rows picked by the review queue" in certified.stdout
        # The default name has the second and the data's hash: both files may be fitted within one second.
        fitted = run(config, "fit", "--data", out, "--version", f"of-{ending}", "--json")
        assert json.loads(fitted.stdout)["provenance"]["n"] == 340


def test_a_file_that_cannot_be_read_or_written_is_one_sentence(config: Path, tmp_path: Path) -> None:
    filled(config, 1)
    assert "cannot be read" in run(config, "audit", "import", tmp_path / "nothing.csv", code=2).stderr
    assert "cannot be written" in run(config, "audit", "export", tmp_path / "no" / "folder.jsonl", code=2).stderr
    assert "names no form" in run(config, "audit", "export", tmp_path / "answers.xlsx", code=2).stderr
    assert not (tmp_path / "answers.xlsx").exists()
    assert "Use a date" in run(config, "audit", "export", tmp_path / "x.jsonl", "--since", "soon", code=2).stderr


COMMANDS = [
    "audit verify", "audit purge", "audit delete --user ada", "audit replay", "audit summary", "audit worst",
    "audit export {out}", "audit import {verdicts}", "routes list", "routes set-mode test off", "routes changes",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_but_migrate_creates_a_store(config: Path, tmp_path: Path, command: str) -> None:
    """A mistyped `audit.url` is one sentence and exit code 2, the same for all, and leaves no empty database behind."""
    (tmp_path / "verdicts.csv").write_text("id,correct\nhr_1,1\n")
    words = command.format(out=tmp_path / "out.jsonl", verdicts=tmp_path / "verdicts.csv").split()
    expected = f"hedgerow: {config}: No audit store exists at {tmp_path}/a.db. Check `audit.url`"
    assert run(config, *words, code=2).stderr.startswith(expected)
    assert not (tmp_path / "a.db").exists()


def test_an_export_of_a_dead_store_is_one_sentence(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database goes away between the opening and the first query: no traceback."""
    filled(config, 3)
    opened = open_engine

    def open_and_break(settings: Any) -> Any:
        engine = opened(settings)
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE verdicts")
        return engine

    monkeypatch.setattr("hedgerow.proxy.audit.engine.open_engine", open_and_break)
    result = run(config, "audit", "export", tmp_path / "out.jsonl", code=2)
    assert result.stderr.strip() == f"hedgerow: {config}: The audit store cannot be read: OperationalError."


def test_a_refit_is_activated_once_and_not_again(config: Path) -> None:
    """It beats having no map; fitted on the same verdicts again it does not beat itself, and the command says so with 1."""
    filled(config, 600)
    ask = ("fit", "--from-audit", "--route", "test", "--since", "14d", "--activate")
    first = json.loads(run(config, *ask, "--version", "one", "--json").stdout)
    assert (first["in_use"], first["n_fitted"], first["n_compared"]) == (None, 300, 300)
    assert first["metrics"]["faithfulness_divergence"]["difference_interval"][1] < 0
    engine = open_engine(load(config).audit)
    assert states(engine)["test"].map_id == "one"
    assert [(c.actor, c.what, c.after) for c in read_changes(engine)] == [(whoami(), "map", "one")]
    again = run(config, *ask, "--version", "two", code=1)
    assert "does not beat one beyond noise" in again.stderr
    assert "hedgerow routes activate test two" in again.stderr
    assert states(engine)["test"].map_id == "one"
    engine.dispose()
    assert "two" in run(config, "maps", "list").stdout


def claimed(config: Path, n: int) -> list[str]:
    """Long answers of four claims each, whose agreement overstates them, with verdicts on claims and on whole answers."""
    rng = np.random.default_rng(5)
    agree = agreement(rng, 4 * n)
    correct = right(rng, agree)
    names = [f"hr_{i:011x}{i:016x}" for i in range(n)]

    async def work() -> None:
        store = await open_store(load(config).audit, lambda _: None)
        try:
            for i, name in enumerate(names):
                betas = [[float(a), float(10 - a)] for a in agree[4 * i : 4 * i + 4]]
                claims = [
                    {"start": 0, "end": 1, "sentence": 0, "raw": b, "calibrated": b, "borne_out": []} for b in betas
                ]
                row = {
                    "raw_alpha": 5.0,
                    "raw_beta": 5.0,
                    "alpha": 5.0,
                    "beta": 5.0,
                    "signal": "consistency",
                    "claims": claims,
                }
                await store.write(
                    entry(name, route="test", created_at=time.time() - n + i, texts=Texts(claims=("w",) * 4), **row)
                )
            verdicts = [Verdict(names[i // 4], float(y), claim=i % 4) for i, y in enumerate(correct)]
            for first in range(0, len(verdicts), MAX_VERDICTS):
                await store.add_verdicts(verdicts[first : first + MAX_VERDICTS])
            await store.add_verdicts([Verdict(name, 0.0) for name in names])
        finally:
            await store.aclose()

    asyncio.run(work())
    return names


def test_claims_with_verdicts_fit_a_map_of_their_own(config: Path) -> None:
    """On the claims and not on the answers, activated for claims beside whatever the route's answers have, and noted."""
    claimed(config, 300)
    ask = ("fit", "--from-audit", "--route", "test", "--signal", "consistency", "--activate")
    first = json.loads(run(config, *ask, "--version", "of-claims", "--json").stdout)
    assert (first["in_use"], first["n_fitted"], first["n_compared"], first["activated"]) == (None, 600, 600, True)
    settings = load(config)
    engine = open_engine(settings.audit)
    maps = stored_maps(settings, engine)
    assert states(engine) == {}
    assert [(c.actor, c.what, c.after) for c in read_changes(engine)] == [(whoami(), "claims map", "of-claims")]
    found = [maps.active(settings.routes[0], "m", signal) for signal in ("semantic", "consistency")]
    engine.dispose()
    assert [active.version for active in found] == [None, "of-claims"]
    assert found[0].warnings == ()


def test_claims_go_out_into_a_file_and_verdicts_on_them_come_back(config: Path, tmp_path: Path) -> None:
    """The export is what `fit --data --signal consistency` reads; each claim is imported by its number."""
    names = claimed(config, 60)
    out = tmp_path / "claims.jsonl"
    assert "240 claims written" in run(config, "audit", "export", out, "--claims").stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["claim"] for row in rows} == {0, 1, 2, 3}
    assert "text" not in rows[0]
    fitted = run(config, "fit", "--data", out, "--signal", "consistency", "--version", "from-file").stdout
    assert "fitted on 240 answers" in fitted
    verdicts = tmp_path / "verdicts.csv"
    verdicts.write_text(f"id,claim,correct\n{names[0]},1,1\n{names[0]},,0\n{names[0]},9,1\n{names[0]},x,1\n")
    done = run(config, "audit", "import", verdicts, "--source", "expert", code=1)
    assert "2 verdicts recorded" in done.stdout
    assert "line 4: no audit row with a claim 9" in done.stderr
    assert "line 5: 'claim': expected the number of a claim" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--from-audit",), "takes --route"),
        (("--from-audit", "--route", "test", "--signal", "consistency"), "no verdict on a claim"),
        (("--from-audit", "--route", "none"), "no route is called 'none'"),
        (("--from-audit", "--route", "test"), "no verdict on an answer"),
        ((), "--data names"),
    ],
)
def test_a_refit_that_cannot_be_made_is_one_sentence(config: Path, arguments: tuple[str, ...], sentence: str) -> None:
    run(config, "audit", "migrate")
    assert sentence in run(config, "fit", *arguments, code=2).stderr


def test_routes_are_listed_switched_and_rolled_back(config: Path) -> None:
    """With who did it; what does not exist is refused."""
    run(config, "audit", "migrate")
    run(config, "routes", "set-mode", "test", "shadow", "--note", "holiday")
    assert "test  shadow  map auto: none  grey" in run(config, "routes", "list").stdout
    assert f"{whoami()}  test: mode as configured -> shadow  (holiday)" in run(config, "routes", "changes").stdout
    assert "there is no map" in run(config, "routes", "activate", "test", "none", code=2).stderr
    assert "has had no other map" in run(config, "routes", "rollback", "test", code=2).stderr
    run(config, "routes", "activate", "test", "identity")
    assert "identity -> as configured" in run(config, "routes", "rollback", "test").stdout
    assert "no route is called 'x'" in run(config, "routes", "set-mode", "x", "on", code=2).stderr


def test_json_lines_of_every_kind_are_imported(config: Path, tmp_path: Path) -> None:
    """Grades, words and booleans count; each line that cannot be used is named with what is wrong, the rest is recorded."""
    first, second, third, *_ = filled(config, 5, judged=False)
    path = tmp_path / "verdicts.jsonl"
    rows = [
        json.dumps({"id": first, "correct": True, "note": "checked"}),
        "",
        json.dumps({"id": second, "correct": "0.25"}),
        json.dumps({"id": third, "correct": "no"}),
        "{broken",
        "[1, 2]",
        json.dumps({"correct": True}),
        json.dumps({"id": third, "correct": "perhaps"}),
        json.dumps({"id": third, "correct": 7}),
        json.dumps({"id": "hr_unknown", "correct": 1}),
        *(["null and void"] * 8),
    ]
    path.write_text("\n".join(rows))
    done = run(config, "audit", "import", path, code=1)
    assert "3 verdicts recorded" in done.stdout
    for line, fault in ((5, "not valid JSON"), (6, "not a JSON object"), (7, "'id' is missing"), (8, "'correct'")):
        assert f"line {line}: {fault}" in done.stderr
    assert "more" in done.stderr
    assert "3 known already" in run(config, "audit", "import", path, code=1).stdout


def test_a_packed_file_without_faults_ends_with_0(config: Path, tmp_path: Path) -> None:
    names = filled(config, 2, judged=False)
    file = tmp_path / "verdicts.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(json.dumps({"id": name, "correct": True}) for name in names).encode()))
    assert "2 verdicts recorded, 0 known already, 0 lines at fault" in run(config, "audit", "import", file).stdout


def test_a_csv_is_imported_as_a_spreadsheet_saves_it(config: Path, tmp_path: Path) -> None:
    """With a byte order mark and, where the comma is the decimal mark, semicolons; the first column was not recognised."""
    names = filled(config, 2, judged=False)
    file = tmp_path / "verdicts.csv"
    file.write_bytes(codecs.BOM_UTF8 + "".join(["id;correct\r\n", *(f"{name};yes\r\n" for name in names)]).encode())
    assert "2 verdicts recorded" in run(config, "audit", "import", file).stdout


def test_rows_that_nobody_has_judged_yet_are_no_fault(config: Path, tmp_path: Path) -> None:
    """An export goes out with an empty column `correct`, and comes back with some of it filled in."""
    first, *_ = filled(config, 3, judged=False)
    file = tmp_path / "answers.csv"
    run(config, "audit", "export", file)
    rows = [line.split(",") for line in file.read_text().splitlines()]
    column = rows[0].index("correct")
    for row in rows[1:]:
        row[column] = "yes" if first in row else ""
    file.write_text("\n".join(map(",".join, rows)))
    assert (
        "1 verdict recorded, 0 known already, 0 lines at fault, 2 rows" in run(config, "audit", "import", file).stdout
    )
    file.write_text("id,corect\nx,yes\n")
    assert "line 2: 'correct'" in run(config, "audit", "import", file, code=1).stderr


def test_a_file_without_rows_is_not_imported(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text("id,correct\n")
    filled(config, 1)
    assert f"{file}: contains no row" in run(config, "audit", "import", file, code=2).stderr


def test_a_note_that_is_no_text_costs_its_line_alone(config: Path, tmp_path: Path) -> None:
    """The store refused the whole batch, in its own words."""
    names = filled(config, 3, judged=False)
    file = tmp_path / "verdicts.jsonl"
    notes = [{"why": "long ago"}, "x" * 2001, "checked"]
    rows = [json.dumps({"id": name, "correct": True, "note": note}) for name, note in zip(names, notes, strict=True)]
    file.write_text("\n".join(rows))
    done = run(config, "audit", "import", file, code=1)
    assert "1 verdict recorded, 0 known already, 2 lines at fault" in done.stdout
    assert "line 1: 'note': expected a text of at most 2,000 characters" in done.stderr


def test_a_long_file_is_imported_in_full(config: Path, tmp_path: Path) -> None:
    """More lines than are written at once."""
    names = filled(config, MAX_VERDICTS + 3, judged=False)
    file = tmp_path / "verdicts.csv"
    file.write_text("id,correct\n" + "".join(f"{name},right\n" for name in names))
    assert f"{len(names):,} verdicts recorded" in run(config, "audit", "import", file).stdout


def test_questions_and_drafts_are_exported_only_when_asked(config: Path, tmp_path: Path) -> None:
    filled(config, 2)
    out = tmp_path / "out.jsonl"
    run(config, "audit", "export", out)
    assert not any({"question", "draft"} & json.loads(line).keys() for line in out.read_text().splitlines())
    run(config, "audit", "export", out, "--text")
    assert all({"question", "draft"} <= json.loads(line).keys() for line in out.read_text().splitlines())


def test_tables_have_moments_with_their_time_zone(config: Path, tmp_path: Path) -> None:
    """The same instants in all three forms; seconds in JSON lines, as programs read them already."""
    pytest.importorskip("pyarrow")
    filled(config, 3)
    for ending in ("jsonl", "csv", "parquet"):
        run(config, "audit", "export", tmp_path / f"out.{ending}", "--text")
    seconds = [json.loads(line)["created_at"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    parquet = pd.read_parquet(tmp_path / "out.parquet")
    assert str(parquet["created_at"].dtype) == "datetime64[us, UTC]"
    assert str(parquet["told_at"].dtype) == "datetime64[us, UTC]"
    assert [moment.timestamp() for moment in parquet["created_at"]] == pytest.approx(seconds, abs=1e-6)
    table = pd.read_csv(tmp_path / "out.csv")
    assert [datetime.fromisoformat(moment).timestamp() for moment in table["created_at"]] == pytest.approx(
        seconds, abs=1e-6
    )
    assert table.columns.tolist() == parquet.columns.tolist()
    assert {"question", "draft"} <= set(table.columns)


def test_the_recipes_for_duckdb_run(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every statement of the page, on an export; figures are those of the rows."""
    pytest.importorskip("pyarrow")
    filled(config, 300)
    monkeypatch.chdir(tmp_path)
    run(config, "audit", "export", "answers.parquet")
    run(config, "audit", "export", "answers.jsonl")
    page = (Path(__file__).parents[4] / "docs" / "audit.md").read_text(encoding="utf-8")
    recipes = [block.partition("```")[0] for block in page.split("```sql\n")[1:]]
    assert len(recipes) == 2
    by_day, by_tenth = (duckdb.sql(recipe).pl() for recipe in recipes)
    rows = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert by_day["answers"].sum() == 300
    assert (by_day["fd"] * by_day["labelled"]).sum() == pytest.approx(sum(row["fd"] for row in rows))
    tenths = np.minimum((10 * np.array([row["alpha"] / (row["alpha"] + row["beta"]) for row in rows])).astype(int), 9)
    assert dict(zip(by_tenth["tenth"], by_tenth["answers"], strict=True)) == dict(
        zip(*np.unique(tenths, return_counts=True), strict=True)
    )
    told = [
        np.mean([row["correct"] for row, at in zip(rows, tenths, strict=True) if at == tenth])
        for tenth in by_tenth["tenth"]
    ]
    assert by_tenth["accuracy"].to_list() == pytest.approx(told)
