"""What holds for every command: help, errors, exit statuses, a quick start."""

import pkgutil
import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import benanza as benanza_package
from benanza.cli import cli
from benanza.commands.listed import SECTIONS, Listed
from benanza_backbone.errors import BenanzaError
from tests.benanza.conftest import Benanza

COMMANDS = sorted(cli.list_commands(click.Context(cli)))
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
        "forget",
        "gate",
        "generation",
        "history",
        "import",
        "inspect",
        "layers",
        "pipeline",
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
        "sql",
        "status",
        "suite",
        "tasks",
        "topics",
        "trace",
        "what-if",
        "witness",
        "zoo",
    ]


def imported_by(program: str) -> set[str]:
    """The modules that a program has imported at its end, in a process of its own."""
    code = f"import sys\n{program}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_and_version_import_no_command_and_no_library_but_click() -> None:
    """Looked at instead of the time, which depends on what else the machine does."""
    for argument in ("--help", "--version"):
        imported = imported_by(
            f"from benanza.cli import cli\ncli([{argument!r}], standalone_mode=False)"
        )
        assert "benanza.commands.group" in imported
        assert not imported & {*SLOW_TO_IMPORT, "msgspec", "rich", "benanza.commands.options"}


def test_a_tab_imports_no_command() -> None:
    imported = imported_by(
        "import os\nfrom benanza.cli import cli\n"
        "os.environ |= {'COMP_WORDS': 'benanza b', 'COMP_CWORD': '1', '_X': 'bash_complete'}\n"
        "try:\n    cli(prog_name='benanza', complete_var='_X')\nexcept SystemExit:\n    pass"
    )
    assert "click.shell_completion" in imported
    assert not imported & {*SLOW_TO_IMPORT, "msgspec", "rich", "benanza.commands.options"}


def test_a_tab_behind_a_misspelt_command_completes_as_if_it_was_not_there() -> None:
    asked = {"COMP_WORDS": "benanza boundz ", "COMP_CWORD": "2"}
    done = CliRunner().invoke(
        cli, prog_name="benanza", env=asked | {"_BENANZA_COMPLETE": "bash_complete"}
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert "plain,bounds" in done.stdout


def test_help_of_any_command_needs_none_of_the_slow_libraries() -> None:
    program = "from benanza.cli import cli\n" + "\n".join(
        f"cli([{name!r}, '--help'], standalone_mode=False)" for name in COMMANDS
    )
    assert not imported_by(program) & set(SLOW_TO_IMPORT)


def test_importing_the_package_needs_none_of_them_either() -> None:
    assert not imported_by("import benanza\nbenanza.bounds") & set(SLOW_TO_IMPORT)


def test_the_package_exports_what_it_says() -> None:
    assert set(benanza_package.__all__) <= set(dir(benanza_package))
    assert all(hasattr(benanza_package, name) for name in benanza_package.__all__)


def test_what_the_package_exports_is_no_submodule() -> None:
    """Else the submodule takes the name's place as soon as anything imports it."""
    modules = {module.name for module in pkgutil.iter_modules(benanza_package.__path__)}
    assert modules.isdisjoint(benanza_package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        benanza_package.nonsense  # noqa: B018


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name: str) -> None:
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"  benanza {name}" in result.stdout


@pytest.mark.parametrize("listed", [each for part in SECTIONS.values() for each in part])
def test_the_list_says_what_the_command_says_of_itself(listed: Listed) -> None:
    command = cli.get_command(click.Context(cli), listed.name)
    assert command is not None
    assert command.name == listed.name
    assert command.get_short_help_str(limit=100) == listed.does
    assert len(listed.does) <= 60


def test_commands_are_listed_once_and_in_sections() -> None:
    assert len(set(COMMANDS)) == len(COMMANDS)
    shown = CliRunner().invoke(cli, ["--help"]).stdout
    places = [shown.index(f"\n{section}:\n") for section in SECTIONS]
    assert places == sorted(places)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_misspelt_command_is_answered_with_its_likes() -> None:
    said = CliRunner().invoke(cli, ["boundz"]).stderr
    assert "there is no command 'boundz'; did you mean bounds?" in said
    assert "see benanza --help" in CliRunner().invoke(cli, ["quux"]).stderr


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
