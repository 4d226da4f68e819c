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
    # The least operations, which are the last field of both, follow from the fingerprint.
    parts = [
        [msgspec.structs.astuple(part)[:-1] for part in structs] for structs in (places, groups)
    ]
    graph = (ARCHITECTURE_VERSION, batch, order, edges, *parts)
    return digest(msgspec.msgpack.encode(graph))
