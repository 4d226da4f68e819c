"""`benanza bounds` and `benanza history`: what was found, as it is and as it was."""

import json
import shlex
import subprocess
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.benanza.conftest import Benanza

FirstRun = tuple[Path, "subprocess.CompletedProcess[str]"]


NOTHING_ELSE = {"without_bound": [], "waiting_for_ingest": 0}


def document(done: "subprocess.CompletedProcess[str]", status: int = 0) -> dict[str, Any]:
    assert done.returncode == status, done.stderr
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", [(), ("zoo:squeezenet",), ("squeezenet",)])
def test_bounds_are_those_that_the_run_printed(
    benanza: Benanza, first_run: FirstRun, data: Path, name: tuple[str, ...]
) -> None:
    found = document(benanza("bounds", *name, "--data", data, "--format", "json"))
    assert found == NOTHING_ELSE | {"bounds": json.loads(first_run[1].stdout)["bounds"]}


def test_bounds_of_a_model_by_its_id(benanza: Benanza, first_run: FirstRun, data: Path) -> None:
    (bound,) = json.loads(first_run[1].stdout)["bounds"]
    found = document(benanza("bounds", bound["model_id"], "--data", data, "--format", "json"))
    assert found == NOTHING_ELSE | {"bounds": [bound]}


def test_bounds_as_they_were(benanza: Benanza, first_run: FirstRun, data: Path) -> None:
    """Half-way to the first full bound, and before there was any.

    On a busy machine much is measured again after the first full bound.
    """
    versions = document(benanza("history", "squeezenet", "--data", data, "--format", "json"))
    times = [version["computed_at"] for version in versions["history"]]
    partial = [version for version in versions["history"] if version["missing"]]
    half = partial[len(partial) // 2]
    then = benanza("bounds", "--at", half["computed_at"], "--data", data, "--format", "json")
    (bound,) = document(then, status=3)["bounds"]
    assert bound["partial"] is True
    assert bound["sequential_us"] == half["sequential_us"]
    assert len(bound["coverage"]["missing"]) == half["missing"]
    before = (datetime.fromisoformat(times[0]) - timedelta(seconds=1)).isoformat()
    none = benanza("bounds", "--at", before, "--data", data, "--format", "json")
    assert document(none, status=1) == NOTHING_ELSE | {"bounds": []}
    said = benanza("bounds", "--at", before, "--data", data)
    assert said.returncode == 1
    assert said.stderr == (
        f"error: no bounds were known at {before}; leave out --at for those known now\n"
    )


def test_the_history_leads_to_the_bound(benanza: Benanza, first_run: FirstRun, data: Path) -> None:
    """Each version starts from the one before, and a measurement says what it moved."""
    (bound,) = json.loads(first_run[1].stdout)["bounds"]
    options = ("--data", data, "--format", "json")
    versions = document(benanza("history", "zoo:squeezenet", *options))["history"]
    assert versions[0]["sequential_before_us"] is None
    for former, version in pairwise(versions):
        assert version["sequential_before_us"] == former["sequential_us"]
        assert version["missing_before"] == former["missing"]
        assert version["moved_by"] == "measurement"
        assert version["op"]
        assert (version["layer_us"] is None) == bool(version["failure"])
    assert versions[-1]["sequential_us"] == bound["sequential_us"]
    assert versions[-1]["missing"] == 0


def test_tables_in_a_pipe(benanza: Benanza, first_run: FirstRun, data: Path) -> None:
    bounds = benanza("bounds", "--data", data).stdout.splitlines()
    assert bounds[0].split()[:4] == ["model", "batch", "layers", "unique"]
    assert bounds[1].split()[:4] == ["squeezenet", "1", "66", "38"]
    assert bounds[2].startswith("measured on ")
    of_busy_machine = ("slowed down", "speed of light is above")
    assert all(any(words in note for words in of_busy_machine) for note in bounds[3:])
    history = benanza("history", "squeezenet", "--data", data).stdout.splitlines()
    assert history[0].startswith("squeezenet, batch 1, measured on ")
    assert history[1].startswith("computed at (UTC)")
    assert any("the first run: " in line for line in history)


def test_bounds_of_a_model_at_several_dimensions(
    benanza: Benanza, data: Path, tmp_path: Path
) -> None:
    """Each says which they are, in every output; nothing of them is measured yet."""
    shape: list[str | int | None] = ["batch", "length", 1000]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    relu = helper.make_node("Relu", ["x"], ["y"], name="relu")
    graph = helper.make_graph([relu], "graph", ends[:1], ends[1:])
    path = tmp_path / "open.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    for length in (128, 64):
        benanza("publish", path, "--dim", f"length={length}", "--data", data)
    options = ("--data", data, "--format", "json")
    both = document(benanza("bounds", "open", *options), status=3)["bounds"]
    assert [bound["dims"] for bound in both] == [{"length": 64}, {"length": 128}]
    assert [bound["sequential_us"] for bound in both] == [None, None]
    (one,) = document(benanza("bounds", path, "--dim", "length=64", *options), status=3)["bounds"]
    assert one == both[0]
    versions = document(benanza("history", path, "--dim", "length=64", *options))["history"]
    assert [version["dims"] for version in versions] == [{"length": 64}]
    _, *rows = benanza("bounds", "open", "--data", data).stdout.splitlines()
    assert [row.split()[:4] for row in rows[:2]] == [
        ["open", "1", f"length={length}", "1"] for length in (64, 128)
    ]
    assert [row.partition(":")[0] for row in rows if "is partial" in row] == [
        f"open, batch 1, length={length}, fp32" for length in (64, 128)
    ]
    history = benanza("history", "open", "--dim", "length=64", "--data", data).stdout
    assert history.startswith("open, batch 1, length=64, measured on ")
    assert "length=128" not in history
    for command in ("bounds", "history"):
        done = benanza(command, "open", "--dim", "length=65", "--data", data)
        assert done.returncode == 1
        assert done.stderr == (
            "error: no bounds are known with length=65; leave out --batch, --dim and --value\n"
        )


def test_a_model_that_was_never_run(benanza: Benanza, data: Path) -> None:
    for command in ("bounds", "history", "layers"):
        done = benanza(command, "zoo:alexnet", "--data", data)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr == (
            "error: nothing is known of zoo:alexnet; say: benanza run zoo:alexnet, "
            "or benanza publish zoo:alexnet where its layers are measured already\n"
        )


def test_what_is_said_of_a_file_can_be_pasted_into_a_shell(
    benanza: Benanza, data: Path, tmp_path: Path
) -> None:
    file = tmp_path / "it's my net.onnx"
    file.write_bytes(b"never run")
    said = benanza("bounds", file, "--data", data).stderr
    command = said.partition("; say: ")[2].partition(", or ")[0]
    assert shlex.split(command) == ["benanza", "run", str(file)]


def test_a_new_folder_has_no_bounds(benanza: Benanza, tmp_path: Path) -> None:
    done = benanza("bounds", "--data", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "error: no bounds are known; say: benanza run MODEL, "
        "or benanza publish MODEL where its layers are measured already\n"
    )


@pytest.mark.parametrize("command", ["bounds", "history zoo:squeezenet", "layers", "retry"])
def test_who_only_looks_makes_no_folder(benanza: Benanza, tmp_path: Path, command: str) -> None:
    done = benanza(*command.split(), "--data", tmp_path / "misspelt")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"error: nothing is known yet: there is no folder {tmp_path}/misspelt; "
        "name another one, or say: benanza run MODEL\n"
    )
    assert not (tmp_path / "misspelt").exists()


def test_bounds_beside_those_of_another_time(
    benanza: Benanza, first_run: FirstRun, data: Path
) -> None:
    (bound,) = json.loads(first_run[1].stdout)["bounds"]
    versions = document(benanza("history", "squeezenet", "--data", data, "--format", "json"))
    first = versions["history"][0]["computed_at"]
    shown = benanza("bounds", "--compare", f"at={first}", "--data", data)
    assert shown.returncode == 3, "the bound was partial then"
    assert "most of the difference" in shown.stdout
    newest = versions["history"][-1]["computed_at"]
    assert benanza("bounds", "--compare", f"at={newest}", "--data", data).returncode == 0
    asked = benanza("bounds", "--compare", f"at={first}", "--data", data, "--format", "json")
    (found,) = document(asked, status=3)["bounds"]
    assert found["bound"] == bound
    assert found["moved_by"][-1]["sequential_us"] == bound["sequential_us"]


@pytest.mark.parametrize("what", ["at", "at=", "precision=fp17", "system=", "driver=1"])
def test_what_can_not_be_compared_is_refused(benanza: Benanza, data: Path, what: str) -> None:
    done = benanza("bounds", "--compare", what, "--data", data)
    assert done.returncode == 2
    assert what in done.stderr
