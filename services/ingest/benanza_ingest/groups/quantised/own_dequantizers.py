"""A DequantizeLinear of its own for each unit that reads integers.

A value that is quantised once may be dequantised once for several readers. Each of them that runs
on integers takes the DequantizeLinear into its call, and then the others' is of no use: ONNX
Runtime gives each reader its own, too
(onnxruntime/core/optimizer/ensure_unique_dq_for_node_unit.cc).
"""

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.quantised.units import dequantising, unit
from benanza_ingest.groups.wiring import OUTSIDE, Wiring, wire
from benanza_ingest.resolving.graph import Node


def with_own_dequantizers(wiring: Wiring) -> Wiring:
    """The wiring with copies of each DequantizeLinear that several layers read.

    A copy is a view: outside of a unit, the one that all others read counts. The graph gets the
    nodes of the copies, unless these were more than it has: no quantiser writes such a model. What
    between a DequantizeLinear and a QuantizeLinear of one scale only changes the shape is a view
    together with both.
    """
    copies = _copies(wiring)
    if 0 < sum(map(len, copies.values())) <= len(wiring.layers):
        wiring = _with_copies(wiring, copies)
    views: set[int] = set()
    for start in dequantising(wiring):
        reader = wiring.only_reader(start)
        reader_unit = (
            unit(wiring, reader)
            if reader is not None and wiring.layers[reader].kind == "view"
            else None
        )
        if reader_unit is not None and reader_unit.keeps:
            views.update(reader_unit.positions)
    if not views:
        return wiring
    layers = [
        _view(layer) if position in views else layer for position, layer in enumerate(wiring.layers)
    ]
    return wire(wiring.graph, tuple(layers))


def _copies(wiring: Wiring) -> dict[int, list[int]]:
    """The readers that are to have a copy of each DequantizeLinear: those on integers, without the
    first if there are no others.
    """
    inside: dict[int, frozenset[int]] = {OUTSIDE: frozenset()}
    copies = {}
    for dequantise in dequantising(wiring):
        (name, *_) = wiring.node(dequantise).outputs
        readers = sorted(set(wiring.readers[name]))
        for reader in readers if len(readers) > 1 else ():
            if reader not in inside:
                reader_unit = unit(wiring, reader)
                inside[reader] = frozenset(reader_unit.positions if reader_unit else ())
        units = [reader for reader in readers if dequantise in inside.get(reader, ())]
        copied = units[1:] if len(units) == len(readers) else units
        if copied:
            copies[dequantise] = copied
    return copies


def _with_copies(wiring: Wiring, copies: dict[int, list[int]]) -> Wiring:
    graph = wiring.graph
    nodes: list[Node] = []
    layers: list[ExtractedLayer] = []
    for position, (node, layer) in enumerate(zip(graph.nodes, wiring.layers, strict=True)):
        nodes.append(node)
        layers.append(layer)
        for reader in copies.get(position, ()):
            (name, *_) = node.outputs
            own = f"{name} for {graph.nodes[reader].title()} ({reader})"
            graph.types[own] = graph.types.get(name)
            nodes.append(replace(node, outputs=(own,)))
            layers.append(_view(layer))
            reading = graph.nodes[reader]
            reading.inputs = tuple([own if value == name else value for value in reading.inputs])
    graph.nodes[:] = nodes
    return wire(graph, tuple(layers))


def _view(layer: ExtractedLayer) -> ExtractedLayer:
    return replace(layer, kind="view", flops=0, bytes=0, parameters=0)
