"""What holds for every command: help, errors, exit statuses, a quick start."""

import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza_backbone.errors import BenanzaError
from tests.benanza.conftest import Benanza

COMMANDS = sorted(cli.commands)
SLOW_TO_IMPORT = (
    "aiokafka",
    "chdb",
    "clickhouse_connect",
    "faust",
    "kafka",
    "networkx",
    "numpy",
    "onnx",
    "onnxruntime",
    "prometheus_client",
    "torch",
)


def test_the_commands_are_those_of_the_interface() -> None:
    assert COMMANDS == [
        "advise",
        "agents",
        "bounds",
        "check-config",
        "completion",
        "dead-letters",
        "evaluate",
        "evaluations",
        "explain",
        "export",
        "gate",
        "generation",
        "history",
        "import",
        "inspect",
        "layers",
        "profile",
        "prune",
        "publish",
        "questions",
        "replay",
        "report",
        "retry",
        "run",
        "seed-known-layers",
        "serve",
        "solve",
        "spec",
        "status",
        "suite",
        "tasks",
        "topics",
        "trace",
        "what-if",
        "witness",
        "zoo",
    ]


def test_help_needs_none_of_the_slow_libraries() -> None:
    """Looked at instead of the time, which depends on what else the machine does."""
    program = (
        "import sys\n"
        "from benanza.cli import cli\n"
        "cli(['--help'], standalone_mode=False)\n"
        f"print([m for m in {SLOW_TO_IMPORT} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    assert "Usage:" in done.stdout


def test_importing_the_package_needs_none_of_them_either() -> None:
    program = f"import sys, benanza; print([m for m in {SLOW_TO_IMPORT} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"  benanza {name}" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_cuts_no_sentence_off(name: str) -> None:
    assert not cli.commands[name].get_short_help_str(limit=60).endswith("...")


def test_wrong_use_is_exit_status_2() -> None:
    for arguments in (["run"], ["nonsense"], ["inspect", "--nonsense"], ["inspect", "a", "b"]):
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 2, arguments
        assert result.stdout == ""


def failing_with(error: BaseException) -> click.Command:
    @click.command("failing")
    def failing() -> None:
        raise error

    return failing


def test_what_a_user_caused_is_one_line_and_exit_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    error = BenanzaError("the moon is full; wait a day")
    monkeypatch.setitem(cli.commands, "failing", failing_with(error))
    result = CliRunner().invoke(cli, ["failing"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "error: the moon is full; wait a day\n"


def test_an_interruption_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.commands, "failing", failing_with(KeyboardInterrupt()))
    result = CliRunner().invoke(cli, ["failing"])
    assert result.exit_code == 1
    assert result.stderr == "error: interrupted; the same command again goes on from here\n"


def test_a_defect_is_not_dressed_up_as_the_users_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.commands, "failing", failing_with(ZeroDivisionError()))
    assert isinstance(CliRunner().invoke(cli, ["failing"]).exception, ZeroDivisionError)


def test_the_program_is_installed_and_says_its_version(program: Benanza) -> None:
    done = program("--version")
    assert done.returncode == 0
    assert re.fullmatch(
        r"benanza, version \d+\.\d+\.\d+( \([0-9a-f]{12}(-dirty)?\))?\n", done.stdout
    )
