"""What is said of a model's states among its layers and groups."""

from collections.abc import Iterable

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.layering.layers import Layers
from benanza_ingest.resolving.graph import Graph
from benanza_ingest.states.in_place import KeptState
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN


def with_states(
    layers: list[ExtractedLayer], graph: Graph, states: Iterable[KeptState], maker: Layers
) -> tuple[ExtractedGroup, ...]:
    """Gives the layers that copy a state the reason. Returns for each state in place the layer that
    would copy it, at the position of the one that writes what is new.
    """
    positions = {node.first_output(): position for position, node in enumerate(graph.nodes)}
    copying = []
    for state in states:
        position = positions[state.writer]
        if layers[position].reason:
            continue
        if state.copied:
            layers[position] = replace(layers[position], reason=COPIED_STATE + state.copied)
        elif state.as_written is not None:
            copies = maker.layer(state.as_written)
            if copies.layer is not None:
                copying.append(
                    ExtractedGroup(
                        copies.fingerprint,
                        STATE_AS_WRITTEN,
                        (position,),
                        copies.flops,
                        copies.bytes,
                        copies.layer,
                    )
                )
    return tuple(copying)
