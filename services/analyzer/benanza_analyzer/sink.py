"""The sink: a step that writes events into the store. It runs in the analyzer's process."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from benanza_backbone.clickhouse.refused_data import RefusedDataError
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import Clock
from benanza_backbone.event_log.event_log import Consumer, EventLog, Partition
from benanza_backbone.service.halving import refused
from benanza_backbone.service.processor import Refused
from benanza_backbone.service.step import Offsets, Step
from benanza_backbone.telemetry import BOUNDS_BEATEN, DEAD_LETTERS_OPEN
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, SINK, service_of
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    CheckpointIngested,
    DeadLetter,
    DeadLetterSettled,
    EvaluationTaken,
    LayerMeasured,
    ModelEvaluated,
    ModelForgotten,
    ModelIngested,
    ModelProfiled,
    ModelWitnessed,
    RecordingWithdrawn,
    SystemMeasured,
)
from benanza_schemas.layer import Precision

BEATEN_S = 60.0
"""So many seconds old the metric of beaten bounds may be. Its query takes a tenth of a second, for
which what arrives meanwhile has to wait."""


def sink_step(log: EventLog, store: Store, clock: Clock) -> Step:
    """The step that inserts events into the store, a batch of records at a time.

    The store remembers up to which offsets it was filled. So a store that is new, or was restored
    from a copy, gets what it lacks; and one that is ahead of the group's committed offsets gets
    some events again, which does no harm. What the store refuses for what it holds becomes a dead
    letter; where the store is away, the step stops.

    `check` asks the store which dead letters are open and which bounds are wrong, for the metrics:
    the latter where the last batch may have changed it, or others may have for `BEATEN_S` seconds.
    """
    group = CONSUMER_GROUPS[SINK]
    batch: list[AnyEvent] = []
    stored: dict[Partition, int] = {}
    beaten_by_s = 0.0

    def recover(offsets: Offsets, _: Consumer) -> Offsets:
        stored.clear()
        stored.update(store.offsets(group.name))
        return {p: min(offset, stored.get(p, 0)) for p, offset in offsets.items()}

    def take(event: AnyEvent) -> list[AnyEvent]:
        batch.append(event)
        return []

    def insert(part: Sequence[tuple[int, AnyEvent]]) -> None:
        store.insert([event for _, event in part])

    def flush(offsets: Offsets) -> Refused:
        nonlocal beaten_by_s
        left_out = refused(list(enumerate(batch)), insert, RefusedDataError)
        if any(isinstance(event, (BoundUpdated, ModelWitnessed, ModelProfiled)) for event in batch):
            beaten_by_s = 0.0
        batch.clear()
        further = {p: offset for p, offset in offsets.items() if offset != stored.get(p)}
        store.set_offsets(group.name, further)
        stored.update(further)
        return {place: error for (place, _), error in left_out}

    def probe() -> None:
        nonlocal beaten_by_s
        _show_dead_letters(store.open_dead_letters())
        if time.monotonic() >= beaten_by_s:
            _show_beaten(store.beaten_bounds())
            beaten_by_s = time.monotonic() + BEATEN_S

    takes = (
        *(ModelIngested, CheckpointIngested, BenchmarkRequested, SystemMeasured, LayerMeasured),
        *(BoundUpdated, ModelWitnessed, ModelProfiled, RecordingWithdrawn, ModelForgotten),
        *(EvaluationTaken, ModelEvaluated, DeadLetter, DeadLetterSettled),
    )
    return Step(
        log,
        group,
        takes,
        take,
        clock,
        recover=recover,
        flush=flush,
        probe=probe,
    )


def _show_beaten(beaten: Mapping[str, int]) -> None:
    """Updates the metric."""
    for precision in get_args(Precision):
        BOUNDS_BEATEN.labels(precision).set(beaten.get(precision, 0))


def _show_dead_letters(dead_letters: Mapping[tuple[str, str], int]) -> None:
    """Updates the metric. No sample that stays is removed in between: its alert would restart."""
    counts: Counter[tuple[str, str]] = Counter()
    for (group, topic), letters in dead_letters.items():
        counts[service_of(group), topic] += letters
    (metric,) = DEAD_LETTERS_OPEN.collect()
    for sample in metric.samples:
        labels = sample.labels["service"], sample.labels["topic"]
        if labels not in counts:
            DEAD_LETTERS_OPEN.remove(*labels)
    for labels, letters in counts.items():
        DEAD_LETTERS_OPEN.labels(*labels).set(letters)
