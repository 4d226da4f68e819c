"""Tasks of a measured model, in all their formats, and what comes of solutions."""

import ast
import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import numpy as np
import pytest

from benanza.looking.calls.forms import CallForm
from benanza.looking.explain import explained
from benanza.looking.stored_bound import StoredBound
from benanza.results.explain import Explanation
from benanza.tasks import compiling
from benanza.tasks import solve as solving
from benanza.tasks import write_tasks as writing
from benanza.tasks.light import light_of
from benanza.tasks.task import read_task
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_runner.submitted.outcome import TimedKernel
from benanza_schemas.events import LayerMeasured
from benanza_schemas.topics import RESULTS
from benanza_schemas.vocabulary import SUBMITTED
from tests.benanza.conftest import Benanza, FirstRun
from tests.shared import copied

pytestmark = pytest.mark.integration

MODEL = "zoo:squeezenet"


@pytest.fixture(scope="module")
def written(
    benanza: Benanza, first_run: FirstRun, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[dict[str, Any]]]:
    """The folder of the tasks, and what the program says of each."""
    folder = tmp_path_factory.mktemp("tasks")
    data = copied(first_run[0], folder / "data")
    out = folder / "out"
    of = ("--data", data, "--out", out, "--limit", "30")
    done = benanza("tasks", MODEL, *of, "--format", "json")
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)["tasks"]


@pytest.fixture
def tasks(written: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> list[dict[str, Any]]:
    """The same, in a folder for one test to change."""
    copytree(written[0], tmp_path / "tasks")
    return [task | {"folder": tmp_path / "tasks" / task["folder"]} for task in written[1]]


def test_tasks_stand_alone_and_those_with_the_largest_gap_come_first(
    tasks: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert len(tasks) > 10
    gaps = [task["gap_us"] for task in tasks]
    assert gaps == sorted(gaps, reverse=True)
    for written in tasks:
        task = read_task(written["folder"])
        assert task.name == written["name"]
        assert written["lacks"] == []
        assert task.light_us is not None
        assert 0 < task.light_us < task.known_us
        assert task.gap_us == pytest.approx((task.known_us - task.light_us) * task.calls, rel=0.3)
    *_, last = tasks
    task = read_task(last["folder"])
    program = runpy.run_path(str(last["folder"] / "reference.py"))
    given = program["inputs"](1)
    assert [(array.shape, array.dtype.name) for array in given] == [
        (tensor.shape, tensor.dtype) for tensor in task.inputs
    ]
    assert np.asarray(program["run"](*given)).shape == task.outputs[0].shape
    for written in tasks:
        _check_formats(tmp_path / "tasks", written["name"], read_task(written["folder"]).inputs)


def test_what_takes_its_speed_of_light_is_no_task(
    benanza: Benanza, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A faster kernel would be refused, and it would be listed with nothing to gain."""

    def at_light(bound: StoredBound, forms: Mapping[str, CallForm]) -> Explanation:
        found = explained(bound, forms)
        calls = tuple(msgspec.structs.replace(each, roofline_us=each.us) for each in found.calls)
        return msgspec.structs.replace(found, calls=calls)

    monkeypatch.setattr(writing, "explained", at_light)
    done = benanza("tasks", MODEL, "--data", data, "--out", tmp_path / "out", "--format", "json")
    found = json.loads(done.stdout)
    assert found["tasks"] == []
    assert {each["reason"] for each in found["unwritten"]} == {writing.AT_LIGHT}


def _check_formats(out: Path, name: str, inputs: Any) -> None:
    """What the classes of both formats check, which want PyTorch."""
    (found,) = out.glob(f"flashinfer-trace/definitions/*/{name}.json")
    problem = out / "sol-execbench" / name
    for path in (found, problem / "definition.json"):
        definition = json.loads(path.read_text())
        assert definition["name"] == name
        assert list(definition["inputs"]) == [tensor.name for tensor in inputs]
        tensors = (*definition["inputs"].values(), *definition["outputs"].values())
        assert {axis for tensor in tensors for axis in tensor["shape"]} <= set(definition["axes"])
        functions = {
            node.name: [argument.arg for argument in node.args.args]
            for node in ast.parse(definition["reference"]).body
            if isinstance(node, ast.FunctionDef)
        }
        assert functions["run"] == list(definition["inputs"])
        assert definition.get("custom_inputs_entrypoint", "inputs") in functions
    (traces,) = out.glob(f"flashinfer-trace/workloads/*/{name}.jsonl")
    workload = json.loads(traces.read_text())["workload"]
    assert list(workload["inputs"]) == list(definition["inputs"])
    workload = json.loads((problem / "workload.jsonl").read_text())
    assert workload["inputs"] == {tensor.name: {"type": "custom"} for tensor in inputs}


def test_a_right_kernel_becomes_a_variant(
    benanza: Benanza, data: Path, tmp_path: Path, tasks: list[dict[str, Any]]
) -> None:
    first, kernel = tasks[0], tmp_path / "kernel.py"
    reference = (first["folder"] / "reference.py").read_text()
    kernel.write_text(reference)
    arguments = ("--by", "alice", "--data", data)
    done = benanza("solve", first["folder"], kernel, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    solved = json.loads(done.stdout)
    with SqliteEventLog(data / "events.sqlite") as log:
        *_, event = events_of(log, RESULTS, LayerMeasured)
    (variant,) = event.variants
    assert event.fingerprint == read_task(first["folder"]).fingerprint
    assert (variant.library, variant.algorithm) == (SUBMITTED, solved["algorithm"])
    assert variant.algorithm.startswith("alice/kernel.py ")
    assert variant.median_us == pytest.approx(solved["us"])

    kernel.write_text(reference.replace("return y", "return 1.1 * y"))
    done = benanza("solve", first["folder"], kernel, *arguments)
    assert done.returncode == 1
    assert " is a wrong result: it is off by" in done.stderr


def test_bounds_fall_history_says_by_whom_and_an_undo_takes_it_back(
    benanza: Benanza,
    data: Path,
    tmp_path: Path,
    tasks: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sequential_us() -> float:
        (bound,) = json.loads(benanza("bounds", *of).stdout)["bounds"]
        return float(bound["sequential_us"])

    of = (MODEL, "--data", data, "--format", "json")
    first = tasks[0]
    before_us = sequential_us()
    times = [first["light_us"] * 1.01] * 5
    monkeypatch.setattr(solving, "judged", lambda *_: TimedKernel(tuple(times), 5, {}, ()))
    kernel = first["folder"] / "reference.py"
    arguments = (first["folder"], kernel, "--by", "alice", "--data", data)
    done = benanza("solve", *arguments)
    assert done.returncode == 0, done.stderr
    assert "faster than" in done.stdout
    assert sequential_us() < before_us
    history = benanza("history", MODEL, "--data", data).stdout.splitlines()
    assert ", by alice: reference.py " in history[-1]

    times[:] = [first["light_us"] * 0.9] * 5
    document = first["folder"] / "task.json"
    for light_us in (first["light_us"], 0.0, None):  # What a file says is nobody's concern.
        document.write_text(json.dumps(json.loads(document.read_text()) | {"light_us": light_us}))
        done = benanza("solve", *arguments)
        assert done.returncode == 1
        assert "nothing takes less than" in done.stderr

    done = benanza("import", "--undo", kernel, "--data", data)
    assert done.stdout == "took back 1 measurement\n"
    assert sequential_us() == before_us


def test_light_is_that_of_the_task_by_the_ceilings_of_the_system(
    data: Path, tasks: list[dict[str, Any]]
) -> None:
    with SqliteEventLog(data / "events.sqlite") as log:
        for written in tasks:
            task = read_task(written["folder"])
            light = light_of(log, task.system_id, task.layer, task.precision)
            assert light.us == pytest.approx(task.light_us, rel=1e-6)
            assert light.limited_by == task.limited_by


def test_what_can_not_be_tried_is_told_in_one_line(
    benanza: Benanza, data: Path, tmp_path: Path, tasks: list[dict[str, Any]]
) -> None:
    def told(task: Path, kernel: Path) -> str:
        done = benanza("solve", task, kernel, "--by", "alice", "--data", data)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        return line

    kernel, folder = tmp_path / "kernel.c", tasks[0]["folder"]
    assert "name a kernel" in told(folder, kernel)
    kernel.write_text("void run(")
    assert "kernel.c can't be compiled: " in told(folder, kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "COMPILING_S", 0.0)
        assert "kernel.c isn't compiled within 0 s; compile it yourself" in told(folder, kernel)
    assert "name a task that benanza tasks wrote" in told(tmp_path, kernel)
    document = (folder / "task.json").read_text()
    elsewhere = json.loads(document) | {"system_id": "0" * 32}
    (folder / "task.json").write_text(json.dumps(elsewhere))
    assert "solve it there, or write tasks for here" in told(folder, kernel)
    (folder / "task.json").write_text(document.replace('"Conv"', '"Relu"'))
    assert "isn't that of its fingerprint" in told(folder, kernel)
    (folder / "task.json").write_text("{}")
    assert "is no task" in told(folder, kernel)
    done = benanza("solve", folder, kernel, "--by", "a/b", "--data", data)
    assert done.returncode == 2
