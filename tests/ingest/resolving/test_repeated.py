"""A graph without repeated nodes computes what the model does."""

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import parse
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.graph import Graph
from benanza_ingest.resolving.resolve import resolve
from benanza_runner.onnxruntime.session import CPU
from tests.ingest.onnx_text import content
from tests.ingest.resolving.repeated_graphs import graphs

KINDS = ("unary", "binary", "constant", "softmax")


def resolved(encoded: bytes) -> Graph:
    model = parse(encoded, Limits())
    return resolve(model, bind(model, None, {}), Limits())


def rewritten(encoded: bytes) -> bytes:
    """A model of the graph's nodes, with the values of its constants and the types that it has."""
    graph, model = resolved(encoded), ModelProto.FromString(encoded)
    made = GraphProto(name="once", input=model.graph.input, output=model.graph.output)
    for node in graph.nodes:
        proto = NodeProto(op_type=node.op_type, attribute=node.proto.attribute)
        proto.input.extend(node.inputs)
        proto.output.extend(node.outputs)
        made.node.append(proto)
        for name in node.outputs:
            known = graph.types[name]
            assert known is not None
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(known.dtype))
            if name not in graph.outputs:
                made.value_info.append(helper.make_tensor_value_info(name, kind, known.dims()))
    for name in {name for node in graph.nodes for name in node.inputs}:
        if name in graph.constants:
            value = graph.constants.value(name)
            made.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    model.graph.CopyFrom(made)
    encoded_again: bytes = model.SerializeToString()
    return encoded_again


def computed(encoded: bytes) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(encoded, options, providers=[CPU.name])
    draw = np.random.default_rng(0).standard_normal
    inputs = {value.name: draw(value.shape, np.float32) for value in session.get_inputs()}
    return [np.asarray(each) for each in session.run(None, inputs)]


@settings(max_examples=100)
@given(graphs((*KINDS, "repeat", "softmax")))
def test_it_computes_what_the_model_does(encoded: bytes) -> None:
    for found, expected in zip(computed(rewritten(encoded)), computed(encoded), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


HEAD = (
    "g (float[1,4,8,8] x, float[1,4,8,8] z) => ({out}) <float one = {{1.0}},"
    " float nought = {{0.0}}, float half = {{0.5}}, float also_half = {{0.5}},"
    " float[4,4,1,1] w = {weights}, float[4,4,1,1] v = {weights}, float[4,2] m = {eight}>"
    " {{ {body} }}"
)
WEIGHTS = "{" + ", ".join(["0.1"] * 16) + "}"
EIGHT = "{" + ", ".join(["0.1"] * 8) + "}"


def operators(body: str, out: str = "y", opset: int = 21) -> list[str]:
    text = HEAD.format(body=body, out=out, weights=WEIGHTS, eight=EIGHT)
    return [node.op_type for node in resolved(content(text, opset)).nodes]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = Conv(x, w) b = Conv(x, w) y = Mul(a, b)", "Conv Mul"),
        ("a = Softmax(x) b = Softmax<axis=-1>(x) y = Mul(a, b)", "Softmax Mul"),  # the default
        ("a = MaxPool<kernel_shape=[2,2]>(x) c = Abs(a) b = MaxPool<kernel_shape=[2,2]>(x)"
         " y = Add(c, b)", "MaxPool Abs Add"),
        ("a = LpNormalization(x) b = LpNormalization(x) y = Mul(a, b)", "LpNormalization Mul"),
        ("a = GlobalLpPool(x) b = GlobalLpPool(x) y = Mul(a, b)", "GlobalLpPool Mul"),
    ],
)  # fmt: skip
def test_what_is_costly_and_repeats_is_left_out(body: str, left: str) -> None:
    assert operators(body) == left.split()


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a = Conv(x, w) b = Conv(x, v) y = Mul(a, b)", "Conv Conv Mul"),  # weights of a light file
        ("a = Sub(x, z) b = Sub(z, x) y = Mul(a, b)", "Sub Sub Mul"),
        ("a = Softmax(x) b = Softmax<axis=1>(x) y = Mul(a, b)", "Softmax Softmax Mul"),
        ("a = RandomNormalLike(x) b = RandomNormalLike(x) y = Mul(a, b)",
         "RandomNormalLike RandomNormalLike Mul"),
        ("a = Mul(x, half) b = Mul(x, also_half) y = Add(a, b)", "Mul Mul Add"),  # of its readers
    ],
)  # fmt: skip
def test_what_stays(body: str, left: str) -> None:
    assert operators(body) == left.split()


def test_a_result_keeps_its_name() -> None:
    body = "a = Softmax(x) b = Softmax(x) c = Softmax(x) d = Abs(a) e = Neg(c)"
    text = HEAD.format(body=body, out="b, d, e", weights=WEIGHTS, eight=EIGHT)
    graph = resolved(content(text))
    assert [(node.op_type, *node.outputs) for node in graph.nodes] == [
        ("Softmax", "b"),
        ("Abs", "d"),
        ("Neg", "e"),
    ]
    assert graph.left_out == 2
    assert operators("a = Softmax(x) b = Softmax(x)", "a, b") == ["Softmax", "Softmax"]
