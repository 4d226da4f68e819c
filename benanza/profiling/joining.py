"""Which layers each node of a graph computes that a framework made of a model's."""

from collections.abc import Mapping, Sequence

from onnx import GraphProto, NodeProto

from benanza.profiling.whole_model import positions_in
from benanza_analyzer.answers.kinds import CONVERSIONS

BLOCKED = "_nchwc"
"""Ends the names of nodes whose feature maps are in blocks: ONNX Runtime names them after the value
that they would write without.
"""

WRITTEN_OUT = "_inlfunc_"
"""Begins the names of values in functions that ONNX Runtime wrote out, as it has no kernel."""

STARTING = frozenset(
    "AveragePool Conv ConvTranspose Gemm GlobalAveragePool GlobalMaxPool MatMul MaxPool".split()
)
"""What a framework joins with operators after it, and not with what computes its input."""


def layers_of_nodes(layers: GraphProto, optimised: GraphProto) -> list[tuple[int, ...]]:
    """For each node of the optimised graph the positions of the layers that it computes, ascending.

    `layers` are those of a `WholeModel`. A node that is named after a layer, or writes what a layer
    writes, computes that layer. A layer that no node shows to be its own was joined with its
    neighbours. If it alone reads a value that the optimised graph doesn't have, then the node that
    computes what wrote that value goes on to compute this layer too, unless the layer is one of
    `STARTING`; otherwise the layer belongs to the first node that computes one of its readers. Of a
    layer that was written out as several nodes, each computes it. A node with no layers converts or
    copies, or computes what is no layer, as of constants alone.
    """
    writer = {
        value: index for index, node in enumerate(layers.node) for value in node.output if value
    }
    owner: dict[int, int] = {}
    known = {value for node in optimised.node for value in (*node.input, *node.output)}
    for number, node in enumerate(optimised.node):
        for position in _shown(node, writer):
            owner.setdefault(position, number)
    readers = _readers(layers, writer)
    for position, node in enumerate(layers.node):
        before = [
            owner[writer[value]]
            for value in node.input
            if value not in known
            and writer.get(value) in owner
            and len(readers[writer[value]]) == 1
        ]
        if position not in owner and node.op_type not in STARTING and before:
            # Of several, the last reads what the others write.
            owner[position] = max(before)
    for position in reversed(range(len(layers.node))):
        after = [owner[reader] for reader in readers[position] if reader in owner]
        if position not in owner and after:
            owner[position] = min(after)
    return _with_written_out(_positions(owner, len(optimised.node)), optimised)


def _shown(node: NodeProto, writer: Mapping[str, int]) -> tuple[int, ...]:
    """The layers that a node of the optimised graph shows to be its own."""
    blocked = node.name.removesuffix(BLOCKED)
    if blocked != node.name and blocked in writer:
        return (writer[blocked],)
    named = positions_in(node.name)
    if named or node.op_type in CONVERSIONS:
        return named
    return tuple(writer[value] for value in node.output if value in writer)


def _readers(layers: GraphProto, writer: Mapping[str, int]) -> Sequence[Sequence[int]]:
    readers: list[list[int]] = [[] for _ in layers.node]
    for position, node in enumerate(layers.node):
        for value in node.input:
            if value in writer:
                readers[writer[value]].append(position)
    return readers


def _positions(owner: Mapping[int, int], nodes: int) -> list[tuple[int, ...]]:
    by_node: list[list[int]] = [[] for _ in range(nodes)]
    for position in sorted(owner):
        by_node[owner[position]].append(position)
    return [tuple(positions) for positions in by_node]


def _with_written_out(
    positions: list[tuple[int, ...]], optimised: GraphProto
) -> list[tuple[int, ...]]:
    """With the layer of the node that reads what another writes within the same function."""
    layer_of_reader: dict[str, int] = {}
    for number, node in reversed(list(enumerate(optimised.node))):
        inner = [v for v in node.output if v.startswith(WRITTEN_OUT) and v in layer_of_reader]
        if inner and not positions[number]:
            positions[number] = (layer_of_reader[inner[0]],)
        for position in positions[number][:1]:
            layer_of_reader |= dict.fromkeys(node.input, position)
    return positions
