"""Which layers become jobs: each one once, whichever model brings it first."""

from collections.abc import MutableMapping

from benanza_schemas.events import BenchmarkRequested, LayerKnown, LayerSeen, event_id
from benanza_schemas.identity import LayerError, fingerprint_of_canonical

TAKES = (LayerSeen, LayerKnown)


class Dedupe:
    """Turns the first `LayerSeen` of each layer into its job.

    `owners` maps a layer's fingerprint to the id of the event that made its job. A crash may
    come after the owner is stored and before its job is: the owner's event then arrives again,
    and gives the same job again, so that none is lost. Readers of `jobs` drop repeats by id.
    A layer that has its job from elsewhere is owned by the `LayerKnown` that says so.
    """

    def __init__(self, owners: MutableMapping[str, str]) -> None:
        self._owners = owners

    def handle(self, event: LayerSeen | LayerKnown) -> list[BenchmarkRequested]:
        """The job of this layer, or nothing if another event owns it or it is known.

        Raises `LayerError` if the fingerprint isn't that of the layer. Such an event would
        keep the layer which the fingerprint does name from ever being benchmarked.
        """
        if isinstance(event, LayerKnown):
            self._owners.setdefault(event.fingerprint, event.event_id)
            return []
        if self._owners.get(event.fingerprint, event.event_id) != event.event_id:
            return []
        fingerprint = fingerprint_of_canonical(event.layer)
        if fingerprint != event.fingerprint:
            raise LayerError(
                f"{event.layer.title()} has the fingerprint {fingerprint}, "
                f"not {event.fingerprint}; publish its model again with this version of benanza"
            )
        self._owners[event.fingerprint] = event.event_id
        return [
            BenchmarkRequested(
                event_id=event_id("BenchmarkRequested", event.fingerprint),
                fingerprint=event.fingerprint,
                layer=event.layer,
            )
        ]
