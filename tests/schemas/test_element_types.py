"""The table of element types agrees with the installed onnx."""

from typing import get_args

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from benanza_schemas.element_types import BITS, FROM_ONNX, PRECISIONS, TO_ONNX, size_bytes
from benanza_schemas.layer import Precision


def test_every_type_of_onnx_has_a_name() -> None:
    numbers = set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}
    assert numbers <= set(FROM_ONNX)


@pytest.mark.parametrize("number", sorted(FROM_ONNX))
def test_the_name_is_onnxs_in_lower_case_with_its_width(number: int) -> None:
    wide = {"float": "float32", "double": "float64"}
    name = TensorProto.DataType.Name(number).lower()
    assert FROM_ONNX[number] == wide.get(name, name)
    assert TO_ONNX[FROM_ONNX[number]] == number


@pytest.mark.parametrize("name", sorted(BITS))
def test_elements_take_as_many_bytes_as_onnx_gives_them(name: str) -> None:
    for elements in (0, 1, 2, 3, 5, 8, 1000):
        array = np.zeros(elements, helper.tensor_dtype_to_np_dtype(TO_ONNX[name]))
        assert size_bytes(name, elements) == len(numpy_helper.from_array(array).raw_data)


def test_strings_have_no_fixed_size() -> None:
    assert set(FROM_ONNX.values()) - set(BITS) == {"string"}
    with pytest.raises(KeyError):
        size_bytes("string", 1)


def test_each_precision_has_a_row() -> None:
    assert tuple(PRECISIONS) == get_args(Precision)


def test_numbers_are_as_large_as_their_type_says() -> None:
    assert [each.bytes for each in PRECISIONS.values()] == [4, 4, 2, 2]
