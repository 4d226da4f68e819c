"""Examples that people copy: GitHub would take them, and their commands are there."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import ROOT
from tests.docs.test_commands import parse

GITHUB = ROOT / "examples" / "github"

STAND_IN = '#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done >> "$CALLS"\n'


@pytest.mark.parametrize(
    ("name", "schema"), [("action.yml", "github-actions"), ("workflow.yml", "github-workflows")]
)
def test_they_are_of_github_s_form(name: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, GITHUB / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("is_later", [False, True])
def test_the_action_asks_the_gate(tmp_path: Path, is_later: bool) -> None:
    action = yaml.safe_load((GITHUB / "action.yml").read_text())
    program, calls = tmp_path / "benanza", tmp_path / "calls"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    step = action["runs"]["steps"][-1]
    given = {
        "MODEL": 'a "model".onnx',
        "MAX_RATIO": "1.3",
        "FRAMEWORK": "onnxruntime",
        "DOCUMENT": "gate.json",
        "JUNIT": "gate.xml",
        "EARLIER": "main.json",
    }
    assert set(step["env"]) == set(given)
    if is_later:
        (tmp_path / "main.json").touch()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        check=True,
        cwd=tmp_path,
        env={"PATH": path, "CALLS": str(calls)} | given,
    )
    words = calls.read_text().split("\0")[:-1]
    assert words[:2] == ["gate", given["MODEL"]]
    assert ("--no-slower-than" in words) == is_later
    parse(shlex.join(words))


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    action, workflow = (
        yaml.safe_load((GITHUB / name).read_text()) for name in ("action.yml", "workflow.yml")
    )
    (asked,) = (
        step["with"]
        for step in workflow["jobs"]["latency"]["steps"]
        if step.get("uses") == "./.github/actions/benanza-gate"
    )
    required = {name for name, given in action["inputs"].items() if given.get("required")}
    assert required <= set(asked) <= set(action["inputs"])
