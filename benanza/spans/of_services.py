"""What the services did for a model, from its publication to its bounds, as one trace.

The log says it: each event has an id that follows from its causes, and its record has the time at
which it was written. So nothing has to be carried along, a record that was delivered twice counts
once, and what was done before anybody asked is there, too. The sink appends nothing: the store says
when it had a bound first.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from benanza.spans.records import ServiceRecords, StoredAt, Written, layers_of, written
from benanza.spans.trace import Attribute, SpanTrace, TraceSpan, span_id, within
from benanza_backbone.event_log.event_log import EventLog
from benanza_schemas.events import (
    BenchmarkRequested,
    CheckpointIngested,
    Event,
    LayerMeasured,
    LayerSeen,
    ModelPublished,
    event_id,
)
from benanza_schemas.topics import CHECKPOINTS

MOST_LINKS = 128
"""As many as OpenTelemetry's SDK keeps by default."""


def no_sink(_: Collection[str]) -> Mapping[str, datetime]:
    """Nothing is stored by a sink."""
    return {}


def service_traces(
    log: EventLog, models: Collection[str], stored_at: StoredAt = no_sink
) -> Iterator[SpanTrace]:
    """A trace for each model of these names, ids or SHA-256: at each batch size and dimensions,
    from its first publication on. Its id is the model's. Spans of the sink are those of bounds of
    which `stored_at` knows.

    Of a layer that another model brought before, the trace has nothing but a link to the other's.
    Raises `BenanzaError` if the log can't be read, and as `stored_at` does.
    """
    first: dict[str, Written[CheckpointIngested]] = {}
    asked = set(models)
    for checkpoint in written(log, CHECKPOINTS, CheckpointIngested).values():
        event = checkpoint.event
        if not asked.isdisjoint((event.name, event.model_id, event.sha256)):
            first.setdefault(event.model_id, checkpoint)
    if not first:
        return
    records = ServiceRecords.of(log, [checkpoint.event for checkpoint in first.values()], stored_at)
    for checkpoint in first.values():
        published = records.published.get(checkpoint.event.published_id)
        if published is not None:
            yield _trace(published, checkpoint, records)


def _trace(
    published: Written[ModelPublished],
    checkpoint: Written[CheckpointIngested],
    records: ServiceRecords,
) -> SpanTrace:
    model = checkpoint.event
    root = TraceSpan(
        span_id(model.model_id),
        "",
        f"services: {model.name}",
        published.at_ns,
        max(published.at_ns, checkpoint.at_ns),
        "services",
        {"benanza.model_id": model.model_id, "benanza.batch": model.batch},
    )
    ingest = _span(root, "ingest", published.at_ns, checkpoint.at_ns, checkpoint.event)
    graphs = records.graphs.get(model.architecture_id, ())
    distinct = dict.fromkeys(layer for graph in graphs for layer in layers_of(graph.event))
    owners = [records.owners[layer] for layer in distinct if layer in records.owners]
    own = [owner for owner in owners if owner.event.model_id == model.model_id]
    others = {owner.event.model_id for owner in owners} - {model.model_id}
    spans = [ingest]
    for seen in own:
        spans += _layer(seen, root, records)
    spans += _bounds(model, root, records)
    end_ns = max(span.end_ns for span in (root, *spans))
    bounds = records.bounds.get(model.architecture_id, ())
    full = min((bound.at_ns for bound in bounds if not bound.event.missing), default=None)
    attributes: dict[str, Attribute] = {
        **root.attributes,
        "benanza.layers": len(owners),
        "benanza.layers_of_others": len(owners) - len(own),
    }
    if full is not None:
        # Where the bound was there before, the model has it as soon as it is ingested.
        bound_ns = max(full, checkpoint.at_ns)
        attributes["benanza.publish_to_bound_us"] = (bound_ns - published.at_ns) / 1_000
    root = root._replace(end_ns=end_ns, attributes=attributes)
    ended = {root.span_id: root}
    for span in spans:
        ended[span.span_id] = within(span, ended[span.parent])
    return SpanTrace(model.model_id, tuple(ended.values()), tuple(sorted(others)[:MOST_LINKS]))


def _layer(
    seen: Written[LayerSeen], root: TraceSpan, records: ServiceRecords
) -> Iterator[TraceSpan]:
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
    """From the job to its result, and within it from the runner's result before. That is an upper
    limit, with one runner for each system and precision: the log doesn't tell several apart.
    """
    event = result.event
    runner = _span(layer, f"runner, {event.precision}", job.at_ns, result.at_ns, event)
    yield runner._replace(
        attributes={
            "benanza.system_id": event.system.system_id,
            "benanza.device": event.system.accelerator or event.system.cpu,
        },
        failure=event.failure,
    )
    yield _span(runner, "measuring", max(job.at_ns, before_ns), result.at_ns, event)


def _bounds(
    model: CheckpointIngested, root: TraceSpan, records: ServiceRecords
) -> Iterator[TraceSpan]:
    """From what moved each bound of the model's architecture until the bound was written, and from
    then until the sink had stored it.
    """
    for bound in records.bounds.get(model.architecture_id, ()):
        event = bound.event
        if bound.at_ns < root.start_ns:
            continue
        began_ns = records.moved_ns.get(event.cause, bound.at_ns)
        fusion = "" if event.fusion else ", no fusion"
        policy = f"{event.precision}, {event.accounting}{fusion}"
        span = _span(root, f"analyzer, {policy}", began_ns, bound.at_ns, event)
        yield span._replace(
            track="analyzer",
            attributes={
                "benanza.cause": event.cause,
                "benanza.system_id": event.system_id,
                "benanza.layers_missing": sum(len(each.layers) for each in event.missing),
            },
        )
        if event.event_id in records.stored_ns:
            # ClickHouse's clock may be behind the broker's.
            stored_ns = max(bound.at_ns, records.stored_ns[event.event_id])
            stored = _span(root, f"sink, {policy}", bound.at_ns, stored_ns, event)
            yield stored._replace(track="sink")


def _span(parent: TraceSpan, name: str, start_ns: int, end_ns: int, event: Event) -> TraceSpan:
    """The span that ended with this event, by whose id it has its own."""
    identity = span_id(name, parent.span_id, event.event_id)
    return TraceSpan(identity, parent.span_id, name, start_ns, end_ns, parent.track)
