"""What the services did for a model, from its publication to its bounds, as one trace.

The log says it: each event has an id that follows from its causes, and its record has the time at
which it was written. So nothing has to be carried along, a record that was delivered twice counts
once, and what was done before anybody asked is there, too.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from benanza.spans.trace import Attribute, SpanTrace, TraceSpan, span_id, within
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
    event_id,
)
from benanza_schemas.topics import BOUNDS, CHECKPOINTS, GRAPHS, JOBS, LAYERS, MODELS, RESULTS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

MOST_LINKS = 128
"""As many as OpenTelemetry's SDK keeps by default."""

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
    for record, event in readable(log, topic, wanted):
        if isinstance(event, kind):
            at_ns = (record.timestamp - EPOCH) // MICROSECOND * 1_000
            found.setdefault(event.event_id, Written(event, at_ns))
    return found


def service_traces(log: EventLog, model: str) -> Iterator[SpanTrace]:
    """A trace for each model of this name, id or SHA-256: at each batch size and dimensions, from
    its first publication on. Its id is the model's.

    Of a layer that another model brought before, the trace has nothing but a link to the other's.
    Raises `BenanzaError` if the log can't be read.
    """
    first: dict[str, Written[CheckpointIngested]] = {}
    for checkpoint in written(log, CHECKPOINTS, CheckpointIngested).values():
        if model in (checkpoint.event.name, checkpoint.event.model_id, checkpoint.event.sha256):
            first.setdefault(checkpoint.event.model_id, checkpoint)
    if not first:
        return
    records = _Records.of(log, [checkpoint.event for checkpoint in first.values()])
    for checkpoint in first.values():
        published = records.published.get(checkpoint.event.published_id)
        if published is not None:
            yield _trace(published, checkpoint, records)


class _Records(NamedTuple):
    """What the log has of some models: events by their ids; jobs and results by their layers.

    `owners` are the events that brought each layer first. `before_ns` says of a result, by its id,
    when the runner wrote the one before, or its system's description.
    """

    published: Mapping[str, Written[ModelPublished]]
    graphs: Mapping[str, Written[ModelIngested]]
    owners: Mapping[str, Written[LayerSeen]]
    jobs: Mapping[str, Sequence[Written[BenchmarkRequested]]]
    results: Mapping[str, Sequence[Written[LayerMeasured]]]
    before_ns: Mapping[str, int]
    bounds: Mapping[str, Written[BoundUpdated]]

    @classmethod
    def of(cls, log: EventLog, models: Collection[CheckpointIngested]) -> "_Records":
        graphs = written(log, GRAPHS, ModelIngested, {each.architecture_id for each in models})
        layers = {layer for graph in graphs.values() for layer in _layers(graph.event)}
        owners: dict[str, Written[LayerSeen]] = {}
        for seen in written(log, LAYERS, LayerSeen, layers).values():
            owners.setdefault(seen.event.fingerprint, seen)
        jobs: dict[str, list[Written[BenchmarkRequested]]] = defaultdict(list)
        for job in written(log, JOBS, BenchmarkRequested, layers).values():
            jobs[job.event.fingerprint].append(job)
        results: dict[str, list[Written[LayerMeasured]]] = defaultdict(list)
        before_ns: dict[str, int] = {}
        last_ns: dict[tuple[str, str], int] = {}
        measured = written(log, RESULTS, LayerMeasured, layers).values()
        described = _described(log, {result.event.system.system_id for result in measured})
        for result in measured:
            system_id = result.event.system.system_id
            runner = system_id, result.event.precision
            results[result.event.fingerprint].append(result)
            described_ns = described.get(system_id, 0)
            before_ns[result.event.event_id] = max(
                last_ns.get(runner, 0), described_ns if described_ns <= result.at_ns else 0
            )
            last_ns[runner] = result.at_ns
        return cls(
            published=written(log, MODELS, ModelPublished, {each.sha256 for each in models}),
            graphs=graphs,
            owners=owners,
            jobs=jobs,
            results=results,
            before_ns=before_ns,
            bounds=written(log, BOUNDS, BoundUpdated),
        )


def _described(log: EventLog, systems: Collection[str]) -> dict[str, int]:
    """When each of these systems was described first."""
    first: dict[str, int] = {}
    for described in written(log, RESULTS, SystemMeasured, systems).values():
        first.setdefault(described.event.system.system_id, described.at_ns)
    return first


def _layers(graph: ModelIngested) -> Iterator[str]:
    """The fingerprints of its layers and groups."""
    yield from (summary.fingerprint for summary in graph.summaries if summary.fingerprint)
    yield from (group.fingerprint for group in graph.groups)


def _trace(
    published: Written[ModelPublished], checkpoint: Written[CheckpointIngested], records: _Records
) -> SpanTrace:
    model = checkpoint.event
    root = TraceSpan(
        span_id(model.model_id),
        "",
        f"publish to bound: {model.name}",
        published.at_ns,
        max(published.at_ns, checkpoint.at_ns),
        "services",
        {"benanza.model_id": model.model_id, "benanza.batch": model.batch},
    )
    ingest = _span(root, "ingest", published.at_ns, checkpoint.at_ns, checkpoint.event)
    fingerprints = [
        layer
        for graph in records.graphs.values()
        if graph.event.architecture_id == model.architecture_id
        for layer in _layers(graph.event)
    ]
    distinct = dict.fromkeys(fingerprints)
    owners = [records.owners[layer] for layer in distinct if layer in records.owners]
    own = [owner for owner in owners if owner.event.model_id == model.model_id]
    others = {owner.event.model_id for owner in owners} - {model.model_id}
    spans = [ingest]
    for seen in own:
        spans += _layer(seen, root, records)
    spans += _bounds(model, root, records)
    end_ns = max(span.end_ns for span in (root, *spans))
    full = [
        bound.at_ns
        for bound in records.bounds.values()
        if bound.event.architecture_id == model.architecture_id
        and not bound.event.missing
        and bound.at_ns >= published.at_ns
    ]
    attributes: dict[str, Attribute] = {
        **root.attributes,
        "benanza.layers": len(owners),
        "benanza.layers_of_others": len(owners) - len(own),
    }
    if full:
        attributes["benanza.publish_to_bound_us"] = (min(full) - published.at_ns) / 1_000
    root = root._replace(end_ns=end_ns, attributes=attributes)
    ended = {root.span_id: root}
    for span in spans:
        ended[span.span_id] = within(span, ended[span.parent])
    return SpanTrace(model.model_id, tuple(ended.values()), tuple(sorted(others)[:MOST_LINKS]))


def _layer(seen: Written[LayerSeen], root: TraceSpan, records: _Records) -> Iterator[TraceSpan]:
    """A layer or group that the model brought, until its last result: dedupe, and each runner's
    work on it, from when it was asked for.
    """
    fingerprint = seen.event.fingerprint
    layer = _span(root, seen.event.layer.title(), seen.at_ns, seen.at_ns, seen.event)
    layer = layer._replace(track="layers", attributes={"benanza.fingerprint": fingerprint})
    steps = []
    for job in records.jobs.get(fingerprint, ()):
        if not job.event.after:
            steps.append(_span(layer, "dedupe", seen.at_ns, job.at_ns, job.event))
        for result in records.results.get(fingerprint, ()):
            if _follows(result, job):
                before_ns = records.before_ns[result.event.event_id]
                steps += _measured(result, job, layer, before_ns)
    yield layer._replace(end_ns=max([layer.end_ns, *(step.end_ns for step in steps)]))
    yield from steps


def _follows(result: Written[LayerMeasured], job: Written[BenchmarkRequested]) -> bool:
    """Whether the job was asked for, and then measured; what was imported was measured before."""
    event = result.event
    identity = event_id(
        "LayerMeasured", job.event.event_id, event.system.system_id, event.precision
    )
    return event.event_id == identity and result.at_ns >= job.at_ns


def _measured(
    result: Written[LayerMeasured],
    job: Written[BenchmarkRequested],
    layer: TraceSpan,
    before_ns: int,
) -> Iterator[TraceSpan]:
    """From the job to its result, and within it from the runner's result before."""
    event = result.event
    runner = _span(layer, f"runner, {event.precision}", job.at_ns, result.at_ns, event)
    yield runner._replace(
        attributes={
            "benanza.system_id": event.system.system_id,
            "benanza.device": event.system.accelerator or event.system.cpu,
            **({"benanza.failure": event.failure} if event.failure else {}),
        }
    )
    yield _span(runner, "measuring", max(job.at_ns, before_ns), result.at_ns, event)


def _bounds(model: CheckpointIngested, root: TraceSpan, records: _Records) -> Iterator[TraceSpan]:
    """From what moved each bound of the model's architecture until the bound was written."""
    moved_ns = {identity: graph.at_ns for identity, graph in records.graphs.items()}
    for results in records.results.values():
        moved_ns |= {result.event.event_id: result.at_ns for result in results}
    for bound in records.bounds.values():
        event = bound.event
        if event.architecture_id != model.architecture_id or bound.at_ns < root.start_ns:
            continue
        began_ns = moved_ns.get(event.cause, bound.at_ns)
        fusion = "" if event.fusion else ", no fusion"
        name = f"analyzer, {event.precision}, {event.accounting}{fusion}"
        span = _span(root, name, began_ns, bound.at_ns, event)
        yield span._replace(
            track="analyzer",
            attributes={
                "benanza.cause": event.cause,
                "benanza.system_id": event.system_id,
                "benanza.layers_missing": sum(len(each.layers) for each in event.missing),
            },
        )


def _span(parent: TraceSpan, name: str, start_ns: int, end_ns: int, event: Event) -> TraceSpan:
    """The span that ended with this event, by whose id it has its own."""
    identity = span_id(name, parent.span_id, event.event_id)
    return TraceSpan(identity, parent.span_id, name, start_ns, end_ns, parent.track)
