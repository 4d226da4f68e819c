"""Which layers of a model the nodes of its FX graph compute."""

from collections.abc import Sequence

from msgspec.structs import replace
from onnx import GraphProto

from benanza_schemas.events import FrameworkCall


def framework_calls(
    nodes: Sequence[FrameworkCall], model: GraphProto, origins: Sequence[str]
) -> tuple[FrameworkCall, ...]:
    """The nodes that take time or compute layers, with these layers, in the order of their starts.

    Nodes are given without layers; the operator of one is such as `aten.conv2d`. A node that starts
    nothing on the device takes no time.
    `model` and `origins` are the `layers` of a `WholeModel`, and the FX node that each was exported
    of. A layer whose FX node isn't there belongs to the node that computes one of its
    readers, or else to one that computes what it reads.
    """
    owner = _owners([node.name for node in nodes], model, origins)
    layers: list[list[int]] = [[] for _ in nodes]
    for position in sorted(owner):
        layers[owner[position]].append(position)
    calls = [
        replace(node, layers=tuple(computed))
        for node, computed in zip(nodes, layers, strict=True)
        if computed or node.median_us
    ]
    return tuple(sorted(calls, key=lambda call: call.start_us))


def _owners(names: Sequence[str], model: GraphProto, origins: Sequence[str]) -> dict[int, int]:
    """The number of the FX node of each layer, by the layer's position."""
    numbers = {name: number for number, name in enumerate(names)}
    owner = {index: numbers[name] for index, name in enumerate(origins) if name in numbers}
    writer = {
        value: index for index, node in enumerate(model.node) for value in node.output if value
    }
    read = [[writer[v] for v in node.input if v in writer] for node in model.node]
    for reader in reversed(range(len(read))):
        for position in read[reader]:
            if reader in owner and origins[position] not in numbers:
                owner[position] = min(owner.get(position, owner[reader]), owner[reader])
    for position, inputs in enumerate(read):
        before = [owner[layer] for layer in inputs if layer in owner]
        if position not in owner and before:
            owner[position] = max(before)
    return owner
