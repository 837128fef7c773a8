"""`hedgerow init`: a first configuration, from two answers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from ...config import load
from ...errors import ConfigError
from ..shared.files import write_file
from ..shared.messages import asking, say, stop
from ..shared.options import CONFIG
from .doctor import doctor

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN_PORT = re.compile(r"^https?://(127\.0\.0\.1|localhost|\[::1\]):4000(/|$)")
_FILE = """# Hedgerow's configuration. Every key is described in docs/config.md; `hedgerow config check` checks this file.

server:
  host: 127.0.0.1
  port: {port}

upstreams:
  model:
{upstream}

routes:
  # The first route that matches takes the request.
  - name: default
    upstream: model
    mode: {mode:<8} # off: pass on; shadow: measure, change nothing; on: answer with the reworded text

audit:
  url: sqlite:///var/audit.db
"""
_EMBEDDED = """    provider: embedded

prices:
  models:
    - { model: "smollm2-*", prompt: 0, completion: 0 }  # it runs here"""
_SERVER = """    provider: openai
    base_url: {url}
    {key}"""


def init(
    base_url: Annotated[
        str | None,
        typer.Option(help='Address of a server that speaks the OpenAI protocol; "embedded": a small model here.'),
    ] = None,
    key_variable: Annotated[
        str | None,
        typer.Option(help='Environment variable that holds its key; "": the client\'s own key passes through.'),
    ] = None,
    mode: Annotated[Literal["off", "shadow", "on"], typer.Option(help="What the route does at first.")] = "shadow",
    config: Annotated[Path, typer.Option("--config", "-c", help="The file to write.")] = CONFIG,
) -> None:
    """Write a first configuration: an upstream, and a route for all requests. Asks for missing values, and then offers to test it."""
    if config.exists():
        stop(f"{config} exists already, and is not overwritten; name another file with --config")
    asks = base_url is None
    with asking('give --base-url, and --key-variable ("": each client sends its own key)'):
        base_url, key_variable = _answers(base_url, key_variable)
    upstream = _EMBEDDED if base_url == "embedded" else _SERVER.format(url=base_url, key=_key(key_variable))
    port = 4001 if _OWN_PORT.search(base_url) else 4000  # port 4000 belongs to the model's server
    _write(config, _FILE.format(upstream=upstream, mode=mode, port=port))
    say(f"{config} is written. Next: hedgerow doctor, then hedgerow serve")
    if key_variable and key_variable not in os.environ:
        say(f"the environment variable {key_variable} is not set; set it before you serve", err=True)
    elif asks:
        with asking("the file is written, and `hedgerow doctor` tries it"):
            tries = typer.confirm("Try it now, with one question to the model?", default=True)
        if tries:
            doctor(config)


def _answers(base_url: str | None, key_variable: str | None) -> tuple[str, str]:
    """Address and key variable, requested if they are not given."""
    if base_url is None:
        question = 'Address of your model\'s server ("embedded" for a small model here)'
        base_url = typer.prompt(question, "https://api.openai.com/v1")
    if key_variable is None and base_url != "embedded":
        question = "Environment variable that holds its key (empty: each client sends its own)"
        key_variable = typer.prompt(question, default="", show_default=False)
    return base_url, key_variable or ""


def _key(variable: str) -> str:
    if not variable:
        return "# api_key: ${NAME}   # unset: the client's own key passes through"
    if not _VARIABLE.fullmatch(variable):
        stop("the key's variable is a name such as OPENAI_API_KEY; the key itself does not belong into the file")
    return f"api_key: ${{{variable}}}"


def _write(config: Path, text: str) -> None:
    """Write the file, unless it would be invalid."""
    write_file(config, text)
    try:
        load(config)
    except ConfigError as error:
        if "is not set" in str(error):  # the key may be set later
            return
        config.unlink()
        stop(f"{error}; nothing is written")
