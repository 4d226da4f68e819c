"""Operators of PyTorch as nodes of ONNX: what these compute, by ONNX Runtime and by NumPy."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.trace_model import OPSET, trace_model
from benanza.tracing.translating.rules import RULES
from benanza.tracing.translating.translate import translated
from benanza.tracing.translating.writing import Writer
from benanza_ingest.limits import Limits

Array = NDArray[Any]


class Sample(NamedTuple):
    """An operator, its inputs as a trace has them, and what it computes of its tensors in order."""

    name: str
    shapes: tuple[Any, ...]
    values: tuple[str, ...]
    ops: str
    computes: Callable[..., Array]
    dtypes: tuple[str | tuple[str, ...], ...] = ()


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    later = np.triu(np.ones(scores.shape[-2:], bool), 1)
    return np.asarray(softmax(np.where(later, -np.inf, scores)) @ v)


def normalised(x: Array, scale: Array, shift: Array) -> Array:
    deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return np.asarray((x - x.mean(-1, keepdims=True)) / deviation * scale + shift)


def in_channels(x: Array, *parts: Array) -> Array:
    scale, shift, mean, variance = (part[:, None, None] for part in parts)
    return np.asarray((x - mean) / np.sqrt(variance + 1e-5) * scale + shift)


def one_by_one(x: Array, weight: Array, bias: Array) -> Array:
    """A convolution of one element with stride 2."""
    mixed = np.einsum("nchw,oc->nohw", x[:, :, ::2, ::2], weight[:, :, 0, 0])
    return np.asarray(mixed + bias[:, None, None])


def root_mean_square(_: object, x: Array, scale: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale)


def gated(_: object, x: Array) -> Array:
    first, second = np.split(x, 2, -1)
    return np.asarray(first / (1 + np.exp(-first)) * second)


SAMPLES = (
    Sample("aten::linear", ((2, 8), (4, 8), (4,)), (), "Gemm", lambda x, w, b: x @ w.T + b),
    Sample("aten::addmm", ((4,), (2, 8), (8, 4)), (), "Gemm", lambda b, x, w: x @ w + b),
    Sample("aten::mm", ((2, 8), (8, 4)), (), "MatMul", lambda x, w: x @ w),
    Sample("aten::bmm", ((3, 2, 8), (3, 8, 4)), (), "MatMul", lambda x, y: x @ y),
    Sample(
        "aten::convolution",
        ((1, 3, 8, 8), (4, 3, 1, 1), (4,), (), (), (), (), (), ()),
        ("", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"),
        "Conv",
        one_by_one,
    ),
    Sample(
        "aten::scaled_dot_product_attention",
        ((1, 2, 6, 4),) * 3 + ((),) * 4,
        ("", "", "", "", "0.", "True", "0.5"),
        "Attention",
        attention,
    ),
    Sample(
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        ((1, 2, 6, 4),) * 3 + ((),) * 4,
        ("", "", "", "0.", "True", "", ""),
        "Attention",
        attention,
    ),
    Sample(
        "aten::layer_norm",
        ((2, 8), (), (8,), (8,), ()),
        ("", "[8]", "", "", "1.0000000000000001e-05"),
        "LayerNormalization",
        normalised,
    ),
    Sample(
        "aten::batch_norm",
        ((2, 3, 4, 4), (3,), (3,), (3,), (3,), (), (), ()),
        ("", "", "", "", "", "False", "0.1", "1e-05"),
        "BatchNormalization",
        in_channels,
    ),
    Sample("aten::_softmax", ((2, 8), (), ()), ("", "-1", "False"), "Softmax", softmax),
    Sample(
        "aten::mean",
        ((2, 8), (), ()),
        ("", "[-1]", "True"),
        "ReduceMean",
        lambda x: x.mean(-1, keepdims=True),
    ),
    Sample("aten::silu_", ((2, 8),), (), "Sigmoid+Mul", lambda x: x / (1 + np.exp(-x))),
    Sample("aten::rsqrt", ((2, 8),), (), "Sqrt+Reciprocal", lambda x: 1 / np.sqrt(x)),
    Sample("aten::add", ((2, 8), (8,), ()), ("", "", "1"), "Add", lambda x, y: x + y),
    Sample("aten::rsub", ((2, 8), (), ()), ("", "3", "1"), "Sub", lambda x: 3 - x),
    Sample("aten::pow", ((2, 8), ()), ("", "2"), "Pow", lambda x: x**2),
    Sample("aten::clamp", ((2, 8), (), ()), ("", "0.5", ""), "Clip", lambda x: x.clip(0.5)),
    Sample(
        "aten::masked_fill",
        ((2, 8), (2, 8), ()),
        ("", "", "7"),
        "Where",
        lambda x, mask: np.where(mask, 7, x),
        ("float16", "bool", ""),
    ),
    Sample(
        "_C::rms_norm",
        ((2, 8), (2, 8), (8,), ()),
        ("", "", "", "1e-05"),
        "RMSNormalization",
        root_mean_square,
    ),
    Sample(
        "sgl_kernel::fused_add_rmsnorm",
        ((2, 8), (2, 8), (8,), (), ()),
        ("", "", "", "1e-05", "False"),
        "Add+RMSNormalization",
        lambda x, residual, scale: root_mean_square(None, x + residual, scale),
    ),
    Sample("_C::silu_and_mul", ((2, 4), (2, 8)), (), "Slice+Slice+Sigmoid+Mul+Mul", gated),
    Sample(
        "aten::cat",
        (((2, 3), (0,), (2, 5)), ()),
        ("", "1"),
        "Concat",
        lambda *parts: np.concatenate(parts, 1),
        (("float16",) * 3, ""),
    ),
    Sample(
        "aten::embedding",
        ((10, 4), (3,)),
        (),
        "Gather",
        lambda table, places: table[places],
        ("float16", "int64"),
    ),
    Sample(
        "aten::max_pool2d",
        ((1, 2, 4, 4), (), (), (), (), ()),
        ("", "[2, 2]", "[]", "[0, 0]", "[1, 1]", "False"),
        "MaxPool",
        lambda x: x.reshape(1, 2, 2, 2, 2, 2).max((3, 5)),
    ),
)


BY_CHANNEL = (1, 4, 3, 3)

KERNELS = (
    Sample(
        "triton_poi_fused_add_relu_0",
        ((2, 8), (2, 8), ()),
        ("", "", "16"),
        "Relu",
        lambda x: np.maximum(x, 0),
    ),
    Sample(
        "triton_poi_fused_add_addmm_relu_1",
        ((2, 8), (8,), (2, 8), ()),
        ("", "", "", "16"),
        "Add+Add+Relu",
        lambda x, bias, y: np.maximum(x + y + bias, 0),
    ),
    Sample(
        "triton_poi_fused_mul_silu_view_2",
        ((2, 8), (2, 8), (2, 8), ()),
        ("", "", "", "16"),
        "Mul+Sigmoid+Mul",
        lambda x, y: x * y / (1 + np.exp(-x * y)),
    ),
    Sample(
        "triton_poi_fused_mul_3",
        ((2, 8), (2, 8), ()),
        ("", "", "16"),
        "Mul",
        lambda x: x / 2,
    ),
    Sample(
        "triton_poi_fused_convolution_hardswish_4",
        (BY_CHANNEL, (4,), ()),
        ("", "", "36"),
        "Add+HardSwish",
        lambda x, bias: (x + bias) * ((x + bias + 3) / 6).clip(0, 1),
    ),
    Sample(
        "triton_poi_fused__native_batch_norm_legit_no_training_add_relu_5",
        (BY_CHANNEL, *((4,),) * 4, BY_CHANNEL, *((4,),) * 4, ()),
        ("",) * 10 + ("36",),
        "BatchNormalization+BatchNormalization+Add+Relu",
        lambda x, m, v, s, b, y, *parts: np.maximum(
            in_channels(x, m, v, s, b) + in_channels(y, *parts), 0
        ),
    ),
    Sample(
        "triton_per_fused__native_batch_norm_legit_no_training_add_mean_relu_6",
        (BY_CHANNEL, *((4,),) * 4, BY_CHANNEL, (1, 4, 1, 1), (), ()),
        ("",) * 7 + ("4", "9"),
        "BatchNormalization+Add+Relu+ReduceMean",
        lambda x, m, v, s, b, y: np.maximum(in_channels(x, m, v, s, b) + y, 0).mean(
            (2, 3), keepdims=True
        ),
    ),
    Sample(
        "triton_per_fused_add_native_layer_norm_view_7",
        ((2, 8), (8,), (2, 8), (8,), (8,), (2, 8), (), ()),
        ("",) * 6 + ("2", "8"),
        "Add+Add+LayerNormalization",
        lambda x, bias, y, scale, shift: normalised(x + y + bias, scale, shift),
    ),
    Sample(
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_8",
        ((2, 8), (2, 8), (8,), (2, 8), (), ()),
        ("",) * 4 + ("2", "8"),
        "Add+RMSNormalization",
        lambda x, y, scale: root_mean_square(None, x + y, scale),
    ),
    Sample(
        "triton_per_fused__softmax_9",
        ((2, 8), (2, 8), (), ()),
        ("", "", "2", "8"),
        "Softmax",
        softmax,
    ),
    Sample(
        "triton_poi_fused_add_clone_select_view_10",
        ((2, 24), (8,), (2, 8), ()),
        ("", "", "", "16"),
        "Add",
        lambda x, bias: x + bias,
    ),
)
"""Kernels that `torch.compile` wrote; vectors are in the order of the weights. Without a product a
sum may be with a number.
"""

INTO_FIRST = ("_C::rms_norm", "_C::silu_and_mul")
"""Operators that write to their first input."""


def inputs_of(sample: Sample) -> TracedInputs:
    """A shape without axes is no tensor, here."""
    dtypes = sample.dtypes or tuple("float16" if shape else "" for shape in sample.shapes)
    return TracedInputs(sample.shapes, dtypes, sample.values)


def filled(tensor: TensorProto, random: np.random.Generator) -> TensorProto:
    if tensor.data_location != TensorProto.EXTERNAL:
        return tensor
    values = random.uniform(0.1, 1.0, tuple(tensor.dims)).astype(np.float32)
    return numpy_helper.from_array(values, tensor.name)


@pytest.mark.parametrize("sample", SAMPLES + KERNELS, ids=lambda sample: sample.name)
def test_it_computes_what_pytorch_does(sample: Sample) -> None:
    random = np.random.default_rng(0)
    written = translated(sample.name, inputs_of(sample), "o0_")
    assert isinstance(written, Writer)
    weights = [filled(weight, random) for weight in written.weights]
    outputs = [helper.make_empty_tensor_value_info(name) for name in written.results]
    graph = helper.make_graph(written.nodes, "part", written.read, outputs, weights)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    given: dict[str, Array] = {}
    for value in written.read:
        sizes = [axis.dim_value for axis in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        given[value.name] = random.uniform(0.1, 2.0, sizes).astype(dtype)
    found = session.run(None, given)[-1]
    tensors = {name: given[name] for name in given} | {
        weight.name: numpy_helper.to_array(weight) for weight in weights
    }
    if isinstance(inputs_of(sample).dtypes[0], tuple):
        np.testing.assert_array_equal(found, sample.computes(*given.values()))
        return
    expected = sample.computes(*_in_order(sample, written, tensors))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def _in_order(sample: Sample, written: Writer, tensors: dict[str, Array]) -> list[Array]:
    """The tensors in the framework's order: weights in that in which they are written."""
    weights = iter([weight.name for weight in written.weights if _is_made_up(weight)])
    places = range(len(sample.shapes))
    dtypes = inputs_of(sample).dtypes
    names = [
        name if (name := f"o0_x{place}") in tensors else None for place in places if dtypes[place]
    ]
    # What is written to is no input of the nodes.
    results = 1 if sample.name in INTO_FIRST else 0
    in_order = [name or next(weights, "") for name in names[results:]]
    return [np.empty(0)] * results + [tensors[name] for name in in_order if name]


def _is_made_up(weight: TensorProto) -> bool:
    return bool(weight.data_location == TensorProto.EXTERNAL)


@pytest.mark.parametrize("sample", SAMPLES + KERNELS, ids=lambda sample: sample.name)
def test_ingest_takes_it(sample: Sample) -> None:
    (part,) = trace_model([(sample.name, inputs_of(sample))], Limits()).parts
    assert part.reason == ""
    assert "+".join(layer.op for layer in part.layers) == sample.ops
    assert part.precision == "fp16"


@pytest.mark.parametrize(
    ("name", "shapes", "dtypes", "values", "reason"),
    [
        ("aten::isin", ((2,),), ("int64",), (), "aten::isin has no translation"),
        ("triton_tem_fused_mm_3", (), (), (), "its name doesn't say of what operators"),
        ("aten::copy_", ((2,), (2,)), ("float16", "float32"), (), "it copies or converts"),
        ("aten::view", ((2,),), ("float16",), (), "how a tensor is seen"),
        ("aten::fill_", ((2,),), ("float16",), (), "it makes values of nothing"),
        ("aten::mm", ((2, 8), (8, 4)), ("", ""), (), "lacks the type of an input"),
        ("aten::mm", ((2, 8), (8, 4)), ("c10::ComplexFloat",) * 2, (), "ONNX has no type"),
        ("aten::add", ((2,), (2,), ()), ("int64", "float32", ""), ("", "", "1"), "made equal"),
        ("aten::add", ((2,), (2,), ()), ("float32",) * 2 + ("",), ("", "", "2"), "scaled sums"),
        ("aten::cat", (((0,), (2, 3)), ()), (("float32",) * 2, ""), ("", "1"), "copies one tensor"),
        ("aten::add", ((), ()), ("float32", "float32"), ("", ""), "a single number"),
        ("aten::batch_norm", ((3,),), ("float32",), (), "aren't those of aten::batch_norm"),
        ("aten::bitwise_and", ((2,), (2,)), ("int64", "int64"), (), "truth values only"),
        ("aten::convolution", ((1, 3, 8), (4, 3, 1)), ("float32",) * 2, (), "lacks the strides"),
        (
            "aten::batch_norm",
            ((2, 3, 4, 4), (), (), (), (), ()),
            ("float32", "", "", "", "", ""),
            ("", "", "", "", "", "True"),
            "of training",
        ),
    ],
)
def test_what_is_no_layer_has_a_reason(
    name: str,
    shapes: tuple[Any, ...],
    dtypes: tuple[str | tuple[str, ...], ...],
    values: tuple[str, ...],
    reason: str,
) -> None:
    said = translated(name, TracedInputs(shapes, dtypes, values), "")
    assert isinstance(said, str)
    assert reason in said


@pytest.mark.parametrize(
    ("name", "shapes", "values", "reason"),
    [
        ("poi_fused_add_cat", ((2, 8), (2, 8), ()), ("", "", "16"), "cat in a kernel"),
        ("poi_fused_clone", ((2, 8), (2, 8), ()), ("", "", "16"), "copies or converts"),
        ("poi_fused_clone_expand", ((8,), (2, 8), ()), ("", "", "16"), "copies or converts"),
        ("poi_fused_add", ((2, 1), (8,), (2, 8), ()), ("",) * 3 + ("16",), "what it writes"),
        ("poi_fused_relu", ((2, 4), ()), ("", "48"), "in part, or repeats"),
        ("poi_fused_add", ((8, 8), (4, 8), (8, 8), ()), ("",) * 3 + ("64",), "in part, or repeats"),
        (
            "poi_fused_add_slice",
            ((4, 2, 8), (1, 12, 8), (4, 2, 8), ()),
            ("", "", "", "64"),
            "in part, or repeats",
        ),
        ("poi_fused_relu", ((2, 8), (2, 8)), ("", ""), "in part, or repeats"),
        ("per_fused_relu", ((2, 8), (2, 8), (), ()), ("", "", "2", "8"), "what it does with rows"),
        ("per_fused_sum", ((3, 5), (3,), (), ()), ("", "", "5", "3"), "other than the last axes"),
        (
            "per_fused_native_layer_norm",
            ((2, 8), (2, 1), (2, 1), (), ()),
            ("", "", "", "2", "8"),
            "what it writes",
        ),
        ("red_fused__softmax", ((2, 8), (2, 1), (), ()), ("", "", "2", "8"), "what it writes"),
        (
            "poi_fused__native_batch_norm_legit_no_training_convolution_relu",
            ((8, 8, 3, 3), (8, 8, 3, 3), ()),
            ("", "", "576"),
            "copies or converts",
        ),
        (
            "per_fused__softmax",
            ((2, 3, 3), (2, 3, 3), (), ()),
            ("", "", "2", "9"),
            "softmax over several axes",
        ),
    ],
)
def test_what_a_kernel_moves_is_not_guessed(
    name: str, shapes: tuple[Any, ...], values: tuple[str, ...], reason: str
) -> None:
    dtypes = tuple("float16" if shape else "" for shape in shapes)
    said = translated(f"triton_{name}_0", TracedInputs(shapes, dtypes, values), "")
    assert isinstance(said, str), said.nodes
    assert reason in said


@pytest.mark.parametrize("result", ["int8", "float32"])
def test_a_kernel_that_converts_is_none(result: str) -> None:
    inputs = TracedInputs(((2, 8), (2, 8), ()), ("float16", result, ""), ("", "", "16"))
    said = translated("triton_poi_fused_relu_0", inputs, "")
    assert isinstance(said, str)
    assert "converts between types" in said


def test_what_a_kernel_repeats_is_stored_once() -> None:
    inputs = TracedInputs(
        ((2, 8), (2, 8), (2, 8), ()),
        ("float16",) * 3 + ("",),
        ("", "", "", "16"),
        (),
        ((8, 1), (0, 1), (8, 1), ()),
    )
    written = translated("triton_poi_fused_mul_0", inputs, "")
    assert isinstance(written, Writer)
    shapes = [[axis.dim_value for axis in each.type.tensor_type.shape.dim] for each in written.read]
    assert shapes == [[2, 8], [1, 8]]


def test_a_kernel_has_the_precision_of_its_largest_tensors() -> None:
    inputs = TracedInputs(
        ((2, 1), (2, 8), (8,), (2, 8), (), ()),
        ("float32", "float16", "float16", "float16", "", ""),
        ("", "", "", "", "2", "8"),
    )
    name = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"
    (part,) = trace_model([(name, inputs)], Limits()).parts
    assert (part.reason, part.precision) == ("", "fp16")


def test_a_row_alone_is_scaled_by_a_vector() -> None:
    """Which has as many elements as all there is."""
    inputs = TracedInputs(
        ((1, 8), (8,), (1, 8), (), ()), ("float16",) * 3 + ("", ""), ("", "", "", "1", "8")
    )
    name = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"
    (part,) = trace_model([(name, inputs)], Limits()).parts
    assert [layer.op for layer in part.layers] == ["RMSNormalization"]


def test_a_kernel_counts_as_one_call() -> None:
    """Its operators one by one move more, and are no way to compute it."""
    sample = next(each for each in KERNELS if each.ops == "Add+HardSwish")
    (part,) = trace_model([(sample.name, inputs_of(sample))], Limits()).parts
    assert len(part.layers) == 2
    assert part.ways
    assert {len(way) for way in part.ways} == {1}


def test_without_shapes_the_reason_is_how_to_have_them() -> None:
    said = translated("aten::mm", None, "")
    assert isinstance(said, str)
    assert "record it with them" in said


def test_rules_are_of_operators_as_frameworks_name_them() -> None:
    packages = {name.partition("::")[0] for name in RULES if "::" in name}
    assert packages == {"aten", "_C", "sgl_kernel"}
