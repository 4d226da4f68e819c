"""The main job as a user runs it: the program in a process of its own, nothing mocked."""

import json
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import onnx
import pytest
from benanza_ingest.zoo import zoo_path
from benanza_schemas.codec import decode
from benanza_schemas.events import BenchmarkRequested, LayerMeasured
from jsonschema import Draft202012Validator
from onnx import TensorProto, helper

from tests.benanza.conftest import PROGRAM, Benanza, environment

pytestmark = pytest.mark.slow

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
        "system": TEXT,
        "system_id": HASH,
        "runtime": TEXT,
        "precision": {"enum": ["fp32", "tf32", "fp16", "bf16"]},
        "accounting": {"enum": ["paper", "full"]},
        "fusion": {"type": "boolean"},
        "sequential_us": TIME,
        "sequential_spread_us": TIME,
        "parallel_us": TIME,
        "parallel_spread_us": TIME,
        "roofline_us": TIME_OR_NULL,
        "attainable_us": TIME_OR_NULL,
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
        "critical_path": {"type": "array", "items": {"type": "string"}},
    }
)
DOCUMENT = record(
    {
        "bounds": {"type": "array", "items": BOUND},
        "layers": record(
            dict.fromkeys(("total", "unique", "known", "benchmarked", "failed"), COUNT)
        ),
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
    for at, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False)):
        weight = helper.make_tensor_value_info(f"w{at}", TensorProto.FLOAT, [inputs, outputs])
        weights.append(weight)
        nodes.append(helper.make_node("MatMul", [f"x{at}", f"w{at}"], [f"m{at}"], name=f"m{at}"))
        nodes.append(helper.make_node("Relu", [f"m{at}"], [f"x{at + 1}"], name=f"r{at}"))
    first = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, sizes[0]])
    last = helper.make_tensor_value_info(
        f"x{len(sizes) - 1}", TensorProto.FLOAT, [1, sizes[-1]]
    )
    graph = helper.make_graph(nodes, "chain", [first, *weights], [last])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def events(data: Path, topic: str) -> list[Any]:
    """The events of a topic, read past the program."""
    with closing(sqlite3.connect(data / "events.sqlite")) as db:
        rows = db.execute('SELECT value FROM events WHERE topic = ? ORDER BY "offset"', (topic,))
        return [decode(value) for (value,) in rows]


def measured(data: Path) -> Counter[str]:
    """How often each layer was measured."""
    found = events(data, "results")
    return Counter(e.fingerprint for e in found if isinstance(e, LayerMeasured))


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
    assert 0 < bound["roofline_us"] <= bound["sequential_us"]
    assert bound["sequential_spread_us"] > 0
    assert 0 < len(bound["critical_path"]) <= 65
    layers = found["layers"]
    assert layers["known"] == 0
    assert layers["benchmarked"] + layers["failed"] == layers["unique"] < layers["total"]
    assert found["errors"] == []
    assert set(found["seconds"]) == {
        *("publish", "ingest", "dedupe", "benchmark", "analyze", "store")
    }
    assert first_run[1].stderr == ""


def test_the_same_again_benchmarks_nothing_and_is_quick(
    benanza: Benanza,
    first_run: tuple[Path, "subprocess.CompletedProcess[str]"],
    data: Path,
) -> None:
    first = document(first_run[1])
    before = {topic: len(events(data, topic)) for topic in ("models", "jobs", "results", "bounds")}
    began = time.monotonic()
    again = document(benanza("run", "zoo:squeezenet", "--data", data, "--format", "json"))
    assert time.monotonic() - began < 10
    assert again["bounds"] == first["bounds"]
    assert again["layers"]["benchmarked"] == 0
    assert again["layers"]["known"] == first["layers"]["benchmarked"]
    assert again["layers"]["failed"] == first["layers"]["failed"]
    assert {topic: len(events(data, topic)) for topic in before} == before


def test_a_sibling_benchmarks_its_new_layers_alone(
    benanza: Benanza, data: Path, tmp_path: Path
) -> None:
    model = onnx.load(zoo_path("squeezenet"))
    output = model.graph.output[0]
    model.graph.node.append(helper.make_node("Sigmoid", [output.name], ["sibling"], name="new"))
    output.name = "sibling"
    onnx.save(model, tmp_path / "sibling.onnx")
    before = measured(data)
    done = benanza("run", tmp_path / "sibling.onnx", "--data", data, "--format", "json")
    layers = document(done)["layers"]
    new = measured(data) - before
    assert layers["benchmarked"] + layers["failed"] - sum(
        1 for event in events(data, "results") if isinstance(event, LayerMeasured)
        and event.fingerprint in before and not any(v.samples_us for v in event.variants)
    ) == len(new)
    titles = {
        event.fingerprint: event.layer.title()
        for event in events(data, "jobs")
        if isinstance(event, BenchmarkRequested)
    }
    assert "Sigmoid" in {titles[fingerprint] for fingerprint in new}
    assert all(titles[fingerprint].endswith("Sigmoid") for fingerprint in new)
    assert layers["known"] == layers["unique"] - layers["benchmarked"] - layers["failed"] > 0
