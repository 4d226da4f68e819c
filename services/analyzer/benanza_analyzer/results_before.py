"""How far results were read for each architecture before a restart.

Every analyzer reads all results, and how far it has read them is committed with each partition of
graphs. Who takes over partitions of several analyzers reads on from the least of these. What comes
until where another partition was is known to the architectures there: to compute their bounds from
a part of it would make older versions the last ones.
"""

from collections.abc import Collection, Mapping, Sequence

from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.service.step import Offsets
from benanza_schemas.codec import DecodeError, decode


class ResultsBefore:
    """`whole_before` is that of a `Consumer`."""

    def __init__(self, whole_before: Mapping[Partition, Offsets]) -> None:
        read = list(whole_before.values())
        topics = {partition for offsets in read for partition in offsets}
        reached = {
            partition: {offsets.get(partition, 0) for offsets in read} for partition in topics
        }
        self._furthest = {
            partition: max(offsets) for partition, offsets in reached.items() if len(offsets) > 1
        }
        self._whole_before = whole_before
        self._architectures: dict[Partition, set[str]] = {}
        self._places: dict[str, tuple[Partition, int]] = {}

    def add(self, architecture_id: str, graphs: Partition) -> None:
        """Takes in an architecture that was handled before, and its partition of graphs."""
        if self._furthest:
            self._architectures.setdefault(graphs, set()).add(architecture_id)

    def begin(self, records: Sequence[Record]) -> None:
        """Takes in the records whose events are handled next."""
        self._places.clear()
        for record in records:
            if record.offset < self._furthest.get(record.partition, 0):
                try:
                    event_id = decode(record.value).event_id
                except DecodeError:
                    continue  # No event of it is handled.
                self._places.setdefault(event_id, (record.partition, record.offset))
            else:
                self._furthest.pop(record.partition, None)

    def known_to(self, event_id: str) -> Collection[str]:
        """The ids of the architectures for which such an event was handled before."""
        if event_id not in self._places:
            return ()
        partition, offset = self._places[event_id]
        return {
            architecture_id
            for graphs, architecture_ids in self._architectures.items()
            if offset < self._whole_before.get(graphs, {}).get(partition, 0)
            for architecture_id in architecture_ids
        }
