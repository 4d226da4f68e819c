"""No operator's results have more axes than is said here, by what onnx itself infers."""

from collections.abc import Iterator
from itertools import islice, product

import onnx
import pytest
from onnx import NodeProto, TensorProto, TypeProto, helper, shape_inference
from onnx.defs import OpSchema

from benanza_ingest.resolving.inferring.axes import FEW_AXES, GROWING, AxesBound, axes_of

SHAPES: tuple[list[int], ...] = ([], [40], [2] * 3, [2] * 5, [2] * 9)

SCHEMAS = [s for s in onnx.defs.get_all_schemas_with_history() if not s.domain]


def inferred(schema: OpSchema) -> Iterator[tuple[NodeProto, list[AxesBound], int]]:
    """Nodes of an operator with inputs of several shapes, and the axes that onnx infers."""
    most = min(schema.max_input, schema.min_input + 2, 5)
    for count in range(schema.min_input, most + 1):
        for shapes in islice(product(SHAPES, repeat=count), 300):
            names = [f"i{at}" for at in range(count)]
            outputs = [f"o{at}" for at in range(max(1, schema.min_output))]
            node = helper.make_node(schema.name, names, outputs)
            for attribute in schema.attributes.values():
                if attribute.required and attribute.type == OpSchema.AttrType.INT:
                    node.attribute.append(helper.make_attribute(attribute.name, 1))
                elif attribute.name == "equation":
                    node.attribute.append(helper.make_attribute(attribute.name, "ij,jk->ik"))
                elif attribute.required and attribute.type == OpSchema.AttrType.INTS:
                    node.attribute.append(helper.make_attribute(attribute.name, [1, 1]))
            types = {}
            for at, (name, shape) in enumerate(zip(names, shapes, strict=True)):
                allowed = schema.inputs[min(at, len(schema.inputs) - 1)].types
                kinds = ("int64", "float", "bool", "string", "int32")
                dtype = next((k for k in kinds if f"tensor({k})" in allowed), "float")
                proto = helper.make_tensor_type_proto(
                    TensorProto.DataType.Value(dtype.upper()), shape
                )
                types[name] = proto
            found = infer(schema, node, types)
            bounds = [
                AxesBound(len(shape), 40 if shape == [40] else 1 << len(shape)) for shape in shapes
            ]
            for proto in found.values():
                yield node, bounds, len(proto.tensor_type.shape.dim)


def infer(schema: OpSchema, node: NodeProto, types: dict[str, TypeProto]) -> dict[str, TypeProto]:
    opsets = [helper.make_opsetid("", schema.since_version)]
    try:
        found: dict[str, TypeProto] = shape_inference.infer_node_outputs(
            schema, node, types, {}, None, opsets, 8
        )
    except Exception:  # noqa: BLE001  shapes that don't fit each other
        return {}
    return found


@pytest.mark.slow
def test_no_operator_has_more_axes_than_it_is_said_to_have() -> None:
    grown = set()
    for schema in SCHEMAS:
        for node, bounds, axes in inferred(schema):
            before = max((bound.axes for bound in bounds), default=0)
            if schema.name in GROWING:
                assert axes <= max(axes_of(node, bounds), FEW_AXES), node
                if axes > max(before, FEW_AXES):
                    grown.add(schema.name)
            else:
                assert axes <= max(before, FEW_AXES), f"{node} adds axes, and isn't among GROWING"
    assert grown >= {"Expand", "Reshape", "ConstantOfShape", "Gather", "Unsqueeze"}
