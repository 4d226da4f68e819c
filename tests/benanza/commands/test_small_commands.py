"""`benanza zoo` and `completion`."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from tests.benanza.conftest import PROGRAM, environment


@pytest.mark.slow
def test_the_zoo_lists_what_the_other_commands_take() -> None:
    names = CliRunner().invoke(cli, ["zoo"]).stdout.split()
    assert names == sorted(names)
    assert len(names) == 9
    for name in names:
        assert CliRunner().invoke(cli, ["inspect", name]).exit_code == 0


def test_the_whole_zoo_says_where_each_model_is_from() -> None:
    shown = CliRunner().invoke(cli, ["zoo", "--all"]).stdout.split()
    assert "zoo:timm:levit_192" in shown
    document = json.loads(CliRunner().invoke(cli, ["zoo", "--all", "--format", "json"]).stdout)
    assert [each["model"] for each in document["models"]] == shown
    assert {each["licence"] for each in document["models"]} == {"Apache-2.0", "BSD-3-Clause"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_for_this_program(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_BENANZA_COMPLETE={shell}_complete" in result.stdout


def test_bash_completes_commands_and_options_with_the_script(tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(CliRunner().invoke(cli, ["completion", "bash"]).stdout)
    ask = (
        f'source {script}; COMP_WORDS=(benanza "$@"); COMP_CWORD=$#; '
        '_benanza_completion benanza; echo "${COMPREPLY[@]}"'
    )

    def completed(*words: str) -> list[str]:
        path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", ask, "bash", *words],
            capture_output=True,
            text=True,
            check=True,
            env=environment(tmp_path) | {"PATH": path},
        )
        return done.stdout.split()

    assert completed("in") == ["inspect"]
    assert completed("stat") == ["status"]
    assert completed("run", "--acc") == ["--accounting"]
    # Bash takes a colon and an equals sign for words of their own.
    assert completed("run", "zoo", ":", "sque") == ["squeezenet"]
    assert "alexnet" in completed("run", "zoo", ":")
    assert completed("run", "zoo", ":", "alexnet", "--precision", "=", "fp32,b") == ["fp32,bf16"]
    assert completed("run", "zoo", ":", "alexnet", "--acc") == ["--accounting"]
