"""Runs the analyzer as a step over an event log: reads graphs and results, and writes bounds."""

from collections.abc import Sequence

import msgspec

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.results_before import ResultsBefore
from benanza_analyzer.versions.times import VersionTimes
from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import Consumer, EventLog, Record
from benanza_backbone.service.step import Offsets, Step
from benanza_backbone.telemetry import BOUNDS_RECOMPUTED
from benanza_schemas.codec import decode
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    ModelIngested,
    RecordingWithdrawn,
    SystemMeasured,
)
from benanza_schemas.topics import BOUNDS, GRAPHS, RESULTS


def analyzer_step(log: EventLog, clock: Clock) -> Step:
    """The step that computes the bounds of the architectures in the partitions that it holds.

    Whenever partitions are assigned, it claims them, and reads again all events that any process
    handled before, and the times of the bounds that were written. What an analyzer still writes
    that had the partitions before has a lower claim, and doesn't count.
    """
    analyzer = Analyzer()
    times = VersionTimes(clock)
    before = ResultsBefore({})
    claim = 0

    def recover(offsets: Offsets, consumer: Consumer) -> Offsets | None:
        nonlocal analyzer, times, before, claim
        analyzer = Analyzer()
        times = VersionTimes(clock)
        before = ResultsBefore(consumer.whole_before())
        if offsets:
            # At least the time, in microseconds: so claims go on where a log or group was lost.
            claimed = consumer.claim(int(clock().timestamp() * 1e6))
            if claimed is None:
                return None
            claim = claimed
            times.restore(record.value for record in log.records(BOUNDS))
        # Graphs first: so their layers' results are restored for them.
        for topic in (GRAPHS, RESULTS) if offsets else ():
            for record in log.records(topic, offsets):
                try:
                    event = decode(record.value)
                    if isinstance(event, AnalyzerEvent):
                        analyzer.restore(event)
                    if isinstance(event, ModelIngested):
                        before.add(event.architecture_id, record.partition)
                except Exception:  # noqa: BLE001  # when it was handled, it became a dead letter
                    continue
        return {}

    def ahead(records: Sequence[Record]) -> None:
        before.begin(records)

    def handle(event: AnalyzerEvent) -> list[BoundUpdated]:
        known_to = before.known_to(event.event_id)
        moved = times.after_former(analyzer.handle(event, times.now(), known_to))
        BOUNDS_RECOMPUTED.inc(len(moved))
        return [msgspec.structs.replace(version, claim=claim) for version in moved]

    takes = (ModelIngested, SystemMeasured, LayerMeasured, RecordingWithdrawn)
    return Step(log, CONSUMER_GROUPS[ANALYZER], takes, handle, clock, ahead=ahead, recover=recover)
