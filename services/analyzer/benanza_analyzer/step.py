"""Runs the analyzer as a step over an event log: reads graphs and results, and writes bounds."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_analyzer.results_before import ResultsBefore
from benanza_analyzer.versions.times import VersionTimes
from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import Consumer, EventLog, Record
from benanza_backbone.service.step import Offsets, Step
from benanza_backbone.telemetry import BOUNDS_RECOMPUTED
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    ModelIngested,
    RecordingWithdrawn,
    SystemMeasured,
)
from benanza_schemas.limits import FIRST_TIME
from benanza_schemas.topics import BOUNDS, GRAPHS, RESULTS

MICROSECOND = timedelta(microseconds=1)


def analyzer_step(log: EventLog, clock: Clock) -> Step:
    """The step that computes the bounds of the architectures in the partitions that it holds.

    Whenever partitions are assigned, it claims them, and reads again all events that any process
    handled before, and the times and claims of the bounds that were written. Until then, another
    one may have had the partitions, and may still write bounds: these have a lower claim.
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
            times.restore(record.value for record in log.records(BOUNDS))
            # The time, in microseconds: so a log that was lost is followed by higher claims.
            least = max((clock() - FIRST_TIME) // MICROSECOND, times.claimed + 1)
            claimed = consumer.claim(least)
            if claimed is None:
                return None
            claim = claimed
        # Graphs first: so their layers' results are restored for them.
        for topic in (GRAPHS, RESULTS) if offsets else ():
            for record in log.records(topic, offsets):
                try:
                    event = decode(record.value)
                    if isinstance(event, AnalyzerEvent):
                        analyzer.restore(event)
                    if isinstance(event, ModelIngested):
                        before.add(event.architecture_id, record.partition)
                except (DecodeError, InvalidModelError):
                    # It went to the dead letters when it was handled.
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
