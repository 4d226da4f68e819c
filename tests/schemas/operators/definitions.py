"""The definitions that the installed ONNX Runtime has of its own operators.

`python -m tests.schemas.operators.definitions` stores them for services that
run without ONNX Runtime.
"""

import json
from collections.abc import Iterator
from typing import Any

import onnx
from onnx import AttributeProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from benanza_schemas.operators.onnxruntime import FILE, is_own_operator


def own_operators() -> list[dict[str, Any]]:
    """The newest version of each, by domain and name."""
    found: dict[tuple[str, str], Any] = {}
    for schema in get_all_operator_schema():
        key = schema.domain, schema.name
        own = is_own_operator(schema.name, schema.domain)
        if own and (key not in found or found[key].since_version < schema.since_version):
            found[key] = schema
    return [_described(found[key]) for key in sorted(found)]


def _described(schema: Any) -> dict[str, Any]:
    return {
        "domain": schema.domain,
        "name": schema.name,
        "since": schema.since_version,
        "inputs": list(map(_parameter, schema.inputs)),
        "outputs": list(map(_parameter, schema.outputs)),
        "types": {
            each.type_param_str: sorted(each.allowed_type_strs) for each in schema.type_constraints
        },
        "attributes": dict(sorted(_attributes(schema))),
    }


def _parameter(each: Any) -> list[Any]:
    option = str(each.option).rpartition(".")[2]
    return [each.name, each.typeStr, option, each.isHomogeneous]


def _attributes(schema: Any) -> Iterator[tuple[str, list[Any]]]:
    for name, each in schema.attributes.items():
        kind = str(each.type).rpartition(".")[2]
        default = AttributeProto.FromString(each._default_value)
        value = None
        if default.type != onnx.AttributeProto.UNDEFINED:
            value = helper.get_attribute_value(default)
            value = value.decode() if isinstance(value, bytes) else value
        yield name, [kind, each.required, value]


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(each) for each in own_operators())
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
