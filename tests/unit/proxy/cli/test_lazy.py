"""`hedgerow` and its commands: the list is quick, and every entry of it runs."""

import subprocess
import sys

from typer.testing import CliRunner

from hedgerow.proxy.cli import COMMANDS, app
from tests.support.tables import cases


def test_the_list_of_commands_imports_none_of_them():
    code = (
        "import sys; from typer.testing import CliRunner; from hedgerow.proxy.cli import app; "
        "print(CliRunner().invoke(app, ['--help']).stdout); print('numpy' in sys.modules, 'pydantic' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert all(name in out for name in COMMANDS)
    assert out.split()[-2:] == ["False", "False"]


@cases("name", COMMANDS)
def test_every_command_explains_itself(name):
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert f"hedgerow {name}" in shown.stdout


@cases(
    ("words", "said"),
    [
        (["rewrite", "--tone", "warm"], "No such option: --tone "),
        (["rewrite", "--qestion", "warm"], "No such option: --qestion (Possible options: --question)"),
        (
            ["evaluate", "--data", "x", "--map", "adaptive"],
            "Invalid value for '--map': 'adaptive' is not one of 'platt",
        ),
    ],
)
def test_a_wrong_option_is_told_plainly(words, said):
    """Nothing of the validator's own words, and a guess only where one is near."""
    refused = CliRunner().invoke(app, words)
    shown = " ".join(refused.stderr.replace("│", " ").split())
    assert (refused.exit_code, said in f"{shown} ") == (2, True), shown
    assert ("Possible" in shown) == ("Possible" in said)


def test_a_mistyped_command_is_answered_with_the_nearest():
    refused = CliRunner().invoke(app, ["evalute"])
    assert refused.exit_code == 2
    assert "'evaluate'" in refused.stderr
