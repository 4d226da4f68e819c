"""The main job as a user runs it: the program in a process of its own, nothing mocked."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
import pytest
from filelock import FileLock
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper

from benanza.installation.embedded import LOCK_FILE
from benanza_ingest.reading.zoo import zoo_path
from benanza_runner.cpu_libraries.installed import not_installed
from benanza_schemas.codec import decode
from benanza_schemas.events import LayerMeasured, event_id
from tests.benanza.conftest import PROGRAM, Benanza, environment, without_progress
from tests.benanza.quick_program import QUICK_PROGRAM

pytestmark = pytest.mark.integration

HASH = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
TEXT = {"type": "string", "minLength": 1}
COUNT = {"type": "integer", "minimum": 0}
TIME = {"type": "number", "minimum": 0}
TIME_OR_NULL = {"type": ["number", "null"], "minimum": 0}


def record(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


BOUND = record(
    {
        "model": TEXT,
        "model_id": HASH,
        "batch": {"type": "integer", "minimum": 1},
        "dims": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
        "system": TEXT,
        "system_id": HASH,
        "runtime": TEXT,
        "precision": {"enum": ["fp32", "tf32", "fp16", "bf16"]},
        "accounting": {"enum": ["paper", "full"]},
        "fusion": {"type": "boolean"},
        "layout": {"enum": ["", "NCHW", "NHWC", "NCHWc"]},
        "sequential_us": TIME_OR_NULL,
        "sequential_spread_us": TIME_OR_NULL,
        "parallel_us": TIME_OR_NULL,
        "parallel_spread_us": TIME_OR_NULL,
        "roofline_us": TIME_OR_NULL,
        "limited_by": {"enum": ["", "cache", "memory", "compute", "latency"]},
        "attainable_us": TIME_OR_NULL,
        "attainable_error_us": TIME,
        "partial": {"type": "boolean"},
        "layers": COUNT,
        "unique_layers": COUNT,
        "coverage": record(
            {
                "measured": COUNT,
                "free": COUNT,
                "not_counted": COUNT,
                "missing": {
                    "type": "array",
                    "items": record({"name": {"type": "string"}, "op": TEXT, "reason": TEXT}),
                },
            }
        ),
        "states": record(
            {
                "in_place": COUNT,
                "copied": COUNT,
                "why_copied": {"type": "array", "items": TEXT},
            }
        ),
        "slowed": record(
            {
                "calls": COUNT,
                "by": {"type": "array", "items": TEXT},
                "layers": {"type": "array", "items": TEXT},
            }
        ),
        "beaten_by": {"type": "array", "items": record({"run_as": TEXT, "run_us": TIME})},
        "critical_path": {"type": "array", "items": {"type": "string"}},
    }
)
OF_LAYERS = (
    *("models", "total", "unique", "unique_of_model", "of_one_model"),
    *("known", "benchmarked", "split", "failed"),
)
DOCUMENT = record(
    {
        "bounds": {"type": "array", "items": BOUND},
        "layers": record(dict.fromkeys(OF_LAYERS, COUNT)),
        "seconds": {"type": "object", "additionalProperties": TIME},
        "errors": {"type": "array", "items": record({"model": TEXT, "reason": TEXT})},
    }
)


def document(done: "subprocess.CompletedProcess[str]", status: int = 0) -> dict[str, Any]:
    """The document that `run --format json` printed, checked."""
    assert done.returncode == status, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(DOCUMENT).validate(found)
    return found


def chain(path: Path, sizes: list[int]) -> Path:
    """A model of fully connected layers, each unlike the others, with a Relu after each."""
    nodes, weights = [], []
    for at, (inputs, outputs) in enumerate(pairwise(sizes)):
        weight = helper.make_tensor_value_info(f"w{at}", TensorProto.FLOAT, [inputs, outputs])
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [f"x{at}", f"w{at}"], [f"m{at}"], name=f"m{at}"))
        nodes.append(helper.make_node("Relu", [f"m{at}"], [f"x{at + 1}"], name=f"r{at}"))
    first = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, sizes[0]])
    last = helper.make_tensor_value_info(f"x{len(sizes) - 1}", TensorProto.FLOAT, [1, sizes[-1]])
    graph = helper.make_graph(nodes, "chain", [first, *weights], [last])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def events(data: Path, topic: str) -> list[Any]:
    """The events of a topic, read past the program."""
    with closing(sqlite3.connect(data / "events.sqlite")) as db:
        rows = db.execute('SELECT value FROM events WHERE topic = ? ORDER BY "offset"', (topic,))
        return [decode(value) for (value,) in rows]


def results(data: Path) -> list[LayerMeasured]:
    """What was measured, without what was measured again since the machine was busy."""
    again = {job.event_id for job in events(data, "jobs") if job.after}
    return [
        event
        for event in events(data, "results")
        if isinstance(event, LayerMeasured)
        and not any(
            event_id("LayerMeasured", job, event.system.system_id, event.precision)
            == event.event_id
            for job in again
        )
    ]


def measured(data: Path) -> Counter[str]:
    """How often each layer was measured."""
    return Counter(event.fingerprint for event in results(data))


def first_jobs(data: Path) -> int:
    """How many layers there are to measure."""
    return sum(not job.after for job in events(data, "jobs"))


def test_a_real_model_has_a_full_bound(
    first_run: tuple[Path, "subprocess.CompletedProcess[str]"],
) -> None:
    found = document(first_run[1])
    (bound,) = found["bounds"]
    assert bound["model"] == "squeezenet"
    assert bound["batch"] == 1
    assert bound["accounting"] == "full"
    assert bound["partial"] is False
    assert bound["coverage"] == {"measured": 65, "free": 1, "not_counted": 0, "missing": []}
    assert 0 < bound["parallel_us"] <= bound["sequential_us"]
    assert bound["roofline_us"] > 0
    assert bound["sequential_spread_us"] > 0
    assert 0 < len(bound["critical_path"]) <= 65
    layers = found["layers"]
    assert layers["known"] == 0
    assert layers["failed"] == 0, "groups that are several calls of ONNX Runtime are no failures"
    assert layers["benchmarked"] + layers["split"] == layers["unique"] < layers["total"]
    assert found["errors"] == []
    assert set(found["seconds"]) == {
        *("publish", "ingest", "dedupe", "benchmark", "analyze", "store")
    }
    assert without_progress(first_run[1].stderr) == ""


def test_the_same_again_benchmarks_nothing_and_is_quick(
    program: Benanza,
    first_run: tuple[Path, "subprocess.CompletedProcess[str]"],
    data: Path,
) -> None:
    first = document(first_run[1])
    before = {topic: len(events(data, topic)) for topic in ("models", "jobs", "results", "bounds")}
    before_s = os.times()
    again = document(program("run", "zoo:squeezenet", "--data", data, "--format", "json"))
    after_s = os.times()
    took_s = after_s.children_user + after_s.children_system
    assert took_s - before_s.children_user - before_s.children_system < 10
    assert again["bounds"] == first["bounds"]
    assert again["layers"]["benchmarked"] == 0
    assert again["layers"]["known"] == first["layers"]["benchmarked"]
    assert again["layers"]["split"] == first["layers"]["split"] > 0
    assert {topic: len(events(data, topic)) for topic in before} == before


def test_a_sibling_benchmarks_its_new_layers_alone(
    program: Benanza, data: Path, tmp_path: Path
) -> None:
    model = onnx.load(zoo_path("squeezenet"))
    output = model.graph.output[0]
    model.graph.node.append(helper.make_node("Sigmoid", [output.name], ["sibling"], name="new"))
    output.name = "sibling"
    onnx.save(model, tmp_path / "sibling.onnx")
    before = measured(data)
    done = program("run", tmp_path / "sibling.onnx", "--data", data, "--format", "json")
    layers = document(done)["layers"]
    jobs = {job.fingerprint: job.layer.title() for job in events(data, "jobs")}
    new = sorted(jobs[fingerprint] for fingerprint in measured(data) - before)
    assert new == ["Sigmoid", "Softmax+Sigmoid"]  # which ONNX Runtime runs as two calls
    assert layers["benchmarked"] == 1
    assert layers["known"] + layers["split"] == layers["unique"] - 1


def test_of_other_models_in_the_folder_nothing_is_benchmarked(
    program: Benanza, data: Path, tmp_path: Path
) -> None:
    assert program("publish", chain(tmp_path / "other.onnx", [40, 20]), "--data", data).stdout
    before = measured(data)
    model = chain(tmp_path / "chain.onnx", [48, 24])
    done = program("run", model, "--data", data, "--format", "json")
    layers = json.loads(done.stdout)["layers"]
    assert len(measured(data) - before) == layers["benchmarked"] + layers["split"] > 0


def test_a_precision_that_nothing_here_has_is_refused_before_layers_are_benchmarked(
    program: Benanza, data: Path, tmp_path: Path
) -> None:
    model = chain(tmp_path / "chain.onnx", [48, 24])
    before = results(data)
    done = program("run", model, "--precision", "tf32", "--data", data)
    assert done.returncode == 1
    assert without_progress(done.stderr) == (
        "error: tf32 can't be measured here (TF32 is a mode of GPUs; a CPU has none); leave it out "
        "of --precision\n"
    )
    assert results(data) == before
    assert "tf32" not in program("bounds", "--data", data).stdout


def test_what_can_be_measured_is_printed_beside_what_cannot(
    program: Benanza, data: Path, tmp_path: Path
) -> None:
    """A model that isn't there, one that is none, and a layer that the runtime doesn't have."""
    (tmp_path / "random.onnx").write_bytes(b"no model at all")
    sparse = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["r"], name="relu"),
            helper.make_node("Unheard", ["r"], ["y"], name="unheard", domain="custom"),
        ],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1000])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1000])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1)]
    onnx.save(helper.make_model(sparse, opset_imports=opsets), tmp_path / "custom.onnx")
    models = [tmp_path / name for name in ("custom.onnx", "missing.onnx", "random.onnx")]
    done = program("run", *models, "--data", data, "--format", "json")
    found = document(done, status=1)
    (bound,) = found["bounds"]
    assert bound["partial"] is True
    (missing,) = bound["coverage"]["missing"]
    assert missing["name"] == "unheard"
    assert "custom::Unheard" in missing["reason"]
    assert bound["sequential_us"] > 0
    assert [error["model"] for error in found["errors"]] == [str(model) for model in models[1:]]
    lines = without_progress(done.stderr).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("error: ") for line in lines)
    partial = program("run", models[0], "--data", data)
    assert partial.returncode == 3
    assert "unheard (Unheard): custom::Unheard" in partial.stdout
    assert without_progress(partial.stderr) == ""


def test_models_that_cannot_be_had_cost_no_benchmark(program: Benanza, tmp_path: Path) -> None:
    done = program("run", "missing.onnx", "--data", tmp_path / "new")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: there is no file missing.onnx")
    assert events(tmp_path / "new", "results") == []


def test_the_same_file_under_another_name_is_another_model_with_known_layers(
    program: Benanza, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy.onnx").write_bytes(zoo_path("squeezenet").read_bytes())
    found = document(program("run", tmp_path / "copy.onnx", "--data", data, "--format", "json"))
    assert [bound["model"] for bound in found["bounds"]] == ["copy"]
    assert found["layers"]["benchmarked"] == 0


@pytest.mark.skipif(bool(not_installed()), reason=f"{not_installed()} aren't installed")
def test_by_default_all_libraries_of_a_cpu_try_each_layer(tmp_path: Path) -> None:
    model = chain(tmp_path / "chain.onnx", [16, 8])
    variables = environment(tmp_path)
    del variables["BENANZA_CPU_LIBRARIES"]
    subprocess.run(
        [*QUICK_PROGRAM, "run", model, "--data", tmp_path / "data"],
        env=variables,
        check=True,
        capture_output=True,
    )
    measured = results(tmp_path / "data")
    assert measured
    for event in measured:
        tried = {variant.library for variant in event.variants}
        assert tried == {"onnxruntime-cpu", "openvino", "onednn"}
        assert {"onnxruntime", "openvino", "onednn"} <= set(event.system.libraries)


def test_each_batch_size_has_a_bound_of_its_own(
    program: Benanza, data: Path, tmp_path: Path
) -> None:
    model = chain(tmp_path / "chain.onnx", [64, 32])
    options = ("--data", data, "--format", "json")
    found = document(program("run", model, "--batch", "1,4", *options))
    assert [bound["batch"] for bound in found["bounds"]] == [1, 4]
    again = document(program("run", model, "--batch", "4,2", *options))
    assert [bound["batch"] for bound in again["bounds"]] == [4, 2]
    assert again["layers"]["known"] > 0


def test_the_policy_asked_for_is_the_policy_answered(program: Benanza, data: Path) -> None:
    options = ("run", "zoo:squeezenet", "--data", data, "--format", "json")
    (bound,) = document(program(*options, "--accounting", "paper", "--fusion", "off"))["bounds"]
    assert bound["accounting"] == "paper"
    assert bound["fusion"] is False
    assert bound["coverage"]["not_counted"] == 9  # the Concats, and the global pooling
    (fused,) = document(program(*options))["bounds"]
    assert fused["sequential_us"] != bound["sequential_us"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on_where_it_was(
    program: Benanza, data: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    model = chain(tmp_path / "chain.onnx", list(range(100, 170, 10)))
    known = measured(data)
    process = subprocess.Popen(
        # A shell starts what runs in the background with SIGINT ignored.
        ["env", "--default-signal=INT", PROGRAM, "run", model, "--data", data],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    deadline = time.monotonic() + 60
    while len(measured(data)) < len(known) + 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(stop)
    output, errors = process.communicate(timeout=30)
    done = measured(data) - known
    jobs = first_jobs(data) - len(known)
    assert 3 <= len(done) < jobs
    assert output == ""
    if stop == signal.SIGINT:
        assert process.returncode == 1
        said = "error: interrupted; the same command again goes on from here\n"
        assert without_progress(errors) == said
        so_far = program("bounds", model, "--data", data, "--format", "json")
        assert so_far.returncode == 3
        (bound,) = json.loads(so_far.stdout)["bounds"]
        assert bound["sequential_us"] > 0
        assert bound["coverage"]["missing"]
    found = document(program("run", model, "--data", data, "--format", "json"))
    assert found["bounds"][0]["partial"] is False
    # What was written when the process died, and not committed, comes again; nothing else does.
    repeated = sum(count - 1 for count in (measured(data) - known).values())
    assert repeated <= 1
    assert len(measured(data) - known) == jobs
    assert found["layers"]["known"] >= len(done) - 1


def test_a_second_process_on_the_folder_is_told_so(program: Benanza, data: Path) -> None:
    with FileLock(data / LOCK_FILE):
        done = program("run", "zoo:squeezenet", "--data", data)
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"another benanza is at work in {data}" in done.stderr


def test_the_cuda_runtime_is_refused_before_anything_is_done(
    program: Benanza, tmp_path: Path
) -> None:
    done = program("run", "zoo:squeezenet", "--runtime", "cuda", "--data", tmp_path / "new")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the runtime cuda needs ")
    assert not (tmp_path / "new").exists()
