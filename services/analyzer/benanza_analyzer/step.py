"""Runs the analyzer as a step over an event log: reads graphs and results, and writes bounds."""

from collections.abc import Mapping, Sequence

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_analyzer.results_before import ResultsBefore
from benanza_analyzer.versions.late import overtaken
from benanza_analyzer.versions.times import VersionTimes
from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import EventLog, Partition, Record
from benanza_backbone.service.processor import as_message
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
from benanza_schemas.topics import BOUNDS, GRAPHS, RESULTS


def analyzer_step(log: EventLog, clock: Clock) -> Step:
    """The step that computes the bounds of the architectures in the partitions that it holds.

    Whenever partitions are assigned, it reads again all events that any process handled before, and
    the times of the bounds that were written.
    """
    analyzer = Analyzer()
    times = VersionTimes(clock)
    before = ResultsBefore({})
    of_last_turn: list[BoundUpdated] = []
    since: Offsets = {}

    def begin(records: Sequence[Record]) -> None:
        of_last_turn.clear()
        before.begin(records)

    def recover(offsets: Offsets, whole_before: Mapping[Partition, Offsets]) -> Offsets:
        nonlocal analyzer, times, before, since
        # First, since another one may take over as soon as this one waits for anything.
        end = log.end_offsets(BOUNDS)
        if of_last_turn:
            # While it wrote these, this process may have been taken for dead.
            new = (r for r in log.records(BOUNDS) if r.offset >= since.get(r.partition, 0))
            if others := overtaken(of_last_turn, new):
                log.append([as_message(version) for version in others])
            of_last_turn.clear()
        since = end
        analyzer = Analyzer()
        times = VersionTimes(clock)
        before = ResultsBefore(whole_before)
        if offsets:
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
                except (DecodeError, InvalidModelError):
                    # It went to the dead letters when it was handled.
                    continue
        return {}

    def handle(event: AnalyzerEvent) -> list[BoundUpdated]:
        known_to = before.known_to(event.event_id)
        moved = times.after_former(analyzer.handle(event, times.now(), known_to))
        BOUNDS_RECOMPUTED.inc(len(moved))
        of_last_turn.extend(moved)
        return moved

    takes = (ModelIngested, SystemMeasured, LayerMeasured, RecordingWithdrawn)
    return Step(log, CONSUMER_GROUPS[ANALYZER], takes, handle, clock, ahead=begin, recover=recover)
