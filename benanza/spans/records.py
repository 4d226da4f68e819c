"""What the log has of models, and when it was written."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import readable
from benanza_schemas.events import (
    BenchmarkRequested,
    BoundUpdated,
    CheckpointIngested,
    Event,
    LayerMeasured,
    LayerSeen,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
)
from benanza_schemas.topics import BOUNDS, GRAPHS, JOBS, LAYERS, MODELS, RESULTS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

Kind = TypeVar("Kind", bound=Event)


class Written(NamedTuple, Generic[Kind]):
    """An event, and when it was written first, in nanoseconds since 1970."""

    event: Kind
    at_ns: int


def written(
    log: EventLog, topic: str, kind: type[Kind], keys: Collection[str] | None = None
) -> dict[str, Written[Kind]]:
    """The events of one kind, by their ids and in the order of the log; only those with one of
    these keys, if some are given. Raises `BenanzaError` if the log can't be read.
    """
    found: dict[str, Written[Kind]] = {}
    wanted = None if keys is None else {key.encode() for key in keys}
    for event, at_ns in _read(log, topic, wanted):
        if isinstance(event, kind):
            found.setdefault(event.event_id, Written(event, at_ns))
    return found


def _read(
    log: EventLog, topic: str, keys: Collection[bytes] | None = None
) -> Iterator[tuple[Event, int]]:
    """Events with when they were written, in nanoseconds since 1970."""
    for record, event in readable(log, topic, keys):
        yield event, in_ns(record.timestamp)


def in_ns(at: datetime) -> int:
    """In nanoseconds since 1970."""
    return (at - EPOCH) // MICROSECOND * 1_000


StoredAt = Callable[[Collection[str]], Mapping[str, datetime]]
"""When the sink stored each version of the bounds of these architectures first, by their ids."""


class ServiceRecords(NamedTuple):
    """What the log has of some models: publications by their ids; graphs and bounds by their
    architectures; owners, jobs and results by their layers. `stored_ns` says when the sink stored
    bounds, by their ids.

    `owners` are the events that brought each layer first. `moved_ns` says when the graphs and
    results were written, by their ids, and `before_ns` of a result when the runner wrote the one
    before, or its system's description.
    """

    published: Mapping[str, Written[ModelPublished]]
    graphs: Mapping[str, Sequence[Written[ModelIngested]]]
    owners: Mapping[str, Written[LayerSeen]]
    jobs: Mapping[str, Sequence[Written[BenchmarkRequested]]]
    results: Mapping[str, Sequence[Written[LayerMeasured]]]
    moved_ns: Mapping[str, int]
    before_ns: Mapping[str, int]
    bounds: Mapping[str, Sequence[Written[BoundUpdated]]]
    stored_ns: Mapping[str, int]

    @classmethod
    def of(
        cls, log: EventLog, models: Collection[CheckpointIngested], stored_at: StoredAt
    ) -> "ServiceRecords":
        architectures = {each.architecture_id for each in models}
        graphs = written(log, GRAPHS, ModelIngested, architectures)
        layers = {layer for graph in graphs.values() for layer in layers_of(graph.event)}
        owners: dict[str, Written[LayerSeen]] = {}
        for seen in written(log, LAYERS, LayerSeen, layers).values():
            owners.setdefault(seen.event.fingerprint, seen)
        jobs = written(log, JOBS, BenchmarkRequested, layers).values()
        results, before_ns = results_of(log, layers)
        return cls(
            published=written(log, MODELS, ModelPublished, {each.sha256 for each in models}),
            graphs=_by(graphs.values(), lambda graph: graph.architecture_id),
            owners=owners,
            jobs=_by(jobs, lambda job: job.fingerprint),
            results=_by(results, lambda result: result.fingerprint),
            moved_ns={
                **{identity: graph.at_ns for identity, graph in graphs.items()},
                **{result.event.event_id: result.at_ns for result in results},
            },
            before_ns=before_ns,
            bounds=_by(_bounds_of(log, architectures), lambda bound: bound.architecture_id),
            stored_ns={each: in_ns(at) for each, at in stored_at(architectures).items()},
        )


def _by(
    events: Iterable[Written[Kind]], key: Callable[[Kind], str]
) -> Mapping[str, Sequence[Written[Kind]]]:
    found: dict[str, list[Written[Kind]]] = defaultdict(list)
    for each in events:
        found[key(each.event)].append(each)
    return found


def results_of(
    log: EventLog, layers: Collection[str]
) -> tuple[Sequence[Written[LayerMeasured]], Mapping[str, int]]:
    """The results of these layers, and of each, by its id, when the runner wrote the one before, of
    whatever layer, or its system's description; 0 if it was the first.
    """
    found: list[Written[LayerMeasured]] = []
    described_ns: dict[str, int] = {}
    wrote_ns: dict[tuple[str, str], list[int]] = defaultdict(list)
    seen: set[str] = set()
    for event, at_ns in _read(log, RESULTS):
        if isinstance(event, SystemMeasured):
            described_ns.setdefault(event.system.system_id, at_ns)
        if not isinstance(event, LayerMeasured) or event.event_id in seen:
            continue
        seen.add(event.event_id)
        wrote_ns[event.system.system_id, event.precision].append(at_ns)
        if event.fingerprint in layers:
            found.append(Written(event, at_ns))
    for (system_id, _), times in wrote_ns.items():
        times += [described_ns[system_id]] if system_id in described_ns else []
        times.sort()
    before_ns = {}
    for event, at_ns in found:
        times = wrote_ns[event.system.system_id, event.precision]
        place = bisect_left(times, at_ns)
        before_ns[event.event_id] = times[place - 1] if place else 0
    return found, before_ns


def _bounds_of(log: EventLog, architectures: Collection[str]) -> Iterator[Written[BoundUpdated]]:
    """The versions of the bounds of these architectures."""
    seen: set[str] = set()
    for event, at_ns in _read(log, BOUNDS):
        if (
            isinstance(event, BoundUpdated)
            and event.architecture_id in architectures
            and event.event_id not in seen
        ):
            seen.add(event.event_id)
            yield Written(event, at_ns)


def layers_of(graph: ModelIngested) -> Iterator[str]:
    """The fingerprints of its layers and groups."""
    yield from (summary.fingerprint for summary in graph.summaries if summary.fingerprint)
    yield from (group.fingerprint for group in graph.groups)
