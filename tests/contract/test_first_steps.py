"""`hedgerow init` and `hedgerow doctor`, as somebody types them on the first day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse
from typer.testing import CliRunner

from hedgerow.proxy.cli import app
from hedgerow.proxy.config import load
from tests.contract.test_editor import BAD_CHECK, GOOD_CHECK
from tests.support.editing import scripted
from tests.support.needs import EMBEDDED
from tests.support.tables import cases
from tests.support.upstream import Upstream, fails, ignores_n, says

RUN = CliRunner()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, **options: Any) -> Any:
    return RUN.invoke(app, list(words), **options)


def test_the_version() -> None:
    assert run("--version").output.startswith("hedgerow ")


def test_without_a_configuration_the_way_to_one_is_said() -> None:
    for command in ("serve", "doctor"):
        done = run(command)
        assert done.exit_code in (1, 2)
        assert "`hedgerow init` writes a first one" in done.stderr


def test_two_answers_make_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key itself never gets into the file; a file that is there is not touched."""
    done = run("init", input="https://api.example.com/v1\nEXAMPLE_KEY\n")
    assert done.exit_code == 0, done.output
    assert "EXAMPLE_KEY is not set" in done.stderr
    monkeypatch.setenv("EXAMPLE_KEY", "sk-1")
    settings = load(Path("config.yaml"))
    assert (settings.upstreams["model"].base_url, settings.routes[0].mode) == ("https://api.example.com/v1", "shadow")
    assert "sk-1" not in Path("config.yaml").read_text()
    again = run("init", "--base-url", "embedded")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


@pytest.mark.parametrize("proxy", ["https://p.example:3128", "socks5://p.example:1080", "http://", "p.example:99999"])
@pytest.mark.parametrize("command", [("config", "check"), ("doctor",)])
def test_a_proxy_that_is_not_spoken_to_is_told(
    monkeypatch: pytest.MonkeyPatch, proxy: str, command: tuple[str, ...]
) -> None:
    """Before anything is sent there in the clear; an upstream that is reached directly needs none."""
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    assert run("init", "--base-url", "https://api.example.com/v1", "--key-variable", "").exit_code == 0
    done = run(*command, "--config", "config.yaml")
    assert done.exit_code in (1, 2)
    assert "HTTPS_PROXY must name a proxy as http://" in done.output
    monkeypatch.setenv("NO_PROXY", "example.com")
    assert run("config", "check", "--config", "config.yaml").exit_code == 0


def test_the_doctor_says_what_is_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert run("init", "--base-url", "https://api.example.com/v1", "--key-variable", "").exit_code == 0
    assert "network: reached through the proxy of HTTPS_PROXY: model" in run("doctor").output


def test_a_model_at_our_own_port_gets_another_one() -> None:
    assert run("init", "--base-url", "http://localhost:4000/v1", "--key-variable", "").exit_code == 0
    assert load(Path("config.yaml")).server.port == 4001


@pytest.mark.parametrize("address", ["http://127.0.0.1:4100/v1", "http://localhost:4100", "http://[::1]:4100/v1"])
def test_a_proxy_that_would_ask_itself_is_told(folder: Path, address: str) -> None:
    """It does not start, and no request goes round until its client gives up; on another port it asks whatever is there."""
    (folder / "c.yaml").write_text(
        f"server: {{ host: 0.0.0.0, port: 4100 }}\nupstreams: {{ u: {{ provider: openai, base_url: '{address}' }} }}\n"
        "routes: [{ name: r, upstream: u }]\n"
    )
    for command in (("config", "check"), ("serve",)):
        done = run(*command, "--config", "c.yaml")
        assert done.exit_code == 1
        assert f"upstreams.u.base_url is {address}, where this proxy listens itself" in done.stderr
    elsewhere = run("config", "check", "--config", "c.yaml", env={"HEDGEROW_SERVER__PORT": "4101"})
    assert elsewhere.exit_code == 0, elsewhere.output


def test_the_embedded_model_costs_nothing() -> None:
    assert run("init", "--base-url", "embedded").exit_code == 0
    (price,) = load(Path("config.yaml")).prices.models
    assert (price.prompt, price.completion) == (0, 0)


def test_who_is_asked_may_try_it_at_once(upstream: Upstream) -> None:
    """The new configuration is taken through the doctor's questions."""
    upstream.default = says("Canberra")
    done = run("init", input=f"{upstream.url}\n\ny\n")
    assert done.exit_code == 0, done.output
    assert "'Canberra'" in done.output


@cases(
    ("words", "typed", "instead"),
    [
        ((), "", "give --base-url"),
        (("--base-url", "http://127.0.0.1:9/v1"), "", "and --key-variable"),
        ((), "http://127.0.0.1:9/v1\n\n", "`hedgerow doctor` tries it"),
    ],
)
def test_nobody_at_the_terminal(words: tuple[str, ...], typed: str, instead: str) -> None:
    """In a script or a job nobody answers: one sentence says what to give instead; it was "Aborted."."""
    done = run("init", *words, input=typed)
    assert (done.exit_code, "Aborted" in done.stderr) == (2, False)
    assert instead in done.stderr.splitlines()[-1]


def test_the_doctor_names_the_map(upstream: Upstream) -> None:
    """None on the first day."""
    upstream.default = says("Canberra")
    configured(upstream, mode="on")
    assert "no map yet" in run("doctor", "--model", "m").output


@cases(
    ("typed", "offered"), [("hedgerow dem", "demo"), ("hedgerow fit --ma", "--map"), ("hedgerow maps act", "activate")]
)
def test_the_shell_completes_commands_and_their_options(typed: str, offered: str) -> None:
    """What `hedgerow --install-completion` sets up asks this; commands are loaded for it as they are for running."""
    asked = {"_HEDGEROW_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    done = run(env=asked, prog_name="hedgerow")
    assert offered in done.output.split()


@cases(
    ("words", "said"),
    [
        (["--base-url", "api.example.com", "--key-variable", ""], "must be an address"),
        (["--base-url", "https://api.example.com/v1", "--key-variable", "sk-proj-1/2"], "the key itself does not"),
    ],
)
def test_what_could_not_be_used_is_not_written(words: list[str], said: str) -> None:
    done = run("init", *words)
    assert done.exit_code == 2
    assert said in done.stderr
    assert not Path("config.yaml").exists()


def configured(upstream: Upstream, **options: str) -> None:
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    assert run("init", "--base-url", upstream.url, "--key-variable", "", *words).exit_code == 0


def test_the_doctor_says_what_works_and_what_it_takes(upstream: Upstream) -> None:
    """Two answers of 3 tokens to a prompt of 7: ten take 37, a plain one 10."""
    upstream.default = says("Canberra")
    configured(upstream, mode="on")
    done = run("doctor", "--model", "m")
    assert done.exit_code == 0, done.output
    for said in (
        "'Canberra'",
        "`n`: taken; 10 answers in one call",
        "about 37 tokens calibrated, 10 plain: what that costs is not known",
    ):
        assert said in done.output
    assert upstream.calls[0]["model"] == "m"
    assert "! route default, upstream model: this question takes" in done.output


@pytest.mark.parametrize(
    ("reply", "mark", "said"),
    [
        (GOOD_CHECK, "✓", "m marks answers as asked"),
        ("Sure! I would add 'probably'.", "!", "m cannot word answers (the reply is not of the requested form"),
        (BAD_CHECK, "!", "m cannot word answers (the reply changes a sentence whose claims are sure)"),
    ],
)
def test_the_doctor_says_who_words_the_answers(upstream: Upstream, reply: str, mark: str, said: str) -> None:
    scripted(upstream, reply, "Leonardo da Vinci.")
    configured(upstream, mode="on")
    done = run("doctor", "--model", "m")
    assert f"{mark} route default, editor: {said}" in done.output
    assert done.exit_code == 0


@pytest.mark.embedded
@EMBEDDED
def test_the_doctor_does_not_ask_the_embedded_model_to_edit(upstream: Upstream) -> None:
    assert run("init", "--base-url", "embedded").exit_code == 0
    assert "· route default, editor: none: answers are worded locally" in run("doctor").output


def test_the_doctor_notices_an_upstream_without_n(upstream: Upstream) -> None:
    """One that gives a single choice, and one that refuses the parameter."""
    upstream.default = ignores_n("Canberra")
    configured(upstream, mode="on")
    assert "10 answers in 10 calls of one" in run("doctor").output

    def refuses_n(_request: Any, body: Any) -> Any:
        if "n" in body:
            return JSONResponse({"error": {"message": "n is not supported"}}, 400)
        return says("Canberra")(_request, body)

    upstream.default = refuses_n
    done = run("doctor")
    assert done.exit_code == 0
    assert "refuses `n` and `logprobs` (status 400)" in done.output


def test_the_doctor_passes_on_what_an_upstream_says_against_a_key(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.default = fails(401, {"error": {"message": "Incorrect API key provided."}})
    configured(upstream)
    done = run("doctor")
    assert done.exit_code == 1
    assert "Incorrect API key provided." in done.output
    assert "it wants a key" in done.output
    monkeypatch.setenv("MY_KEY", "sk-mine")
    done = run("doctor", "--key-variable", "MY_KEY")
    assert "the key is refused" in done.output
    assert "sk-mine" not in done.output
    assert upstream.headers[-1]["authorization"] == "Bearer sk-mine"


def test_a_key_of_the_configuration_that_is_refused_is_not_asked_for_again(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` says that it is refused, and `ask` what the upstream says."""
    upstream.default = fails(401, {"error": {"message": "Incorrect API key provided."}})
    monkeypatch.setenv("WRONG_KEY", "sk-wrong")
    configured(upstream, **{"key-variable": "WRONG_KEY"})
    done = run("doctor")
    assert "the key is refused" in done.output
    assert "sk-wrong" not in done.output
    asked = run("ask", "Who wrote Emma?")
    assert asked.exit_code == 1
    assert "the upstream answered with status 401: Incorrect API key provided." in asked.output


def test_an_upstream_that_is_not_there_is_one_line() -> None:
    assert run("init", "--base-url", "http://127.0.0.1:9/v1", "--key-variable", "").exit_code == 0
    done = run("doctor")
    assert done.exit_code == 1
    (line,) = [line for line in done.output.splitlines() if line.startswith("✗")]
    said = "cannot be reached at 127.0.0.1:9 (upstreams.model.base_url): ConnectionRefusedError: Connection refused"
    assert line.endswith(said)
    assert "upstream_retry" not in done.output
