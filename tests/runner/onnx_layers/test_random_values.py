"""Random inputs: never zero, and valid for the operators that read them."""

from math import prod

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnx_layers.precision import rounded
from benanza_runner.onnx_layers.random_values import (
    BLOCK,
    RULES,
    STANDARD,
    random_value,
)
from benanza_runner.onnxruntime.copies import replicated
from benanza_runner.onnxruntime.session import CPU, Session
from benanza_schemas.element_types import BITS, PRECISIONS
from benanza_schemas.layer import Attribute, Layer, Operator, Precision, Tensor
from tests.runner.layers import conv_group, floats, single, weights


def integers(*shape: int, dtype: str = "int64") -> Tensor:
    return Tensor(dtype, shape)


@pytest.mark.parametrize("dtype", sorted(set(BITS) - {"bool"}))
def test_nothing_is_zero(dtype: str) -> None:
    layer = single("Identity", 13, (Tensor(dtype, (50, 7)),), (Tensor(dtype, (50, 7)),))
    value = random_value(layer, 0)
    assert value.shape == (50, 7)
    assert value.astype(np.complex128).all()


def test_not_all_elements_are_the_same() -> None:
    for dtype in ("float32", "bfloat16", "int64", "uint8", "int4", "complex64"):
        layer = single("Identity", 13, (Tensor(dtype, (99,)),), (Tensor(dtype, (99,)),))
        assert len(np.unique(random_value(layer, 0).astype(np.complex128))) > 5


def test_floats_have_both_signs_and_bool_both_values() -> None:
    layer = single("Where", 9, (Tensor("bool", (999,)), floats(999), floats(999)), (floats(999),))
    assert set(np.unique(random_value(layer, 0))) == {False, True}
    value = random_value(layer, 1)
    assert value.min() < -0.5
    assert value.max() > 0.5


@given(st.lists(st.integers(0, 40), max_size=3))
def test_the_shape_is_the_tensors(shape: list[int]) -> None:
    layer = single("Identity", 13, (floats(*shape),), (floats(*shape),))
    assert random_value(layer, 0).shape == tuple(shape)


@pytest.mark.parametrize("named", [1, 2])
def test_no_two_tuples_to_scatter_to_are_the_same(named: int) -> None:
    x, updates = floats(6, 7, 3), floats(5, *(7, 3)[named - 1 :])
    layer = single("ScatterND", 16, (x, integers(5, named), updates), (x,))
    value = random_value(layer, 1)
    assert len(np.unique(value, axis=0)) == 5
    assert (value < (6, 7)[:named]).all()


def test_no_two_elements_to_scatter_are_put_in_one_place() -> None:
    x = floats(4, 9)
    layer = single("ScatterElements", 16, (x, integers(4, 6), floats(4, 6)), (x,), axis=1)
    for row in random_value(layer, 1):
        assert len(set(row.tolist())) == 6


def test_indices_are_in_range_wherever_they_are_moved_before() -> None:
    layer = gathered(Tensor("int64", (2, 4)))
    assert set(np.unique(random_value(layer, 1))) <= set(range(7))
    assert len(np.unique(random_value(layer, 1))) > 2


def test_indices_that_a_model_fixes_are_those_of_neighbours() -> None:
    value = random_value(gathered(Tensor("int64", (2, 4), constant=True)), 1)
    assert value.ravel().tolist() == [0, 1, 2, 3, 4, 5, 6, 0]


def test_indices_of_several_tables_are_in_range_of_the_smallest() -> None:
    tensors = (floats(30, 8), integers(5), floats(4, 8), floats(5, 8), floats(5, 8), floats(5, 8))
    operators = (
        Operator("Gather", "", 13, (), (0, 1), (3,)),
        Operator("Gather", "", 13, (), (2, 1), (4,)),
        Operator("Add", "", 14, (), (3, 4), (5,)),
    )
    value = random_value(Layer(tensors, operators, (5,)), 1)
    assert set(value) <= set(range(4))


def gathered(indices: Tensor) -> Layer:
    """Rows of seven that indices choose, which are the same for all features."""
    tensors = (
        floats(2, 7, 16),
        indices,
        Tensor("int64", (1,), constant=True, value=np.array([2], "<i8").tobytes()),
        Tensor("int64", (2, 4, 1)),
        Tensor("int64", (3,), constant=True, value=np.array([2, 4, 16], "<i8").tobytes()),
        Tensor("int64", (2, 4, 16)),
        floats(2, 4, 16),
    )
    axis = Attribute("axis", 1)
    operators = (
        Operator("Unsqueeze", "", 13, (), (1, 2), (3,)),
        Operator("Expand", "", 13, (), (3, 4), (5,)),
        Operator("GatherElements", "", 13, (axis,), (0, 5), (6,)),
    )
    return Layer(tensors, operators, (6,))


def test_large_tensors_repeat_a_block() -> None:
    layer = single("Identity", 13, (floats(3 * BLOCK),), (floats(3 * BLOCK),))
    value = random_value(layer, 0)
    np.testing.assert_array_equal(value[:BLOCK], value[BLOCK : 2 * BLOCK])


@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_floats_are_rounded_to_the_precision_and_nothing_else_is(precision: Precision) -> None:
    tensors = floats(3 * BLOCK + 7), floats(1)
    layer = single("Pow", 15, tensors, (floats(3 * BLOCK + 7),))
    for index in (0, 1):
        value = random_value(layer, index, precision)
        np.testing.assert_array_equal(value, rounded(random_value(layer, index), precision))
        assert value.dtype == np.float32
    large = single("Identity", 13, (integers(BLOCK),), (integers(BLOCK),))
    np.testing.assert_array_equal(random_value(large, 0, precision), random_value(large, 0))


@given(st.sampled_from(["GRU", "LSTM", "RNN"]), st.integers(1, 600), st.integers(1, 600))
def test_weights_of_recurrent_layers_take_no_part_of_a_state_for_more(
    op_type: str, features: int, hidden: int
) -> None:
    """Rows of a norm of one at most: then states settle, and rounding doesn't grow."""
    rows = {"GRU": 3, "LSTM": 4, "RNN": 1}[op_type] * hidden
    tensors = floats(3, 2, features), weights(1, rows, features), weights(1, rows, hidden)
    layer = single(op_type, 14, tensors, (floats(3, 1, 2, hidden),), hidden_size=hidden)
    for index in (1, 2):
        norms = np.linalg.norm(random_value(layer, index), axis=-1)
        assert 0.2 < norms.min() <= norms.max() < 1.001


def test_pairs_of_products_of_bytes_fit_into_sixteen_bits() -> None:
    """ONNX Runtime lets unsigned times signed saturate there, on CPUs without VNNI."""
    bytes_, kernel = Tensor("uint8", (99, 99)), Tensor("int8", (99, 99), constant=True)
    layer = single("MatMulInteger", 10, (bytes_, kernel), (Tensor("int32", (99, 99)),))
    first, second = (random_value(layer, index).astype(np.int64) for index in (0, 1))
    assert first.max() > 127
    assert second.min() < 0
    assert 2 * np.abs(first).max() * np.abs(second).max() < 1 << 15


def test_variances_are_positive_wherever_the_operator_stands() -> None:
    layer = conv_group(8, 4, "BatchNormalization")
    variance = layer.operators[1].inputs[4]
    assert (random_value(layer, variance) > 0).all()


def test_an_operator_of_another_domain_is_no_namesake() -> None:
    inputs = (floats(4), integers(4))
    ours = single("Gather", 13, inputs, (floats(4),), axis=0)
    theirs = single("Gather", 13, inputs, (floats(4),), domain="theirs", axis=0)
    assert random_value(ours, 1).max() < 4
    assert random_value(theirs, 1).max() > 4


SCALE, ZERO_POINT = weights(), Tensor("uint8", (), constant=True)
BYTES = Tensor("uint8", (2, 3, 5, 5))
KERNEL = Tensor("uint8", (4, 3, 3, 3), constant=True)

LAYERS = [
    single("Gather", 13, (floats(4, 5), integers(7)), (floats(7, 5),), axis=0),
    single("Gather", 13, (floats(4, 1), integers(7)), (floats(4, 7),), axis=-1),
    single("GatherElements", 13, (floats(4, 5), integers(4, 2)), (floats(4, 2),), axis=1),
    single("GatherND", 13, (floats(4, 5, 6), integers(7, 2)), (floats(7, 6),), batch_dims=0),
    single("GatherND", 13, (floats(4, 5, 3), integers(4, 2)), (floats(4),), batch_dims=1),
    single(
        "ScatterElements", 16, (floats(9, 5), integers(2, 5), floats(2, 5)), (floats(9, 5),), axis=0
    ),
    single("ScatterND", 16, (floats(4, 5), integers(3, 1), floats(3, 5)), (floats(4, 5),)),
    single("OneHot", 11, (integers(6), integers(), floats(2)), (floats(6, 9),), axis=-1),
    single(
        "TopK",
        11,
        (floats(3, 20), integers(1)),
        (floats(3, 5), integers(3, 5)),
        axis=-1,
        largest=1,
        sorted=1,
    ),
    single(
        "ReverseSequence",
        10,
        (floats(6, 4), integers(4)),
        (floats(6, 4),),
        batch_axis=1,
        time_axis=0,
    ),
    single("CumSum", 14, (floats(3, 4), integers()), (floats(3, 4),)),
    single("Trilu", 14, (floats(3, 4), integers()), (floats(3, 4),), upper=1),
    single("Pow", 15, (floats(3), floats(3)), (floats(3),)),
    single("Pow", 15, (floats(3), floats()), (floats(3),)),
    single("Log", 13, (floats(3),), (floats(3),)),
    single("Sqrt", 13, (floats(3),), (floats(3),)),
    single("Acosh", 9, (floats(3),), (floats(3),)),
    single("Div", 14, (integers(9), integers(9)), (integers(9),)),
    single("Mod", 13, (integers(9), integers(9)), (integers(9),), fmod=0),
    single("Reshape", 14, (floats(4, 6), integers(3)), (floats(2, 2, 6),), allowzero=0),
    single("Expand", 13, (floats(4, 1), integers(2)), (floats(4, 9),)),
    single("ConstantOfShape", 9, (integers(2),), (floats(3, 4),)),
    single(
        "GRU",
        14,
        (
            floats(5, 2, 3),
            weights(1, 12, 3),
            weights(1, 12, 4),
            weights(1, 24),
            integers(2, dtype="int32"),
        ),
        (floats(5, 1, 2, 4),),
        hidden_size=4,
    ),
    single("QuantizeLinear", 13, (floats(2, 3), SCALE, ZERO_POINT), (Tensor("uint8", (2, 3)),)),
    single("DequantizeLinear", 13, (Tensor("uint8", (2, 3)), SCALE, ZERO_POINT), (floats(2, 3),)),
    single(
        "QLinearConv",
        10,
        (BYTES, SCALE, ZERO_POINT, KERNEL, SCALE, ZERO_POINT, SCALE, ZERO_POINT),
        (Tensor("uint8", (2, 4, 3, 3)),),
    ),
    single(
        "ConvInteger", 10, (BYTES, KERNEL, ZERO_POINT, ZERO_POINT), (Tensor("int32", (2, 4, 3, 3)),)
    ),
    single(
        "MaxUnpool",
        11,
        (floats(1, 1, 2, 2), integers(1, 1, 2, 2)),
        (floats(1, 1, 4, 4),),
        kernel_shape=(2, 2),
        strides=(2, 2),
    ),
    single(
        "RoiAlign",
        16,
        (floats(2, 3, 9, 9), floats(5, 4), integers(5)),
        (floats(5, 3, 2, 2),),
        output_height=2,
        output_width=2,
    ),
    single(
        "ArrayFeatureExtractor",
        1,
        (floats(3, 4), integers(2)),
        (floats(3, 2),),
        domain="ai.onnx.ml",
    ),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.title())
def test_onnx_runtime_takes_them(layer: Layer) -> None:
    model = layer_model(layer)
    session = Session(replicated(model.proto, 2), model.constants, model.inputs, CPU, 1)
    assert session.call().us > 0


def test_rules_name_operators_and_inputs_that_there_are() -> None:
    for op_type, rules in RULES.items():
        schemas = [
            schema
            for schema in onnx.defs.get_all_schemas_with_history()
            if schema.name == op_type and schema.domain in STANDARD
        ]
        assert schemas, f"there is no {op_type}"
        assert max(rules) < max(len(schema.inputs) for schema in schemas), op_type


def test_integers_stay_within_small_types() -> None:
    for dtype in ("int4", "uint4", "int2", "uint2", "int8"):
        layer = single("Identity", 13, (Tensor(dtype, (99,)),), (Tensor(dtype, (99,)),))
        value = random_value(layer, 0)
        most: int = ml_dtypes.iinfo(value.dtype).max  # type: ignore[no-untyped-call]  # as it stands
        assert 1 <= value.astype(np.int64).min() <= value.astype(np.int64).max() <= most
        assert prod(value.shape) == 99
