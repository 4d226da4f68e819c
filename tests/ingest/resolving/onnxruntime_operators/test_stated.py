"""Results of what runs on no CPU are as ONNX Runtime infers them, before it looks for a kernel."""

import random

import onnxruntime as ort
import pytest
from onnx import ModelProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as states

from benanza_ingest.extract import extract
from benanza_ingest.resolving.onnxruntime_operators.results import RULES
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.operators.onnxruntime import own_schemas
from benanza_schemas.operators.skipped import SKIPPED
from tests.ingest.onnx_text import content
from tests.ingest.resolving.onnxruntime_operators.cases_without_cpu import STATED
from tests.ingest.resolving.onnxruntime_operators.test_results import model_of

TIMES = 6

NOT_INFERRED = {"DequantizeBFP"}
"""Operators of whose results ONNX Runtime infers nothing."""

Results = list[tuple[str, tuple[int, ...]]]


def found(model: ModelProto) -> Results:
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.layer is not None, layer.reason
    tensors = [layer.layer.tensors[at] for at in layer.layer.operators[0].outputs if at >= 0]
    return [(each.dtype, each.shape) for each in tensors]


def is_contradicted(model: ModelProto, results: Results) -> bool:
    """Whether ONNX Runtime infers something else for a model that declares these results."""
    declared = ModelProto()
    declared.CopyFrom(model)
    for output, (dtype, shape) in zip(declared.graph.output, results, strict=True):
        output.CopyFrom(helper.make_tensor_value_info(output.name, TO_ONNX[dtype], shape))
    options = ort.SessionOptions()
    options.add_session_config_entry("session.strict_shape_type_inference", "1")
    options.log_severity_level = 4
    with pytest.raises((states.Fail, states.InvalidGraph, states.NotImplemented)) as caught:
        ort.InferenceSession(declared.SerializeToString(), options, ["CPUExecutionProvider"])
    said = str(caught.value)
    return "ShapeInferenceError" in said or "of output arg" in said


@pytest.mark.parametrize("op_type", STATED)
def test_they_are_what_onnx_runtime_infers(op_type: str) -> None:
    chance, asked, inferred = random.Random(op_type), set(), set()
    for _ in range(TIMES):
        model, _ = model_of(op_type, STATED[op_type](chance))
        results = found(model)
        assert not is_contradicted(model, results)
        for at, (dtype, shape) in enumerate(results):
            asked.add(at)
            larger = (dtype, tuple(size + 1 for size in shape))
            if is_contradicted(model, [*results[:at], larger, *results[at + 1 :]]):
                inferred.add(at)
    assert inferred == (set() if op_type in NOT_INFERRED else asked)


def test_of_blocks_the_shape_and_the_type_are_given() -> None:
    graph = """g (uint8[90] x, int64[2] w) => (y) <int64[2] s = {3, 5}> {
        y = com.microsoft.DequantizeBFP <bfp_type = 1, dtype = 10> (x, s, w) }"""
    (layer,) = extract(content(graph, 17, {"com.microsoft": 1})).layers
    assert layer.layer is not None
    result = layer.layer.tensors[layer.layer.outputs[0]]
    assert (result.dtype, result.shape) == ("float16", (3, 5))


def test_each_of_onnx_runtimes_operators_has_a_rule_or_a_reason() -> None:
    names = {name for domain, name in own_schemas() if domain == "com.microsoft"}
    known = {name for domain, name in RULES if domain == "com.microsoft"}
    skipped = {name for domain, name in SKIPPED if domain == "com.microsoft"}
    assert known.isdisjoint(skipped)
    assert names == known | skipped


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("y, i, n = com.microsoft.Unique (x)", "how large its results are depends on the data"),
        ("y = com.microsoft.EPContext (x)", "it holds a program for another accelerator"),
        (
            "y = com.microsoft.GreedySearch <eos_token_id = 1, pad_token_id = 0, decoder = "
            "d (int32[1] a) => (float[1] b) { b = Cast <to = 1> (a) }> (t, m)",
            "how often it runs its decoder depends on the data",
        ),
    ],
)
def test_one_without_a_rule_is_skipped_with_the_reason(node: str, reason: str) -> None:
    graph = f"g (float[6] x, int32[1,3] t, int32[1] m) => (y) {{ {node} }}"
    layer = extract(content(graph, 17, {"com.microsoft": 1})).layers[-1]
    assert layer.kind == "skipped"
    assert reason in layer.reason
