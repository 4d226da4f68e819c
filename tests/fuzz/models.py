"""Models that were changed in their structure, and are still ONNX."""

import random
from contextlib import suppress

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

from tests.ingest.mutations import with_damaged_fields

MOST_BYTES = 1_000_000
"""Of a model in work: copies of what holds many nodes would take all memory."""

_ODD = (0, 1, -1, 2, 3, 64, 65, 4096, 65_536, 2**31 - 1, 2**31, 2**40, 2**63 - 1, -(2**63))


def changed(model: ModelProto, chance: random.Random) -> bytes:
    """The model with a few changes, encoded."""
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        change = chance.choice((_repeat, _shape, _nest, _call, _rename, _constant, _feed_back))
        if model.graph.node and model.ByteSize() < MOST_BYTES:
            change(model, chance)
    encoded: bytes = model.SerializeToString()
    if chance.random() < 0.7 and _can_be_damaged(model):
        with suppress(DecodeError):  # It may be deeper than protobuf reads.
            return with_damaged_fields(encoded, chance.getrandbits(32))
    return encoded


def _can_be_damaged(model: ModelProto) -> bool:
    return bool(model.graph.node and model.graph.output and model.opset_import) and all(
        node.output for node in model.graph.node
    )


def _node(graph: GraphProto, chance: random.Random) -> NodeProto:
    found: NodeProto = chance.choice(graph.node)
    return found


def _repeat(model: ModelProto, chance: random.Random) -> None:
    """A node many times, each of which reads the one before, in one place or in all."""
    graph = model.graph
    node = _node(graph, chance)
    if not node.input or not node.output:
        return
    before, all_inputs = node.output[0], chance.random() < 0.5
    copies = chance.choice((2, 10, 60, 300))
    for i in range(min(copies, MOST_BYTES // node.ByteSize())):
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.input[0] = before
        if all_inputs:
            copy.input[:] = [before] * len(node.input)
        copy.output[:] = [f"{name}~{i}" for name in node.output]
        before = copy.output[0]
    graph.output[0].name = before


def _shape(model: ModelProto, chance: random.Random) -> None:
    """A shape from outside, from a constant, or from the shape of a value."""
    graph = model.graph
    values = [name for node in graph.node for name in node.output]
    sizes = [chance.choice(_ODD) for _ in range(chance.choice((0, 1, 2, 5, 70)))]
    match chance.randrange(3):
        case 0:
            length = chance.choice(_ODD)
            graph.input.append(helper.make_tensor_value_info("~s", TensorProto.INT64, [length]))
        case 1:
            tensor = helper.make_tensor("~s", TensorProto.INT64, [len(sizes)], sizes)
            graph.initializer.append(tensor)
        case 2:
            graph.node.append(helper.make_node("Shape", [chance.choice(values)], ["~s"]))
    op_type = chance.choice(("Reshape", "Expand", "ConstantOfShape", "Tile", "Range", "Slice"))
    inputs = {"ConstantOfShape": ["~s"], "Range": ["~s"] * 3}.get(
        op_type, [chance.choice(values), "~s"] + ["~s"] * (op_type == "Slice")
    )
    graph.node.append(helper.make_node(op_type, inputs, ["~shaped"]))
    graph.output[0].name = "~shaped"


def _nest(model: ModelProto, chance: random.Random) -> None:
    """The last nodes within branches or loops, within each other."""
    graph = model.graph
    graph.input.append(helper.make_tensor_value_info("~c", TensorProto.BOOL, []))
    body = GraphProto()
    body.CopyFrom(graph)
    del body.input[:], body.initializer[:], body.node[: -min(3, len(graph.node))]
    for depth in range(chance.choice((1, 2, 5, 20))):
        try:
            if chance.random() < 0.5:
                node = helper.make_node(
                    "If", ["~c"], [f"~n{depth}"], then_branch=body, else_branch=body
                )
            else:
                node = helper.make_node("Loop", ["", "~c", "~c"], [f"~n{depth}"], body=body)
        except DecodeError:  # Deeper than protobuf reads.
            return
        if node.ByteSize() > 200_000:
            return
        output = helper.make_empty_tensor_value_info(f"~n{depth}")
        body = helper.make_graph([node], "b", [], [output])
    graph.node.extend(body.node)
    graph.output[0].name = body.output[0].name


def _call(model: ModelProto, chance: random.Random) -> None:
    """Functions that call each other, and the graph that calls the last."""
    opsets = list(model.opset_import)
    inner = NodeProto()
    inner.CopyFrom(_node(model.graph, chance))
    if not inner.input or not inner.output:
        return
    inputs, outputs = list(dict.fromkeys(filter(None, inner.input))), list(inner.output)
    body = [inner]
    for depth in range(chance.choice((1, 3, 30))):
        name = f"F{depth}"
        model.functions.append(helper.make_function("~d", name, inputs, outputs, body, opsets))
        again = chance.choice((1, 2))
        body = [
            helper.make_node(name, inputs, [f"{o}{k}" if k else o for o in outputs], domain="~d")
            for k in range(again)
        ]
    model.opset_import.append(helper.make_opsetid("~d", 1))
    outer = [f"{name}~f" for name in outputs]
    model.graph.node.append(helper.make_node(name, inputs, outer, domain="~d"))
    model.graph.output[0].name = outer[0]


def _rename(model: ModelProto, chance: random.Random) -> None:
    """A value under a name that is long, odd, or another value's."""
    values = [name for node in model.graph.node for name in node.output]
    new = chance.choice(("x" * 4097, "", "a\nb", "\u202e", "~s", chance.choice(values)))
    node = _node(model.graph, chance)
    if node.output:
        node.output[chance.randrange(len(node.output))] = new


def _constant(model: ModelProto, chance: random.Random) -> None:
    """Constants of any size and type in the place of an input."""
    node = _node(model.graph, chance)
    if not node.input:
        return
    dims = [chance.choice((0, 1, 2, 3, 100)) for _ in range(chance.choice((0, 1, 2, 3)))]
    tensor = TensorProto(name="~k", dims=dims, data_type=chance.randrange(0, 26))
    tensor.raw_data = bytes(chance.choice((0, 1, 8, 8, 100, 8000)))
    model.graph.node.insert(0, helper.make_node("Constant", [], ["~k"], value=tensor))
    node.input[chance.randrange(len(node.input))] = "~k"


def _feed_back(model: ModelProto, chance: random.Random) -> None:
    """A sequence that is made, changed and joined of a value."""
    values = [name for node in model.graph.node for name in node.output]
    graph, before = model.graph, "~q0"
    graph.node.append(helper.make_node("SplitToSequence", [chance.choice(values)], [before]))
    for i in range(1, chance.choice((2, 10, 100))):
        graph.node.append(helper.make_node("SequenceInsert", [before, values[0]], [f"~q{i}"]))
        before = f"~q{i}"
    new_axis = chance.randrange(2)
    joined = helper.make_node("ConcatFromSequence", [before], ["~j"], axis=0, new_axis=new_axis)
    graph.node.append(joined)
    graph.output[0].name = "~j"
