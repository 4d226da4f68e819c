"""What of a consumer's partitions is still to be processed, for Prometheus."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.telemetry import CONSUMER_LAG, OLDEST_UNPROCESSED


class LagReport:
    """Keeps the gauges of one consumer; what it has lost is no longer shown."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._lag: dict[Partition, int] = {}
        self._topics: set[str] = set()

    def began(self, records: Sequence[Record]) -> None:
        """These records are in work now. They count among those that wait: while a turn hangs,
        nobody asks how many there are.
        """
        for partition, number in Counter(record.partition for record in records).items():
            self._show(partition, max(number, self._lag.get(partition, 0)))
        oldest: dict[str, float] = {}
        for record in records:
            topic, time = record.partition.topic, record.timestamp.timestamp()
            oldest[topic] = min(time, oldest.get(topic, time))
        for topic, time in oldest.items():
            OLDEST_UNPROCESSED.labels(topic, self._group).set(time)
        self._topics.update(oldest)

    def refresh(self, lag: Mapping[Partition, int]) -> None:
        """So many records wait in each partition held. What was in work is done."""
        for partition, records in lag.items():
            self._show(partition, records)
        self._forget(self._lag.keys() - lag.keys())
        waiting = {partition.topic for partition, records in lag.items() if records}
        self._forget_topics(self._topics - waiting)

    def close(self) -> None:
        """Shows nothing any more. May be called again."""
        self._forget(self._lag.keys())
        self._forget_topics(self._topics.copy())

    def _show(self, partition: Partition, records: int) -> None:
        CONSUMER_LAG.labels(partition.topic, partition.number, self._group).set(records)
        self._lag[partition] = records

    def _forget(self, partitions: Set[Partition]) -> None:
        for partition in [*partitions]:
            CONSUMER_LAG.remove(partition.topic, partition.number, self._group)
            del self._lag[partition]

    def _forget_topics(self, topics: set[str]) -> None:
        for topic in topics:
            OLDEST_UNPROCESSED.remove(topic, self._group)
        self._topics -= topics
