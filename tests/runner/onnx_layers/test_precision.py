"""Layers in other floating-point types."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.onnx_layers.precision import PrecisionError, retyped
from benanza_schemas.layer import Attribute, Layer, Precision, Tensor, TensorValue
from tests.runner.cuda.layers.own import paged
from tests.runner.layers import conv, conv_group, floats, single

HALF = Tensor("float16", (2, 3))


def dtypes(layer: Layer) -> list[str]:
    return [tensor.dtype for tensor in layer.tensors]


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_a_layer_in_float32_is_one_already(precision: Precision) -> None:
    layer = conv_group(2, 4, "BatchNormalization", "Relu")
    assert retyped(layer, precision) is layer


def test_all_tensors_change_together() -> None:
    assert set(dtypes(retyped(conv(2, 4), "fp16"))) == {"float16"}
    modern = single("Relu", 14, (floats(3),), (floats(3),))
    assert dtypes(retyped(modern, "bf16")) == ["bfloat16", "bfloat16"]
    half = single("Relu", 14, (HALF,), (HALF,))
    assert dtypes(retyped(half, "fp32")) == ["float32", "float32"]


def test_what_an_operator_does_not_take_is_refused() -> None:
    with pytest.raises(PrecisionError, match="Conv in version 1 takes no bfloat16"):
        retyped(conv(2, 4), "bf16")


def test_what_runs_on_gpus_alone_takes_all_floats() -> None:
    layer = retyped(paged(3, 3, 9, 4, stored="int8"), "fp32")
    assert retyped(layer, "fp32") is layer
    assert {"int8", "int32", "float32"} == set(dtypes(layer))
    halves = retyped(layer, "fp16")
    scale = halves.operators[0].inputs[14]
    assert halves.tensors[scale].dtype == "float32"
    assert retyped(halves, "fp32") == layer


def test_integers_bool_and_float64_stay() -> None:
    indices = Tensor("int64", (2,))
    gather = single("Gather", 13, (floats(4, 5), indices), (floats(2, 5),), axis=0)
    assert dtypes(retyped(gather, "fp16")) == ["float16", "int64", "float16"]
    double = Tensor("float64", (3,))
    exact = single("Relu", 14, (double,), (double,))
    assert retyped(exact, "fp16") is exact
    where = single("Where", 9, (Tensor("bool", (3,)), floats(3), floats(3)), (floats(3),))
    assert dtypes(retyped(where, "fp16")) == ["bool", "float16", "float16", "float16"]


def test_tensors_that_know_one_type_only_stay() -> None:
    scales = Tensor("float32", (2,), constant=True, value=np.array([1, 2], np.float32).tobytes())
    roi = Tensor("float32", (0,), constant=True, value=b"")
    resize = single("Resize", 13, (floats(2, 3), roi, scales), (floats(2, 6),), mode="nearest")
    changed = retyped(resize, "fp16")
    assert dtypes(changed) == ["float16", "float16", "float32", "float16"]
    assert changed.tensors[2] == scales


def test_known_values_are_converted() -> None:
    value = np.array([0.5, -3.0], np.float32)
    known = Tensor("float32", (2,), constant=True, value=value.tobytes())
    layer = single("Add", 14, (floats(2), known), (floats(2),))
    found = retyped(layer, "fp16").tensors[1].value
    assert found is not None
    np.testing.assert_array_equal(np.frombuffer(found, np.float16), value)


def test_the_type_that_a_cast_writes_is_an_attribute() -> None:
    cast = single("Cast", 13, (Tensor("int64", (3,)),), (floats(3),), to=1)
    changed = retyped(cast, "fp16")
    assert changed.operators[0].attributes == (Attribute("to", 10),)
    assert dtypes(changed) == ["int64", "float16"]
    to_integer = single("Cast", 13, (floats(3),), (Tensor("int64", (3,)),), to=7)
    assert retyped(to_integer, "fp16").operators[0].attributes == (Attribute("to", 7),)


def test_a_tensor_in_an_attribute_changes_with_what_is_written() -> None:
    shape = Tensor("int64", (1,), constant=True, value=np.array([3], np.int64).tobytes())
    fill = TensorValue("float32", (1,), np.array([0.5], np.float32).tobytes())
    layer = single("ConstantOfShape", 9, (shape,), (floats(3),), value=fill)
    (changed,) = retyped(layer, "fp16").operators[0].attributes
    assert changed.value == TensorValue("float16", (1,), np.array([0.5], np.float16).tobytes())


precisions: st.SearchStrategy[Precision] = st.sampled_from(["fp32", "tf32", "fp16"])


@given(st.lists(precisions, min_size=1, max_size=4))
def test_the_last_precision_asked_for_counts(asked: list[Precision]) -> None:
    layer = conv_group(2, 4, "Add", "Relu")
    changed = layer
    for precision in asked:
        changed = retyped(changed, precision)
    assert changed == retyped(layer, asked[-1])
