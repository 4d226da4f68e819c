"""What is said of a model's states among its layers and groups, and the model as it is written."""

from collections.abc import Iterable

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.layering.layers import Layers
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.states.in_place import KeptState
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN


def with_reasons(
    layers: Iterable[ExtractedLayer], graph: Graph, states: Iterable[KeptState]
) -> tuple[ExtractedLayer, ...]:
    """The layers, those that copy a state with the reason."""
    copied = {state.writer: COPIED_STATE + state.copied for state in states if state.copied}
    return tuple(
        replace(layer, reason=copied[node.first_output()])
        if node.first_output() in copied and not layer.reason
        else layer
        for node, layer in zip(graph.nodes, layers, strict=True)
    )


def copying_groups(
    graph: Graph, states: Iterable[KeptState], maker: Layers
) -> tuple[ExtractedGroup, ...]:
    """For each state in place the layer that would copy it, at the position of the one that writes
    what is new.
    """
    positions = {node.first_output(): position for position, node in enumerate(graph.nodes)}
    copying = []
    for state in states:
        if state.as_written is not None:
            position = positions[state.writer]
            copies = maker.layer(state.as_written)
            if copies.layer is not None:
                copying.append(
                    ExtractedGroup(
                        copies.fingerprint,
                        STATE_AS_WRITTEN,
                        (position,),
                        copies.flops,
                        copies.bytes,
                        layer=copies.layer,
                    )
                )
    return tuple(copying)


def nodes_as_written(graph: Graph, states: Iterable[KeptState]) -> list[Node]:
    """The nodes in the same order, with those that copy states in the place of those that write
    what is new.
    """
    instead = {state.writer: state.as_written for state in states}
    return [instead.get(node.first_output()) or node for node in graph.nodes]
