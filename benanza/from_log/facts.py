"""What an event log says, as the sink would store it: the last event of each key, without what was
withdrawn or forgotten.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from heapq import merge
from typing import Any

from msgspec.structs import replace

from benanza_backbone.clickhouse.rows import has_its_own, rows
from benanza_backbone.event_log.event_log import EventLog, Partition, Record
from benanza_backbone.event_log.readable import events_of, readable
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import (
    MARK,
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    CheckpointIngested,
    Group,
    LayerMeasured,
    LayerSummary,
    ModelForgotten,
    ModelIngested,
    ModelProfiled,
    ModelWitnessed,
    RecordingWithdrawn,
    SystemMeasured,
)
from benanza_schemas.topics import BOUNDS, CHECKPOINTS, GRAPHS, JOBS, PROFILES, RESULTS

Row = dict[str, Any]

_OTHERS = b"SystemMeasured", b"RecordingWithdrawn"
"""The types of events in the topic `results` that aren't of layers."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Facts:
    """The facts of an embedded log, each topic read when it is first asked for. Its offsets say in
    which order events came, over all topics.

    Every property and method raises `BenanzaError` as `EventLog.records` does.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log

    @cached_property
    def models(self) -> list[CheckpointIngested]:
        """The models by name and id, each with the architecture that it has now."""
        named: dict[tuple[str, str], CheckpointIngested] = {}
        of_model: dict[str, CheckpointIngested] = {}
        by_offset = merge(
            readable(self._log, GRAPHS),
            readable(self._log, CHECKPOINTS),
            key=lambda read: read[0].offset,
        )
        for _, event in by_offset:
            if isinstance(event, ModelForgotten):
                of_model.pop(event.model_id, None)
                named = {key: of for key, of in named.items() if key[1] != event.model_id}
            elif model := _model(event):
                former = of_model.get(model.model_id)
                # An event of before version 10 doesn't take a model back to its own architecture.
                if former is None or _is_shared(model) or not _is_shared(former):
                    of_model[model.model_id] = model
                named[model.name, model.model_id] = model
        return [_with_architecture(model, of_model[model.model_id]) for model in named.values()]

    def parts(self, architecture_id: str) -> tuple[Sequence[LayerSummary], Sequence[Group]]:
        """The layers of an architecture in their order, and its groups; none if it isn't there."""
        if (graph := self.graphs.get(architecture_id)) is None:
            return (), ()
        return [graph.summaries[use.summary] for use in graph.layers], graph.groups

    @cached_property
    def graphs(self) -> dict[str, ModelIngested]:
        """The architectures by id. Of several events the last counts, unless it says less of the
        least work than a former one; its id is that of the last in any case.
        """
        graphs: dict[str, ModelIngested] = {}
        for event in events_of(self._log, GRAPHS, ModelIngested):
            former = graphs.get(event.architecture_id)
            says_less = former is not None and event.least_known() < former.least_known()
            if former is not None and says_less and not has_its_own(event):
                event = replace(former, event_id=event.event_id)
            graphs[event.architecture_id] = event
        return graphs

    @cached_property
    def titles(self) -> dict[str, Row]:
        """What is known of each layer that has a job, by fingerprint, as in the table `layers`."""
        jobs = events_of(self._log, JOBS, BenchmarkRequested)
        return {job.fingerprint: rows(job)["layers"][0] for job in jobs}

    @cached_property
    def bounds(self) -> list[BoundUpdated]:
        """All versions of all bounds."""
        return list(events_of(self._log, BOUNDS, BoundUpdated))

    @cached_property
    def systems(self) -> dict[str, list[SystemMeasured]]:
        """By system, for each recording and each set of ceilings the newest. What was withdrawn
        stays described, without ceilings and as of 1970.
        """
        newest: dict[tuple[str, str, str], SystemMeasured] = {}
        for event in self._results[1]:
            if isinstance(event, SystemMeasured):
                (row,) = rows(event)["measured_systems"]
                key = event.system.system_id, event.imported_from, str(row["kinds"])
                former = newest.get(key)
                if former is None or event.measured_at >= former.measured_at:
                    newest[key] = event
                continue
            for key, former in list(newest.items()):
                if key[1] == event.digest:
                    del newest[key]
                    bare = replace(former, ceilings=(), cache_bytes=0, measured_at=_EPOCH)
                    newest[*key[:2], ""] = bare
        systems: dict[str, list[SystemMeasured]] = defaultdict(list)
        for (system_id, _, _), event in newest.items():
            systems[system_id].append(event)
        return systems

    def measured(self, fingerprints: Iterable[str]) -> Iterator[Row]:
        """The rows of the table `measurements` of these layers, those of an event together."""
        for fingerprint in sorted(set(fingerprints)):
            events: dict[tuple[object, ...], LayerMeasured] = {}
            for offset in self._results[0].get(fingerprint.encode(), ()):
                (record,) = self._log.read(Partition(RESULTS, 0), offset, 1)
                event = _decoded(record)
                if isinstance(event, LayerMeasured) and not self._is_withdrawn(event, offset):
                    key = event.system.system_id, event.precision, event.measured_at, event.event_id
                    events[key] = event
            for event in events.values():
                yield from rows(event)["measurements"]

    @cached_property
    def profiles(self) -> list[ModelProfiled]:
        """The runs by frameworks."""
        return [event for event in self._runs if isinstance(event, ModelProfiled)]

    @cached_property
    def witnesses(self) -> list[ModelWitnessed]:
        """The runs of bounds."""
        return [event for event in self._runs if isinstance(event, ModelWitnessed)]

    @cached_property
    def _runs(self) -> list[ModelProfiled | ModelWitnessed]:
        runs: dict[tuple[str, datetime], ModelProfiled | ModelWitnessed] = {}
        for _, event in readable(self._log, PROFILES):
            if isinstance(event, ModelProfiled):
                runs[event.event_id, event.profiled_at] = event
            elif isinstance(event, ModelWitnessed):
                runs[event.event_id, event.witnessed_at] = event
            elif isinstance(event, RecordingWithdrawn):
                of = event.model_id, event.digest
                runs = {k: run for k, run in runs.items() if (run.model_id, _mark(run)) != of}
        return list(runs.values())

    @cached_property
    def _results(self) -> tuple[dict[bytes, list[int]], list[SystemMeasured | RecordingWithdrawn]]:
        """Where the topic `results` has something of each key, and what it has that isn't of
        layers: few of those are needed, and to decode all of them takes longest.
        """
        offsets: dict[bytes, list[int]] = defaultdict(list)
        others: list[SystemMeasured | RecordingWithdrawn] = []
        for record in self._log.records(RESULTS):
            offsets[record.key].append(record.offset)
            if any(name in record.value for name in _OTHERS):
                event = _decoded(record)
                if isinstance(event, SystemMeasured | RecordingWithdrawn):
                    others.append(event)
        return offsets, others

    @cached_property
    def _withdrawn(self) -> dict[str, int]:
        """The offset of the last withdrawal of each file."""
        offsets, others = self._results
        digests = {event.digest for event in others if isinstance(event, RecordingWithdrawn)}
        return {digest: offsets[digest.encode()][-1] for digest in digests}

    def _is_withdrawn(self, event: LayerMeasured, offset: int) -> bool:
        return offset < self._withdrawn.get(event.environment.get(MARK, ""), -1)


def _model(event: AnyEvent) -> CheckpointIngested | None:
    """The model of an event: before version 10 it is that of the architecture."""
    if isinstance(event, CheckpointIngested):
        return event
    if not isinstance(event, ModelIngested) or not has_its_own(event):
        return None
    return CheckpointIngested(
        event_id=event.event_id,
        model_id=event.model_id,
        architecture_id=event.architecture_id,
        name=event.name,
        zoo=event.zoo,
        sha256=event.sha256,
        opset=event.opset,
        batch=event.batch,
        dims=event.dims,
        layer_names=tuple(use.name for use in event.layers),
        quantised=event.quantised,
        tensor_parallel=event.tensor_parallel,
    )


def _is_shared(model: CheckpointIngested) -> bool:
    return model.architecture_id != model.model_id


def _with_architecture(model: CheckpointIngested, of: CheckpointIngested) -> CheckpointIngested:
    return replace(model, architecture_id=of.architecture_id, layer_names=of.layer_names)


def _mark(run: ModelProfiled | ModelWitnessed) -> str:
    """The SHA-256 of the file that it was imported from, empty if it was run here."""
    return run.imported_from if isinstance(run, ModelWitnessed) else run.environment.get(MARK, "")


def _decoded(record: Record) -> AnyEvent | None:
    try:
        return decode(record.value)
    except DecodeError:
        return None
