"""The services as steps over an event log: each core with what it reads and remembers."""

from collections import Counter
from collections.abc import Mapping

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.model_check import InvalidModelError
from benanza_backbone.clock import Clock
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import EventLog, Partition
from benanza_backbone.step import Offsets, Step
from benanza_backbone.store import Store
from benanza_backbone.telemetry import BOUNDS_RECOMPUTED, DEAD_LETTERS_OPEN
from benanza_dedupe.core import TAKES, Dedupe
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.consumer_groups import (
    ANALYZER,
    CONSUMER_GROUPS,
    DEDUPE,
    SINK,
    service_of,
)
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    DeadLetter,
    DeadLetterSettled,
    LayerMeasured,
    ModelIngested,
    ModelWitnessed,
    SystemMeasured,
)
from benanza_schemas.topics import GRAPHS, JOBS, RESULTS


def dedupe_step(log: EventLog, clock: Clock) -> Step:
    """Layers to jobs.

    The jobs in the log say which layers are known: what was written before a crash is there,
    and what wasn't is written when its layer comes again.
    """
    owners = {record.key.decode(): "" for record in log.records(JOBS)}
    return Step(log, *CONSUMER_GROUPS[DEDUPE], TAKES, Dedupe(owners).handle, clock)


def analyzer_step(log: EventLog, clock: Clock) -> Step:
    """Graphs and results to bounds, knowing what was handled before, by whichever process."""
    analyzer = Analyzer()

    def recover(offsets: Offsets) -> Offsets:
        nonlocal analyzer
        topics = sorted(partition.topic for partition in offsets)
        if topics not in ([], [GRAPHS, RESULTS]):
            raise BenanzaError(
                f"the analyzer was given partitions of {', '.join(topics)}: it needs all of "
                f"{GRAPHS} and {RESULTS}, which have one partition each; make them again with "
                "`benanza topics`"
            )
        analyzer = Analyzer()
        for topic in topics:
            for record in log.records(topic, offsets):
                try:
                    event = decode(record.value)
                    if isinstance(event, AnalyzerEvent):
                        analyzer.restore(event)
                except (DecodeError, InvalidModelError):
                    # It went to the dead letters when it was handled.
                    continue
        return {}

    def handle(event: AnalyzerEvent) -> list[BoundUpdated]:
        moved = analyzer.handle(event, clock())
        BOUNDS_RECOMPUTED.inc(len(moved))
        return moved

    takes = (ModelIngested, SystemMeasured, LayerMeasured)
    return Step(log, *CONSUMER_GROUPS[ANALYZER], takes, handle, clock, recover=recover)


def store_step(log: EventLog, store: Store, clock: Clock) -> Step:
    """What people ask for, into the store, a batch of records at a time.

    The store remembers how far it is. So one that was restored from a copy, or is new, gets
    what it lacks; and where it is ahead of what the group has committed, it is told again what
    it knows, which does no harm. It is asked now and then, too, which dead letters are open.
    """
    group, topics = CONSUMER_GROUPS[SINK]
    batch: list[AnyEvent] = []
    stored: dict[Partition, int] = {}

    def recover(offsets: Offsets) -> Offsets:
        stored.clear()
        stored.update(store.offsets(group))
        return {p: min(offset, stored.get(p, 0)) for p, offset in offsets.items()}

    def take(event: AnyEvent) -> list[AnyEvent]:
        batch.append(event)
        return []

    def flush(offsets: Offsets) -> None:
        store.insert(batch)
        batch.clear()
        further = {p: offset for p, offset in offsets.items() if offset != stored.get(p)}
        store.set_offsets(group, further)
        stored.update(further)

    takes = (
        *(ModelIngested, BenchmarkRequested, SystemMeasured, LayerMeasured, BoundUpdated),
        *(ModelWitnessed, DeadLetter, DeadLetterSettled),
    )
    return Step(
        log,
        group,
        topics,
        takes,
        take,
        clock,
        recover=recover,
        flush=flush,
        probe=lambda: _show(store.open_dead_letters()),
    )


def _show(dead_letters: Mapping[tuple[str, str], int]) -> None:
    """Brings the metric up to date, without a moment in which one that stays isn't there: an alert
    would begin anew.
    """
    found: Counter[tuple[str, str]] = Counter()
    for (group, topic), letters in dead_letters.items():
        found[service_of(group), topic] += letters
    (metric,) = DEAD_LETTERS_OPEN.collect()
    for sample in metric.samples:
        labels = sample.labels["service"], sample.labels["topic"]
        if labels not in found:
            DEAD_LETTERS_OPEN.remove(*labels)
    for labels, letters in found.items():
        DEAD_LETTERS_OPEN.labels(*labels).set(letters)
