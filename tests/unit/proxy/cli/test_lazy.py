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


def test_a_mistyped_command_is_answered_with_the_nearest():
    refused = CliRunner().invoke(app, ["evalute"])
    assert refused.exit_code == 2
    assert "'evaluate'" in refused.stderr
