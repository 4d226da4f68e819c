"""Traces beside what the store knows of their layers."""

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from onnx import parser

from benanza.tracing.answer import trace_answer
from benanza.tracing.beside_model import given_model
from benanza.tracing.difference import comparison
from benanza.tracing.recording import recording
from benanza.tracing.results import TraceAnswer
from benanza.tracing.trace_model import TracedPart, trace_model
from benanza_analyzer.limits.speed_of_light import AT_OTHER_CLOCKS
from benanza_backbone import settings
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import Limits
from benanza_schemas.events import AnyEvent, Ceiling, LayerMeasured, event_id
from tests.backbone.conftest import copy_empty_store
from tests.backbone.sample_events import SYSTEM, SYSTEM_MEASURED, failed, measured, variant
from tests.benanza.tracing.kineto_file import GPU, KinetoFile, steps
from tests.benanza.tracing.test_recording import TRACES

pytestmark = pytest.mark.integration

H200 = msgspec.structs.replace(SYSTEM, accelerator=GPU, system_id="a" * 32)
H200_MEASURED = msgspec.structs.replace(
    SYSTEM_MEASURED,
    event_id=event_id("SystemMeasured", H200.system_id),
    system=H200,
    ceilings=(Ceiling("bandwidth", "fp16", 1e9, 1e8), Ceiling("flops", "fp16", 1e9, 2e9)),
)


@pytest.fixture
def installed(tmp_path: Path) -> Settings:
    """Over Kafka, where the store is all that is asked."""
    dsn = copy_empty_store(tmp_path / "clickhouse")
    return settings.load({"BENANZA_KAFKA": "127.0.0.1:9", "BENANZA_CLICKHOUSE": dsn})


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return steps(3).write(tmp_path / "steps.json")


def store(installed: Settings, events: Iterable[AnyEvent]) -> None:
    with Store.open(installed.clickhouse) as opened:
        opened.insert(list(events))


def part_of(trace: Path) -> TracedPart:
    first = recording(trace).operators[0]
    (part,) = trace_model([(first.name, first.inputs)], Limits()).parts
    return part


def on_h200(fingerprint: str, us: float) -> LayerMeasured:
    return msgspec.structs.replace(
        measured(fingerprint, variant("fast", us), at=1),
        event_id=event_id("LayerMeasured", fingerprint, "h200"),
        system=H200,
        precision="fp16",
    )


def test_unknown_layers_wait(installed: Settings, trace: Path) -> None:
    answer = trace_answer(trace, installed)
    linear, copying = answer.calls
    assert (linear.match, linear.bound_us, linear.op) == ("waits", None, "MatMul+Add")
    assert (copying.match, copying.reason) == (
        "no layer",
        "it copies or converts: no layer needs it",
    )
    assert answer.system == ""
    assert answer.us == pytest.approx(3 * 90.0)
    assert answer.matched_us("waits") == pytest.approx(3 * 80.0)


def test_the_bound_is_the_cheapest_way_to_run_it(installed: Settings, trace: Path) -> None:
    part = part_of(trace)
    product, total = (layer.fingerprint for layer in part.layers)
    store(installed, (H200_MEASURED, on_h200(product, 20.0), on_h200(total, 4.0)))
    linear = trace_answer(trace, installed).calls[0]
    assert linear.match == "measured"
    assert linear.bound_us == pytest.approx(3 * 24.0)
    assert linear.saved_us == pytest.approx(3 * (80.0 - 24.0))
    (group,) = part.groups
    store(installed, (on_h200(group.fingerprint, 21.0),))
    answer = trace_answer(trace, installed)
    assert answer.calls[0].bound_us == pytest.approx(3 * 21.0)
    assert (answer.system, answer.system_id) == (GPU, H200.system_id)


def test_the_speed_of_light_is_that_of_the_system(installed: Settings, trace: Path) -> None:
    part = part_of(trace)
    store(installed, (H200_MEASURED, on_h200(part.layers[0].fingerprint, 20.0)))
    linear = trace_answer(trace, installed).calls[0]
    (product,) = [layer for layer in part.layers if layer.op in ("MatMul", "Gemm")]
    us = product.flops / 1e9 * 1e6 / AT_OTHER_CLOCKS
    assert linear.light_us is not None
    assert 3 * us <= linear.light_us <= 1.1 * 3 * us


def test_times_on_another_device_are_no_bound(installed: Settings, trace: Path) -> None:
    on_a_cpu = [
        msgspec.structs.replace(
            measured(layer.fingerprint, variant("fast", 1.0), at=1), precision="fp16"
        )
        for layer in part_of(trace).layers
    ]
    store(installed, (SYSTEM_MEASURED, *on_a_cpu))
    assert trace_answer(trace, installed).calls[0].match == "waits"


def test_layers_that_were_tried_in_vain_have_failed(installed: Settings, trace: Path) -> None:
    part = part_of(trace)
    (group,) = part.groups
    tried = [
        msgspec.structs.replace(
            measured(fingerprint, failed("gemm", "no such type"), at=1),
            event_id=event_id("LayerMeasured", fingerprint, "h200"),
            system=H200,
            precision="fp16",
        )
        for fingerprint in (*(layer.fingerprint for layer in part.layers), group.fingerprint)
    ]
    store(installed, (H200_MEASURED, *tried))
    linear = trace_answer(trace, installed).calls[0]
    assert (linear.match, linear.bound_us) == ("failed", None)


def test_advice_says_what_is_lost_and_what_to_do(installed: Settings, trace: Path) -> None:
    layers = part_of(trace).layers
    store(installed, (H200_MEASURED, *(on_h200(layer.fingerprint, 10.0) for layer in layers)))
    advice = {each.what: each for each in trace_answer(trace, installed).advice}
    assert advice["synchronisation"].saved_us == pytest.approx(2 * 590.0)
    assert ".item()" in advice["synchronisation"].do
    assert "CUDA graph" in advice["between calls"].do
    assert advice["conversions and copies"].saved_us == pytest.approx(30.0)
    assert advice["slower call"].op == "aten::linear"
    assert advice["slower call"].saved_us == pytest.approx(3 * 60.0)


def test_what_is_compiled_is_advised_to_be_captured(installed: Settings) -> None:
    advice = trace_answer(TRACES / "h200-resnet50-compiled.json.gz", installed).advice
    assert [each.what for each in advice] == ["between calls"]
    assert "reduce-overhead" in advice[0].do


def test_what_is_captured_is_not(installed: Settings, tmp_path: Path) -> None:
    trace = KinetoFile()
    for start_us in (100.0, 500.0):
        trace.kernel("triton_poi_fused_add_0", start_us, 50.0, None, start_us - 90)
    trace.events[0]["name"] = "cudaGraphLaunch"
    (advice,) = trace_answer(trace.write(tmp_path / "graph.json"), installed).advice
    assert (advice.what, advice.do) == ("between calls", "")


def test_two_traces_are_compared_layer_by_layer(
    installed: Settings, trace: Path, tmp_path: Path
) -> None:
    other = KinetoFile()
    for start_us in (0.0, 500.0):
        relu = other.operator("aten::relu_", start_us, 50.0, [[2, 8]], ["c10::Half"])
        other.kernel("relu", start_us + 60, 10.0, relu)
    plain = KinetoFile()
    relu = plain.operator("aten::relu", 0.0, 50.0, [[2, 8]], ["c10::Half"])
    plain.kernel("relu", 60.0, 15.0, relu)
    plain.kernel("of_nobody", 80.0, 1.0)
    other.kernel("of_nobody", 800.0, 1.5)

    def answer(file: KinetoFile, name: str) -> TraceAnswer:
        return trace_answer(file.write(tmp_path / name), installed)

    compared = comparison(answer(plain, "plain.json"), answer(other, "other.json"))
    difference, of_nobody = compared.differences
    assert (of_nobody.name, of_nobody.us, of_nobody.other_us) == ("of_nobody", 1.0, 1.5)
    assert (difference.calls, difference.other_calls) == (1, 2)
    assert (difference.us, difference.other_us) == (15.0, 20.0)
    with_more = comparison(answer(plain, "plain.json"), trace_answer(trace, installed))
    assert [(each.name, each.us, each.other_us) for each in with_more.differences] == [
        ("aten::linear", 0, 240.0),
        ("aten::copy_", 0, 30.0),
        ("aten::relu", 15.0, 0),
        ("of_nobody", 1.0, 0),
    ]


NET = """
<ir_version: 10, opset_import: ["" : 20]>
net (float[2, 8] x) => (float[2, 8] z)
{
    a = Relu(x)
    b = Relu(a)
    z = Tanh(b)
}
"""


def test_a_model_has_layers_in_the_trace(installed: Settings, tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(parser.parse_model(NET).SerializeToString())
    trace = KinetoFile()
    for number in range(6):
        relu = trace.operator("aten::relu", 100.0 * number, 50.0, [[2, 8]], ["c10::Half"])
        trace.kernel("relu", 100.0 * number + 60, 10.0, relu)
    file = trace.write(tmp_path / "trace.json")
    given = given_model(str(model), None, {}, Limits())
    beside = trace_answer(file, installed, given=given).model
    assert beside is not None
    assert (beside.model, beside.batch, beside.precision) == ("net", 2, "fp16")
    assert (beside.layers, beside.found, len(beside.absent)) == (2, 1, 1)
    assert beside.executions == 3
    assert beside.bound_us is None, "nothing of it was measured"


def test_a_trace_without_layers_has_no_model(installed: Settings, tmp_path: Path) -> None:
    """A model of nothing would have a whole bound, of zero."""
    launch = {
        "cat": "Node",
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "ts": 0,
        "dur": 5,
        "name": "y_kernel_time",
        "args": {
            "op_name": "Relu",
            "provider": "CUDAExecutionProvider",
            "input_type_shape": [{"float": [2, 8]}],
            "output_type_shape": [{"float": [2, 8]}],
        },
    }
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps([launch]))
    (call,) = trace_answer(trace, installed).calls
    assert call.reason.startswith("it ran on a GPU, of which ONNX Runtime's trace has the launch")
    for asked in ({"publishes": True}, {"output": tmp_path / "trace.onnx"}):
        with pytest.raises(BenanzaError, match="no operator that is a layer"):
            trace_answer(trace, installed, **asked)


def test_a_model_that_can_t_be_written(installed: Settings, trace: Path, tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="can't write"):
        trace_answer(trace, installed, output=tmp_path / "missing" / "trace.onnx")
