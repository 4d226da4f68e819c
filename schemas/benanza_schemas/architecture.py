"""The identity of an architecture: what models that differ in names and weights have in common.

Changing what is hashed here gives every architecture another id, so that all models are analyzed
again: raise `ARCHITECTURE_VERSION` with it.
"""

from collections.abc import Iterable, Sequence

import msgspec

from benanza_schemas.events import Group, Hash, LayerSummary, LayerUse
from benanza_schemas.identity import digest

ARCHITECTURE_VERSION = 1


def architecture_id(
    batch: int,
    summaries: Sequence[LayerSummary],
    layers: Iterable[LayerUse],
    edges: Sequence[tuple[int, int]],
    groups: Iterable[Group],
) -> Hash:
    """The id of a model's architecture: a hash of its batch size, its layers in order, its wiring
    and its groups, as `ModelIngested` has them.

    The order of the summaries doesn't matter. A graph whose layers come in another order has
    another one. Raises `IndexError` for a layer whose summary isn't there.
    """
    places: dict[LayerSummary, int] = {}
    order = [places.setdefault(summaries[use.summary], len(places)) for use in layers]
    # The least work, which is in the last fields of both, follows from the rest.
    layers_said = [msgspec.structs.astuple(summary)[:-3] for summary in places]
    groups_said = [msgspec.structs.astuple(group)[:-1] for group in groups]
    graph = (ARCHITECTURE_VERSION, batch, order, edges, layers_said, groups_said)
    return digest(msgspec.msgpack.encode(graph))
