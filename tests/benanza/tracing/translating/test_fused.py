"""Kernels that `torch.compile` wrote as nodes of ONNX, and those of which not enough is known."""

from typing import Any

import numpy as np
import pytest

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.trace_model import trace_model
from benanza.tracing.translating.translate import translated
from benanza.tracing.translating.writing import Writer
from benanza_ingest.limits import Limits
from tests.benanza.tracing.translating.samples import (
    Sample,
    computes_as_said,
    in_channels,
    inputs_of,
    is_taken,
    normalised,
    root_mean_square,
    softmax,
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


@pytest.mark.parametrize("sample", KERNELS, ids=lambda sample: sample.name)
def test_it_computes_what_pytorch_does(sample: Sample) -> None:
    computes_as_said(sample)


@pytest.mark.parametrize("sample", KERNELS, ids=lambda sample: sample.name)
def test_ingest_takes_it(sample: Sample) -> None:
    is_taken(sample)


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
