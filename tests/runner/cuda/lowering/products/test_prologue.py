"""What comes before a convolution goes into its filter, or is told to the library."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.lowering.lower import lower, reads
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer
from tests.runner.cuda.layers.prologues import FOLDED, PROLOGUES, prepared
from tests.runner.cuda.lowering.test_lower import check
from tests.runner.layers import floats, operator, weights


def call_of(layer: Layer) -> Convolution:
    call = lower(layer, reference(layer, "fp32", 1).values).call
    assert isinstance(call, Convolution)
    return call


@pytest.mark.parametrize("name", list(FOLDED))
def test_it_goes_into_the_filter_where_that_is_exact(name: str) -> None:
    call = call_of(FOLDED[name])
    assert not call.has_prologue
    assert call.bias


@pytest.mark.parametrize("name", list(PROLOGUES))
def test_it_stays_where_a_relu_or_pads_follow(name: str) -> None:
    layer = PROLOGUES[name]
    values = reference(layer, "fp32", 1).values
    lowered = lower(layer, values)
    call = lowered.call
    assert isinstance(call, Convolution)
    assert call.has_prologue
    types = [each.op_type for each in layer.operators]
    assert call.scaled == ("BatchNormalization" in types[: types.index("Conv")])
    assert call.relu_first == (types[types.index("Conv") - 1] == "Relu")
    vectors = {"scale", "shift"} if call.scaled else set()
    assert lowered.weights == {"filter", "bias"} | vectors
    inputs = {"input", "residual"} if call.residual else {"input"}
    assert reads(lowered, values).keys() == inputs


def test_a_scale_alone_goes_past_pads_and_a_shift_does_not() -> None:
    for op_type, stays in (("Mul", False), ("Div", False), ("Add", True), ("Sub", True)):
        call = call_of(prepared(op_type, "Conv", kernel=(32, 16, 3, 3), pad=1))
        assert call.scaled == stays, op_type


def test_chains_that_come_down_to_the_same_are_the_same_call() -> None:
    longer = prepared("BatchNormalization", "Mul", "Add", "Relu", "Conv")
    assert call_of(longer) == call_of(prepared("BatchNormalization", "Relu", "Conv"))
    assert call_of(prepared("Sub", "Conv")) == call_of(prepared("BatchNormalization", "Conv"))


@pytest.mark.parametrize("before", ["Mul", "Sub", "Div", "Add"])
def test_every_operator_before_a_convolution(before: str, tmp_path: Path) -> None:
    check(prepared(before, "Relu", "Conv", kernel=(8, 16, 3, 3), pad=1), tmp_path)
    check(prepared(before, "Mul", "Conv", kernel=(8, 16, 3, 3)), tmp_path)


def read_before(op_type: str, read: tuple[int, int], *after: tuple[int, int]) -> Layer:
    """A convolution of what an operator makes of two of these: an input, a weight by channel,
    another input, a weight within a channel. What comes after is added.
    """
    x = floats(1, 4, 5, 5)
    given = (x, weights(4, 1, 1), x, weights(5, 5), weights(4, 4, 1, 1))
    nodes = [
        operator(op_type, 14, read, (5,)),
        operator("Relu", 14, (5,), (6,)),
        operator("Conv", 11, (6, 4), (7,)),
    ]
    nodes += [operator("Add", 14, pair, (8 + at,)) for at, pair in enumerate(after)]
    tensors = (*given, *(x,) * (3 + len(after)))
    return Layer(tensors, tuple(nodes), (len(tensors) - 1,))


@pytest.mark.parametrize("op_type", ["Sub", "Mul", "Add"])
def test_a_weight_that_comes_first(op_type: str, tmp_path: Path) -> None:
    check(canonical(read_before(op_type, (1, 0))), tmp_path)


def test_a_residual_may_be_the_image_itself(tmp_path: Path) -> None:
    check(canonical(read_before("Mul", (0, 1), (7, 0))), tmp_path)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (prepared("Relu", "Mul", "Conv"), "between a Relu and a convolution"),
        (read_before("Div", (1, 0)), "a weight that is divided"),
        (read_before("Add", (0, 2)), "no library runs"),
        (read_before("Mul", (0, 0)), "no library runs"),
        (read_before("Mul", (0, 3)), "differs within a channel"),
        (read_before("Mul", (0, 1), (7, 6)), "no library runs"),
    ],
)
def test_what_cannot_be_lowered_has_a_reason(layer: Layer, reason: str) -> None:
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)
