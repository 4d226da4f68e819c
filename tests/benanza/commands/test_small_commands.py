"""`benanza zoo`, `completion` and `check-config`."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from tests.benanza.conftest import PROGRAM, environment


def test_the_zoo_lists_what_the_other_commands_take() -> None:
    names = CliRunner().invoke(cli, ["zoo"]).stdout.split()
    assert names == sorted(names)
    assert len(names) == 9
    for name in names:
        assert CliRunner().invoke(cli, ["inspect", name]).exit_code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_for_this_program(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"_BENANZA_COMPLETE={shell}_complete" in result.stdout


def test_bash_completes_commands_and_options_with_the_script(tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(CliRunner().invoke(cli, ["completion", "bash"]).stdout)
    ask = (
        f"source {script}; COMP_WORDS=(benanza $1 $2); COMP_CWORD=$#; "
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
    assert completed("run", "--acc") == ["--accounting"]


def test_every_setting_is_listed_with_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BENANZA_DATUM", "a slip")
    result = CliRunner().invoke(cli, ["check-config", "--format", "json"])
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    settings = {setting["name"]: setting for setting in report["settings"]}
    assert settings["BENANZA_DATA"]["value"] == str(tmp_path / "data")
    assert settings["BENANZA_DATA"]["source"] == "environment"
    assert settings["BENANZA_LOG_FORMAT"]["source"] == "default"
    (line,) = report["unknown"]
    assert line.startswith("BENANZA_DATUM is no setting")
    assert [check["name"] for check in report["checks"]] == ["data folder", "ClickHouse", "runtime"]
    assert all(check["ok"] for check in report["checks"])


def test_what_does_not_answer_is_exit_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in place of the data folder; nobody on the port; a password that isn't shown."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "file"))
    monkeypatch.setenv("BENANZA_CLICKHOUSE", "clickhouse://me:secret@127.0.0.1:9")
    result = CliRunner().invoke(cli, ["check-config"])
    assert result.exit_code == 1
    assert "secret" not in result.output
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 2
    assert str(tmp_path / "file") in failed[0]
    assert "127.0.0.1:9" in failed[1]


def test_a_bad_setting_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENANZA_MAX_NODES", "many")
    result = CliRunner().invoke(cli, ["check-config"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: BENANZA_MAX_NODES can't be 'many'")
