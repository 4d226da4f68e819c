"""Which architectures have been ingested already, so that a further checkpoint adds only itself."""

from collections.abc import Iterable, Sequence

import msgspec

from benanza_ingest.core import Ingested
from benanza_schemas.codec import encode
from benanza_schemas.events import Hash, LayerSeen, ModelIngested


class _Graph(msgspec.Struct):
    """What is read of a `ModelIngested`."""

    event_id: str


_GRAPHS = msgspec.msgpack.Decoder(_Graph)


class KnownArchitectures:
    """The event that brought each architecture, by the architecture's id.

    The graph and the layers of an architecture are passed on when that event comes, also when it
    comes again: a crash may have come between it and its layers. Of other models only the
    `CheckpointIngested` is passed on. `graphs` are the encoded `ModelIngested` of former processes,
    with their keys. An architecture that another process brings meanwhile is passed on
    here once more, which does no harm: dedupe and the analyzer know it then. Networks are always
    passed on: whether there are any, a model's publisher decides.
    """

    def __init__(self, graphs: Iterable[tuple[bytes, bytes]] = ()) -> None:
        self._brought_by: dict[Hash, Hash] = {}
        for architecture, graph in graphs:
            try:
                self._brought_by[architecture.decode()] = _GRAPHS.decode(graph).event_id
            except (ValueError, RecursionError):
                continue  # The analyzer has made a dead letter of it.

    def pass_on(self, events: Sequence[Ingested]) -> list[Ingested]:
        """Those of the events of a published model that say something new. Raises `ValueError` as
        `encode` does, if it can't encode a new graph: then its architecture stays unknown.
        """
        known = set()
        for event in events:
            if isinstance(event, ModelIngested):
                if event.architecture_id not in self._brought_by:
                    encode(event)  # What can't be published isn't known.
                by = self._brought_by.setdefault(event.architecture_id, event.event_id)
                if by != event.event_id:
                    known.add(event.model_id)
        return [
            event for event in events if not (_of_architecture(event) and event.model_id in known)
        ]


def _of_architecture(event: Ingested) -> bool:
    """Whether all models of an architecture bring the same."""
    match event:
        case LayerSeen():
            return event.layer.execution == "call"
        case ModelIngested():
            return True
    return False
