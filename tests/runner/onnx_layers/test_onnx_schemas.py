"""Versions and types of operators."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extract import extract
from benanza_runner.onnx_layers.onnx_schemas import (
    OLDEST_OPSET,
    UnknownVersionError,
    formal_types,
    numpy_dtype,
    opsets,
)
from benanza_schemas.element_types import BITS
from benanza_schemas.events.derivation import Derivation, Quantised
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer
from tests.ingest.onnx_text import content
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
        # What is newer only takes more types.
        (pair(("Relu", 6), ("HardSwish", 14)), 14),
        (pair(("Relu", 6), ("DequantizeLinear", 13)), 13),
        # ONNX Runtime has it at any opset.
        (pair(("LayerNormalization", 17), ("Softmax", 11)), 11),
    ],
)
def test_the_smallest_opset_is_taken(layer: Layer, opset: int) -> None:
    assert opsets(layer) == {"": opset}


@pytest.mark.parametrize(
    "layer",
    [
        single("Relu", 1, (floats(4),), (floats(4),)),
        pair(("Relu", 1), ("HardSwish", 14)),
        # What is newer has another axis where none is given.
        pair(("Softmax", 11), ("Relu", 14)),
        # What is newer has its slope along another axis.
        single("PRelu", 6, (floats(2, 4), floats(4)), (floats(2, 4),)),
    ],
)
def test_versions_that_no_opset_has_together(layer: Layer) -> None:
    with pytest.raises(
        UnknownVersionError, match=r"(P?Relu|Softmax) in version \d+ .* newer opset"
    ):
        opsets(layer)


@pytest.mark.parametrize("opset", [9, 11, 12])
@pytest.mark.parametrize("quantised", ["int8", "fp8"])
def test_what_an_older_model_is_quantised_to_has_an_opset(opset: int, quantised: Quantised) -> None:
    """What is new needs a later one; the products are the same there."""
    text = (
        'g (float[1,3,8,8] x) => (y) <float[4,3,3,3] w = ["location": "w"],'
        ' float[144,5] v = ["location": "v"], float[5] b = ["location": "b"]>'
        " { a = Conv(x, w) r = Relu(a) f = Flatten(r) y = Gemm(f, v, b) }"
    )
    found = extract(content(text, opset), derivation=Derivation(quantised))
    groups = [group.layer for group in found.groups if group.rule == "quantised"]
    assert groups
    assert all(opsets(layer)[""] >= 13 for layer in groups if layer is not None)


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
        assert len(found.inputs) == len(schema.inputs)
        assert found.attributes.keys() == schema.attributes.keys()


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
