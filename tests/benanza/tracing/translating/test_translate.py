"""Operators of PyTorch as nodes of ONNX: what these compute, by ONNX Runtime and by NumPy."""

from typing import Any

import numpy as np
import pytest

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.translating.rules import RULES
from benanza.tracing.translating.translate import translated
from tests.benanza.tracing.translating.samples import (
    Array,
    Sample,
    computes_as_said,
    in_channels,
    is_taken,
    normalised,
    root_mean_square,
    softmax,
)


def attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    later = np.triu(np.ones(scores.shape[-2:], bool), 1)
    return np.asarray(softmax(np.where(later, -np.inf, scores)) @ v)


def one_by_one(x: Array, weight: Array, bias: Array) -> Array:
    """A convolution of one element with stride 2."""
    mixed = np.einsum("nchw,oc->nohw", x[:, :, ::2, ::2], weight[:, :, 0, 0])
    return np.asarray(mixed + bias[:, None, None])


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


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_it_computes_what_pytorch_does(sample: Sample) -> None:
    computes_as_said(sample)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_ingest_takes_it(sample: Sample) -> None:
    is_taken(sample)


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


def test_without_shapes_the_reason_is_how_to_have_them() -> None:
    said = translated("aten::mm", None, "")
    assert isinstance(said, str)
    assert "record it with them" in said


def test_rules_are_of_operators_as_frameworks_name_them() -> None:
    packages = {name.partition("::")[0] for name in RULES if "::" in name}
    assert packages == {"aten", "_C", "sgl_kernel"}
