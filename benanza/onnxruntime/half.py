"""A whole model in float16: what a framework's `.half()` does to one."""

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
_TYPES = frozenset(("to", "dtype"))
"""Attributes that name the type of what is written."""


def half(model: ModelProto) -> ModelProto:
    """A copy with float16 wherever float32 stood: inputs, outputs, weights and constants.

    What an operator takes in float32 only, as Resize does its scales, stays so. Weights that are
    given apart are to be converted as those in the model are; control flow is left as it is.
    Operators that take no float16 are not looked for: who runs the model says so.
    """
    made = ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        _retype(value)
    fixed = _in_float_only(model)
    for tensor in graph.initializer:
        if tensor.name not in fixed:
            _convert(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            _convert_attribute(node, attribute)
    return made


def _in_float_only(model: ModelProto) -> set[str]:
    """What operators read as inputs that may have no other type."""
    versions = {opset.domain: opset.version for opset in model.opset_import}
    values = set()
    for node in model.graph.node:
        try:
            schema = onnx.defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
        except onnx.defs.SchemaError:
            continue
        for value, expected in zip(node.input, schema.inputs, strict=False):
            if set(expected.types) == {"tensor(float)"}:
                values.add(value)
    return values


def _retype(value: ValueInfoProto) -> None:
    if value.type.tensor_type.elem_type == FLOAT:
        value.type.tensor_type.elem_type = HALF


def _convert(tensor: TensorProto) -> None:
    if tensor.data_type != FLOAT:
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        tensor.data_type = HALF
    else:
        array = numpy_helper.to_array(tensor).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _convert_attribute(node: NodeProto, attribute: AttributeProto) -> None:
    if attribute.type == AttributeProto.TENSOR:
        _convert(attribute.t)
    elif attribute.name in _TYPES and attribute.i == FLOAT:
        attribute.i = HALF
    elif node.op_type == "Constant" and attribute.name in ("value_float", "value_floats"):
        numbers = attribute.f if attribute.name == "value_float" else list(attribute.floats)
        attribute.Clear()
        attribute.name, attribute.type = "value", AttributeProto.TENSOR
        attribute.t.CopyFrom(numpy_helper.from_array(np.array(numbers, np.float16)))
