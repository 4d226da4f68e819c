"""Versions and types of operators."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.onnx_layers.onnx_schemas import (
    OLDEST_OPSET,
    UnknownVersionError,
    formal_types,
    numpy_dtype,
    opsets,
)
from benanza_schemas.element_types import BITS
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer
from tests.runner.layers import conv, floats, operator, relu, single


def pair(first: tuple[str, int], second: tuple[str, int]) -> Layer:
    """Two element-wise operators, one after the other."""
    operators = (operator(*first, (0,), (1,)), operator(*second, (1,), (2,)))
    return canonical(Layer(tensors=(floats(4),) * 3, operators=operators, outputs=(2,)))


@pytest.mark.parametrize(
    ("layer", "opset"),
    [
        (relu(4), OLDEST_OPSET),
        (conv(2, 4), OLDEST_OPSET),
        (single("Relu", 14, (floats(4),), (floats(4),)), 14),
        (pair(("Relu", 13), ("Sigmoid", 13)), 13),
        (pair(("HardSwish", 14), ("Relu", 14)), 14),
        # ONNX Runtime has it at any opset.
        (pair(("LayerNormalization", 17), ("Relu", 6)), OLDEST_OPSET),
    ],
)
def test_the_smallest_opset_is_taken(layer: Layer, opset: int) -> None:
    assert opsets(layer) == {"": opset}


@pytest.mark.parametrize(
    "layer",
    [
        single("Relu", 1, (floats(4),), (floats(4),)),
        pair(("Relu", 6), ("HardSwish", 14)),
    ],
)
def test_versions_that_no_opset_has_together(layer: Layer) -> None:
    with pytest.raises(UnknownVersionError, match=r"Relu in version \d .* newer opset"):
        opsets(layer)


def test_other_domains_have_opsets_of_their_own() -> None:
    layer = single("FastGelu", 1, (floats(4),), (floats(4),), domain="com.microsoft")
    assert opsets(layer) == {"": OLDEST_OPSET, "com.microsoft": 1}


@given(st.sampled_from([s for s in onnx.defs.get_all_schemas_with_history() if s.domain == ""]))
def test_every_operator_is_found_in_its_version_or_refused(schema: onnx.defs.OpSchema) -> None:
    layer = single(schema.name, schema.since_version, (floats(1),), (floats(1),))
    try:
        opset = opsets(layer)[""]
    except UnknownVersionError:
        newer = onnx.defs.get_schema(schema.name, OLDEST_OPSET, "")
        assert newer.since_version > schema.since_version
    else:
        found = onnx.defs.get_schema(schema.name, opset, "")
        assert found.since_version == schema.since_version


def test_the_types_that_a_place_takes() -> None:
    resize = operator("Resize", 13, (0, 1, 2), (3,))
    assert formal_types(resize, 2, output=False) == frozenset({"float32"})
    assert {"float32", "bfloat16", "int8"} <= (formal_types(resize, 0, output=True) or set())
    concat = operator("Concat", 13, (0, 1, 2), (3,))
    assert formal_types(concat, 2, output=False) == formal_types(concat, 0, output=False)
    custom = operator("Mine", 1, (0,), (1,), domain="mine")
    assert formal_types(custom, 0, output=False) is None


@pytest.mark.parametrize("dtype", sorted(BITS))
def test_every_element_type_has_a_numpy_type(dtype: str) -> None:
    found = numpy_dtype(dtype)
    assert found.itemsize == max(1, BITS[dtype] // 8)
    assert np.zeros(2, found).shape == (2,)
