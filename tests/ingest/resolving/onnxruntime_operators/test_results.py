"""Results are as large, and of the type, as those that ONNX Runtime returns."""

import random

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, helper, numpy_helper

from benanza_ingest.extract import extract
from benanza_ingest.resolving.onnxruntime_operators.results import RULES
from benanza_schemas.operators.onnxruntime import WITHOUT_DOMAIN
from tests.ingest.onnx_text import content
from tests.ingest.resolving.onnxruntime_operators.cases import CASES
from tests.ingest.resolving.onnxruntime_operators.cases_without_cpu import STATED
from tests.ingest.resolving.onnxruntime_operators.drawing import Array, Case

TIMES = 25

WITHOUT_CPU = {
    *("BiasAdd", "BiasDropout", "BiasSoftmax", "BiasSplitGelu", "BitmaskBiasDropout"),
    *("BitmaskDropout", "ComplexMul", "ComplexMulConj", "DecoderMaskedMultiHeadAttention"),
    *("FusedMatMulActivation", "GatedRelativePositionBias", "GemmFastGelu", "GemmFloat8"),
    *("GemmaRotaryEmbedding", "GroupNorm", "Irfft", "IsAllFinite", "LongformerAttention"),
    *("MatMulBnb4", "MatMulFpQ4", "MatMulInteger16", "MaxpoolWithMask", "MulInteger"),
    *("NhwcConv", "NhwcFusedConv", "PackedAttention", "QEmbedLayerNormalization", "QMoE"),
    *("QLinearReduceMean", "QOrderedGelu", "QOrderedLayerNormalization", "QOrderedMatMul"),
    *("ReduceSumInteger", "RelativePositionBias", "Rfft", "SkipGroupNorm", "SparseAttention"),
    *("SparseToDenseMatMul", "TorchEmbedding", "AllGather", "AllReduce"),
}
"""What ONNX Runtime runs on no CPU, or only in types or with inputs that aren't drawn here."""


def model_of(op_type: str, case: Case) -> tuple[ModelProto, dict[str, Array]]:
    """The case as a model that declares nothing of its results, and what it is fed with."""
    domain = "" if op_type in WITHOUT_DOMAIN else "com.microsoft"
    names = ["" if each is None else f"i{at}" for at, each in enumerate(case.inputs)]
    outputs = ["" if at in case.left_out else f"o{at}" for at in range(case.outputs)]
    node = helper.make_node(op_type, names, outputs, domain=domain, **case.attributes)
    given = {name: each for name, each in zip(names, case.inputs, strict=True) if each is not None}
    constants = {names[at] for at in case.constants}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
        if name not in constants
    ]
    initializers = [numpy_helper.from_array(given[name], name) for name in sorted(constants)]
    results = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    graph = helper.make_graph([node], "g", inputs, results, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return model, {name: each for name, each in given.items() if name not in constants}


def run(model: ModelProto, feeds: dict[str, Array]) -> list[tuple[str, tuple[int, ...]]]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = session.run(None, feeds)
    return [(str(each.dtype), each.shape) for each in map(np.asarray, found)]


WRITTEN_OUT = ("Attention", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
"""Those of which ingest makes several layers, the last of which has the result; of an Attention if
it keeps keys and values.
"""


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (
            "g (float[16,64] a, float[32,64] b, float s) => (y) "
            "{ y = com.microsoft.GemmFloat8 <transB = 1, dtype = 10> (a, b, , s, s, s) }",
            [("float16", (16, 32))],
        ),
        (
            "g (float[1,1,192] x, float[1,4,448,16] k, float[1,4,448,16] v, int32[1] n) => "
            "(y, nk, nv) { y, nk, nv = com.microsoft.DecoderMaskedMultiHeadAttention "
            "<num_heads = 4, past_present_share_buffer = 1> (x, , , , , k, v, n) }",
            [("float32", (1, 1, 64)), *[("float32", (1, 4, 448, 16))] * 2],
        ),
        (
            "g (float[1,1,96] q, float[1,1,32] a, float[1,1,32] b, float[1,2,2048,16] k, "
            "float[1,2,2048,16] v, int32[1,33] r, int32[1,70000] c, int32 t, int32[1] l) "
            "=> (y, nk, nv) { y, nk, nv = com.microsoft.SparseAttention <num_heads = 6, "
            "kv_num_heads = 2, sparse_block_size = 64> (q, a, b, k, v, r, c, t, l) }",
            [("float32", (1, 1, 96)), *[("float32", (1, 2, 2048, 16))] * 2],
        ),
    ],
)
def test_they_are_as_defined_where_no_cpu_runs_them(
    graph: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    (layer,) = extract(content(graph, 21, {"com.microsoft": 1})).layers
    assert layer.layer is not None, layer.reason
    outputs = [layer.layer.tensors[place] for place in layer.layer.operators[0].outputs]
    assert [(each.dtype, each.shape) for each in outputs] == expected


@pytest.mark.parametrize("op_type", CASES)
def test_they_are_what_onnx_runtime_returns(op_type: str) -> None:
    """But states that are kept in place, which the layer doesn't return."""
    chance = random.Random(op_type)
    for _ in range(TIMES):
        model, feeds = model_of(op_type, CASES[op_type](chance))
        *before, layer = extract(model.SerializeToString()).layers
        appended = [each for each in before if each.op == "Identity"]
        assert len(before) == len(appended) or op_type in WRITTEN_OUT
        assert layer.layer is not None, layer.reason
        tensors = [layer.layer.tensors[at] for at in layer.layer.operators[0].outputs]
        returned = run(model, feeds)
        assert len(returned) == len(tensors) + len(appended)
        assert [(each.dtype, each.shape) for each in tensors] == returned[: len(tensors)]


def test_each_rule_is_compared_or_needs_more_than_a_cpu() -> None:
    mine = {name for domain, name in RULES if domain in ("", "com.microsoft")}
    assert mine == {*CASES, *WITHOUT_CPU, *STATED}


def test_what_does_not_fit_is_a_skipped_layer_with_the_reason() -> None:
    wide = Case([np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)])
    model, _ = model_of("FusedMatMul", wide)
    (layer,) = extract(model.SerializeToString()).layers
    assert "FusedMatMul 'o0': (2, 3) and (4, 5) don't fit together" in layer.reason
