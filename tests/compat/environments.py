"""Where the clients are installed: a Python and a folder of Node packages, and which versions of them are there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CLIENTS = Path(__file__).parent / "clients"


@dataclass(frozen=True)
class Client:
    """A program of `tests/compat/clients/`: its name for readers, the package that it needs (none: it needs a command) and since when."""

    name: str
    package: str = ""
    since: int = 0
    """The least minor version that can run it."""
    beyond: tuple[str, ...] = ()
    """Where it is run besides the four modes."""
    leaves: bool = False
    """Whether it leaves its streams before they end."""


CHAT_ALONE = ("chat alone, off", "chat alone, on")
"""Before an upstream that speaks chat alone, whatever the client asks."""
CALLS = ("calls: ask", "calls: escalate")
"""On a route that does something about calls of tools on which the answers disagree."""
BOTH = CHAT_ALONE + CALLS
KNOWN = {
    "openai_python.py": Client("openai (Python)", "openai", beyond=BOTH),
    "anthropic_python.py": Client("anthropic (Python)", "anthropic", beyond=BOTH),
    "openai_agents.py": Client("openai-agents", "openai-agents", beyond=BOTH),
    "pydantic_ai_.py": Client("pydantic-ai", "pydantic-ai-slim", beyond=CHAT_ALONE),
    "pydantic_ai_anthropic.py": Client("pydantic-ai with anthropic", "pydantic-ai-slim", since=68, beyond=CHAT_ALONE),
    "instructor_.py": Client("instructor", "instructor"),
    "langchain_.py": Client("langchain-openai", "langchain-openai", beyond=BOTH),
    "langchain_standard.py": Client("langchain-tests", "langchain-tests", beyond=CHAT_ALONE),
    "llama_index_.py": Client("llama-index", "llama-index-llms-openai"),
    "dspy_.py": Client("DSPy", "dspy"),
    "litellm_.py": Client("LiteLLM", "litellm"),
    "llm_.py": Client("llm", "llm"),
    "openai_node.mjs": Client("openai (Node)", "openai", beyond=BOTH),
    "ai_sdk.mjs": Client("AI SDK", "ai", beyond=BOTH),
    "accumulating_openai.mjs": Client("openai (Node), manners of providers", "openai"),
    "anthropic_node.mjs": Client("anthropic (Node)", "@anthropic-ai/sdk", beyond=CHAT_ALONE),
    "Jdk.java": Client("JDK HttpClient"),
    "curl.sh": Client("curl"),
    "leaving_openai.py": Client("openai (Python), leaving", "openai", leaves=True),
    "leaving_openai.mjs": Client("openai (Node), leaving", "openai", leaves=True),
    "leaving_ai_sdk.mjs": Client("AI SDK, leaving", "ai", leaves=True),
}
COMMANDS = {".py": "python", ".mjs": "node", ".java": "java", ".sh": "bash"}


@dataclass(frozen=True)
class Environment:
    """A Python, what is installed for it, and a folder that holds `node_modules`."""

    python: str
    installed: Mapping[str, str]
    node: Path | None = None

    @classmethod
    def at(cls, folder: Path) -> Environment:
        """A virtual environment with node_modules beside its bin."""
        python = folder / "bin" / "python"
        return cls(str(python), _distributions(str(python)), folder)

    @classmethod
    def own(cls) -> Environment:
        """The Python that runs this."""
        return cls(sys.executable, _distributions(sys.executable))

    def version(self, client: str) -> str | None:
        """The version of a client's package; "" for what needs none; None where it is not here."""
        package, kind = KNOWN[client].package, Path(client).suffix
        if not package:
            return (
                "" if shutil.which(COMMANDS[kind]) and shutil.which(Path(client).stem.replace("Jdk", "java")) else None
            )
        if kind == ".py":
            version = self.installed.get(package)
            return version if version and int(version.split(".")[1]) >= KNOWN[client].since else None
        described = self.node and self.node / "node_modules" / package / "package.json"
        if not described or not described.exists() or not shutil.which("node"):
            return None
        return str(json.loads(described.read_text(encoding="utf-8"))["version"])

    def command(self, program: Path, folder: Path) -> list[str]:
        """How a program is run in a folder of its own; Node looks for packages beside the file."""
        kind = program.suffix
        if kind == ".mjs" and self.node is not None:
            (folder / "node_modules").symlink_to((self.node / "node_modules").resolve())
            program = Path(shutil.copy(program, folder))
        return [self.python if kind == ".py" else COMMANDS[kind], str(program)]


def _distributions(python: str) -> dict[str, str]:
    program = (
        "import importlib.metadata as m, json; print(json.dumps([(d.name, d.version) for d in m.distributions()]))"
    )
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return {name.lower().replace("_", "-"): version for name, version in json.loads(done.stdout)}
