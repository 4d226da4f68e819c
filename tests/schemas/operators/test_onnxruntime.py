"""What is stored of ONNX Runtime's own operators."""

import json

import onnx
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from benanza_schemas.operators.onnxruntime import EARLIER, FILE, own_schemas, schema
from tests.schemas.operators.definitions import own_operators


def test_it_is_what_the_installed_one_says() -> None:
    assert json.loads(FILE.read_text("utf-8")) == own_operators()


def test_onnx_has_none_of_them() -> None:
    """Else its definition would count."""
    assert not {(s.domain, s.name) for s in onnx.defs.get_all_schemas()} & own_schemas().keys()


@pytest.mark.parametrize(
    ("op_type", "domain", "opset"),
    [("Foo", "com.microsoft", 1), ("MatMulNBits", "", 17), ("MatMulNBits", "com.microsoft", 0)],
)
def test_what_there_is_not_has_none(op_type: str, domain: str, opset: int) -> None:
    assert schema(op_type, domain, opset) is None


def test_inputs_and_attributes_are_as_they_are_written() -> None:
    found = schema("MatMulNBits", "com.microsoft", 1)
    assert found is not None
    assert (found.min_input, found.max_input) == (3, 6)
    assert found.attributes["bits"].default_value.i == 4
    assert found.attributes["K"].required


def test_of_onnxs_operators_it_has_those_earlier_that_are_said() -> None:
    first: dict[str, int] = {}
    for each in onnx.defs.get_all_schemas_with_history():
        if not each.domain:
            first[each.name] = min(each.since_version, first.get(each.name, each.since_version))
    own = {
        each.name
        for each in get_all_operator_schema()
        if not each.domain and each.since_version < first.get(each.name, 0)
    }
    assert {name: first[name] for name in own} == EARLIER
