"""Movement that starts nothing where feature maps have their channels last."""

import numpy as np
import pytest

from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.lowering.regions.in_place import InPlace, in_place
from benanza_runner.cuda.reference import reference
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.layer import Layer
from tests.runner.cuda.layers.regions import numbers, region

TO_TOKENS = region("float[2,16,5,6] x", "y", "y = Transpose<perm=[0,2,3,1]>(x)")
TO_A_MAP = region("float[2,5,6,16] x", "y", "y = Transpose<perm=[0,3,1,2]>(x)")
FLATTENED = region(
    "float[2,16,5,6] x",
    "y",
    "h = Constant<value_ints=[2,16,30]>() t = Reshape(x, h) y = Transpose<perm=[0,2,1]>(t)",
)
UNFLATTENED = region(
    "float[2,30,16] x",
    "y",
    "h = Constant<value_ints=[2,16,5,6]>() t = Transpose<perm=[0,2,1]>(x) y = Reshape(t, h)",
)
THERE_AND_ON = region(
    "float[2,16,5,6] x",
    "y",
    "h = Constant<value_ints=[2,16,30]>() t = Reshape(x, h) u = Transpose<perm=[0,2,1]>(t)"
    " i = Constant<value_ints=[2,10,3,16]>() y = Reshape(u, i)",
)
OF_A_VOLUME = region(
    "float[2,16,5,6,3] x",
    "y",
    "h = Constant<value_ints=[2,16,90]>() t = Reshape(x, h) y = Transpose<perm=[0,2,1]>(t)",
)


def found(layer: Layer) -> InPlace | None:
    """How the layer moves nothing, which is tried on elements."""
    layer = retyped(layer, "fp32")
    given = reference(layer, "fp32", threads=1)
    lowered = lower(layer, given.values)
    way = in_place(lowered.call)
    if way is not None:
        lying = np.ascontiguousarray(lowered.operands[way.name].transpose(way.operand))
        seen = lying.reshape([way.shape[axis] for axis in way.result])
        np.testing.assert_array_equal(seen.transpose(np.argsort(way.result)), given.outputs[0])
    return way


@pytest.mark.parametrize("layer", [TO_TOKENS, FLATTENED, THERE_AND_ON])
def test_tokens_of_a_map_with_channels_last(layer: Layer) -> None:
    way = found(layer)
    assert way is not None
    assert (way.layout, way.operand) == ("NHWC", (0, 2, 3, 1))
    assert way.result == tuple(range(len(way.shape)))


@pytest.mark.parametrize("layer", [TO_A_MAP, UNFLATTENED])
def test_a_map_with_channels_last_of_tokens(layer: Layer) -> None:
    way = found(layer)
    assert way is not None
    assert (way.layout, way.result) == ("NHWC", (0, 2, 3, 1))
    assert way.operand == tuple(range(len(way.operand)))


def test_tokens_of_a_volume() -> None:
    way = found(OF_A_VOLUME)
    assert way is not None
    assert way.layout == "NDHWC"


@pytest.mark.parametrize(
    "body",
    [
        "y = Transpose<perm=[0,2,1,3]>(x)",
        "y = Transpose<perm=[0,3,2,1]>(x)",
        f"{numbers(start=-1, end=-100, axis=3, step=-1)} f = Slice(x, start, end, axis, step)"
        " y = Transpose<perm=[0,2,3,1]>(f)",
        f"{numbers(start=0, end=8, axis=1, step=1)} f = Slice(x, start, end, axis, step)"
        " y = Transpose<perm=[0,2,3,1]>(f)",
        f"{numbers(start=0, end=8, axis=1, step=1)} f = Slice(x, start, end, axis, step)"
        " h = Constant<value_ints=[2,8,30]>() y = Reshape(f, h)",
        "t = Transpose<perm=[0,2,3,1]>(x) y = Neg(t)",
        "h = Constant<value_ints=[2,4,120]>() t = Reshape(x, h) y = Transpose<perm=[0,2,1]>(t)",
        "h = Constant<value_ints=[2,30,16]>() t = Transpose<perm=[0,3,2,1]>(x) y = Reshape(t, h)",
    ],
)
def test_other_movement_moves(body: str) -> None:
    assert found(region("float[2,16,5,6] x", "y", body)) is None
