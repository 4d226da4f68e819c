"""Tensors by number: what looks the same has the same number."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from benanza_ingest.errors import ModelError
from benanza_ingest.layering.tensors import NONE, Tensors
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import parse
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.fold import Array
from benanza_ingest.resolving.operators import DECIDING_ELEMENTS
from benanza_ingest.resolving.resolve import resolve
from benanza_schemas.layer import Tensor
from tests.ingest.onnx_text import content, proto


def tensors(encoded: bytes, limits: Limits | None = None) -> Tensors:
    model = parse(encoded, Limits())
    return Tensors(resolve(model, bind(model, None, {}), Limits()), limits or Limits())


def test_equal_types_share_a_number_and_constants_are_apart() -> None:
    found = tensors(
        content(
            "g (float[2,3] x, float[3,2] z) => (y) <float[2,3] c = {1,2,3,4,5,6}>"
            "{ t = Add(x, c) s = Transpose(z) y = Add(s, t) }"
        )
    )
    x, t, s, c, z = found.numbers(("x", "t", "s", "c", "z"))
    assert x == t == s
    assert len({x, c, z, NONE}) == 4
    assert found[x] == Tensor("float32", (2, 3))
    assert found[c] == Tensor("float32", (2, 3), constant=True)


def test_what_is_left_out_unknown_or_of_strings_has_no_number() -> None:
    found = tensors(content("g (float[2] x, string[2] s) => (y) { y = com.example.Op(x, s) }"))
    assert found.numbers(("", "s", "y", "never named")) == [NONE] * 4
    assert found.numbers(("x",)) != [NONE]


def test_elements_are_told_only_where_they_are_asked_for() -> None:
    found = tensors(
        content("g (float[2,3] x) => (y) <int64[1] a = {6}, int64[1] b = {6}> { y = Tile(x, a) }")
    )
    without, other = found.numbers(("a", "b"))
    assert without == other
    assert found[without] == Tensor("int64", (1,), constant=True)
    value = (6).to_bytes(8, "little")
    assert found[found.with_value("a")] == Tensor("int64", (1,), constant=True, value=value)
    assert found.with_value("a") == found.with_value("b") != without
    assert found.with_value("x") == found.numbers(("x",))[0], "no constant"


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.5, -2.0], np.float16),
        np.array([[1, -2]], np.int8),
        np.array([True, False, True]),
        np.array([1.5, -2.0], ml_dtypes.bfloat16),
        np.array([1, -2, 3], ml_dtypes.int4),
        np.array(7, np.int32),
    ],
    ids=lambda array: str(array.dtype),
)
def test_elements_lie_as_onnx_lays_them_out(array: Array) -> None:
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    weight = numpy_helper.from_array(array, "w")
    model.graph.initializer.append(weight)
    found = tensors(model.SerializeToString())
    assert found[found.with_value("w")].value == weight.raw_data


@pytest.mark.parametrize("extra", [0, 1])
def test_a_constant_with_many_elements_is_a_weight(extra: int) -> None:
    count = DECIDING_ELEMENTS + extra
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    model.graph.initializer.append(
        helper.make_tensor("w", TensorProto.INT8, [count], bytes(count), raw=True)
    )
    found = tensors(model.SerializeToString())
    assert (found[found.with_value("w")].value is None) == bool(extra)


def test_a_tensor_over_the_limits_is_refused() -> None:
    found = tensors(
        content("g (float[20,50] x) => (y) { y = Relu(x) }"), Limits(tensor_elements=999)
    )
    with pytest.raises(ModelError, match="more than 999 elements"):
        found.numbers(("x",))
