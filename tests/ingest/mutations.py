"""Damaged models: bytes turned over, and fields changed to what they can't be."""

import random
from typing import cast

import onnx
from onnx import AttributeProto, ModelProto, NodeProto

_OPERATORS = sorted({schema.name for schema in onnx.defs.get_all_schemas()})
_SIZES = (0, 1, 2, 3, 7, 64, -1, -5, 2**20, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
_ATTRIBUTES = (
    "axis axes pads strides kernel_shape group perm value to equation auto_pad num_outputs "
    "batch_dims keepdims scales"
).split()
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.example")


def with_damaged_bytes(content: bytes, seed: int) -> bytes:
    """The same file with a few bytes changed, added or taken out."""
    chance = random.Random(seed)
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 3, 10))):
        at = chance.randrange(len(damaged))
        match chance.randrange(5):
            case 0 | 1:
                damaged[at] ^= 1 << chance.randrange(8)
            case 2:
                damaged[at] = chance.randrange(256)
            case 3:
                del damaged[at : at + chance.randrange(1, 9)]
            case 4:
                damaged[at:at] = chance.randbytes(chance.randrange(1, 5))
    return bytes(damaged)


def with_damaged_fields(content: bytes, seed: int) -> bytes:
    """The same model with a few fields changed: still ONNX, and mostly nonsense."""
    chance = random.Random(seed)
    model = ModelProto.FromString(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        change = chance.choice((_change_node, _change_attribute, _change_tensors, _change_model))
        change(model, chance)
    encoded: bytes = model.SerializeToString()
    return encoded


def _any_node(model: ModelProto, chance: random.Random) -> NodeProto:
    node: NodeProto = chance.choice(model.graph.node)
    return node


def _change_node(model: ModelProto, chance: random.Random) -> None:
    node = _any_node(model, chance)
    written = [name for other in model.graph.node for name in other.output]
    match chance.randrange(6):
        case 0:
            node.op_type = chance.choice(_OPERATORS)
        case 1:
            node.domain = chance.choice(_DOMAINS)
        case 2:
            del node.input[chance.randrange(1 + len(node.input)) :]
        case 3 if node.input:
            node.input[chance.randrange(len(node.input))] = chance.choice([*written, ""])
        case 4:
            node.input.append(chance.choice([*written, ""]))
        case 5 if len(node.output) > 1:
            del node.output[chance.randrange(len(node.output))]


def _any_type(chance: random.Random) -> AttributeProto.AttributeType:
    numbers = AttributeProto.AttributeType.values()
    return cast("AttributeProto.AttributeType", chance.choice(numbers))


def _change_attribute(model: ModelProto, chance: random.Random) -> None:
    node = _any_node(model, chance)
    sizes = [chance.choice(_SIZES) for _ in range(chance.randrange(5))]
    if node.attribute and chance.random() < 0.5:
        attribute = chance.choice(node.attribute)
    else:
        attribute = node.attribute.add(name=chance.choice(_ATTRIBUTES), type=_any_type(chance))
    match chance.randrange(4):
        case 0:
            attribute.i = chance.choice(_SIZES)
        case 1:
            attribute.ints[:] = sizes
        case 2:
            attribute.type = _any_type(chance)
        case 3:
            attribute.s = b"\xff\xfe"


def _change_tensors(model: ModelProto, chance: random.Random) -> None:
    graph = model.graph
    if graph.initializer and chance.random() < 0.5:
        tensor = chance.choice(graph.initializer)
        match chance.randrange(3):
            case 0:
                tensor.dims.append(chance.choice(_SIZES))
            case 1 if tensor.dims:
                tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(_SIZES)
            case 2:
                tensor.data_type = chance.randrange(40)
        return
    kind = chance.choice([graph.value_info or graph.output, graph.input or graph.output])
    tensor_type = chance.choice(kind).type.tensor_type
    match chance.randrange(3):
        case 0:
            tensor_type.elem_type = chance.randrange(40)
        case 1:
            tensor_type.shape.dim.add().dim_value = chance.choice(_SIZES)
        case 2 if tensor_type.shape.dim:
            chance.choice(tensor_type.shape.dim).dim_value = chance.choice(_SIZES)


def _change_model(model: ModelProto, chance: random.Random) -> None:
    match chance.randrange(3):
        case 0:
            model.opset_import[0].version = chance.choice((1, 6, 7, 10, 13, 18, 21, *_SIZES))
        case 1:
            model.opset_import[0].domain = chance.choice(_DOMAINS)
        case 2:
            chance.choice(model.graph.output).name = _any_node(model, chance).output[0]
