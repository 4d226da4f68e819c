"""`benanza trace`: a trace that another profiler recorded, beside known layers."""

import hashlib
from contextlib import ExitStack
from pathlib import Path

import msgspec

from benanza.installation.configured import configured_log, known_store
from benanza.publishing.event import model_published
from benanza.publishing.inline import inline_content
from benanza.tracing.advice import advice_about
from benanza.tracing.beside_model import GivenModel, beside_model
from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.generated import fused_operators, moved_bytes
from benanza.tracing.known_times import (
    NOTHING_KNOWN,
    KnownTimes,
    bound_us,
    known_times,
    light_us,
    moving_us,
    was_tried,
)
from benanza.tracing.operators import TracedOperator
from benanza.tracing.recording import Recording, recording
from benanza.tracing.results import Match, TraceAnswer, TracedCalls, TraceTimes
from benanza.tracing.trace_model import TracedPart, TraceModel, trace_model
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.layer import Precision
from benanza_schemas.operators.facts import OperatorKind
from benanza_schemas.operators.table import facts_of

PREFIX = "trace:"
"""Begins the names of models that are published of traces."""


def trace_answer(
    file: Path,
    settings: Settings,
    *,
    publishes: bool = False,
    output: Path | None = None,
    given: GivenModel | None = None,
    precision: Precision | None = None,
) -> TraceAnswer:
    """What a trace shows, at a `precision` where it has shapes alone. `publishes` its operators as
    a model, or writes that to `output`.

    Raises `BenanzaError` if the file is no trace, if the log or the store can't be used, and if
    the model has no layers, can't be written or is too large for an event.
    """
    found = recording(file, precision)
    model = trace_model([(o.name, o.inputs) for o in found.operators], limits_of(settings))
    if (publishes or output is not None) and not any(part.layers for part in model.parts):
        raise BenanzaError(f"{file} has no operator that is a layer, so there is no model in it")
    name = f"{PREFIX}{file.name.partition('.')[0]}"
    if output is not None:
        _write(output, model)
    if publishes:
        _publish(name, model, settings)
    with ExitStack() as opened:
        store = None
        if settings.kafka is not None or settings.data.exists():
            store = opened.enter_context(known_store(settings))
        known = (
            known_times(store, model.parts, found.device, on_gpu=found.on_gpu)
            if store
            else NOTHING_KNOWN
        )
        said = answer(found, model, known, published=name if publishes else "")
        if given is None:
            return said
        beside = beside_model(given, said.calls, store, known.system_id)
        return msgspec.structs.replace(said, model=beside)


def answer(
    found: Recording, model: TraceModel, known: KnownTimes, *, published: str = ""
) -> TraceAnswer:
    """The operators of a trace beside what is known of their layers."""
    total_us = sum(map(found.us, found.operators)) + sum(each.us for each in found.unattributed)
    calls = tuple(
        _calls(found, operator, part, known, total_us)
        for operator, part in zip(found.operators, model.parts, strict=True)
    )
    times = found.times
    return TraceAnswer(
        file=str(found.file),
        format=found.format,
        device=found.device,
        on_gpu=found.on_gpu,
        times=TraceTimes(
            span_us=found.span_us,
            devices=times.devices,
            busy_us=times.busy_us,
            exposed_collectives_us=times.exposed_collectives_us,
            synchronisation_us=times.synchronisation_us,
            host_us=times.host_us,
            launching_us=times.launching_us,
            between_us=times.between_us,
            in_graphs_us=found.in_graphs_us,
        ),
        system=known.system,
        system_id=known.system_id,
        calls=calls,
        unattributed=found.unattributed,
        on_gpus=found.on_gpus,
        host_calls=found.host_calls,
        host_operators=found.host_operators,
        advice=advice_about(found, calls),
        left_out=dict(found.left_out),
        published=published,
    )


def _calls(
    found: Recording, operator: TracedOperator, part: TracedPart, known: KnownTimes, total_us: float
) -> TracedCalls:
    match, one_us, reason = _match(part, known)
    ceilings = known.ceilings.of(part.precision)
    us = found.us(operator)
    one_light_us = light_us(part, ceilings) if part.layers and ceilings else None
    fused = fused_operators(operator.name)
    if fused and ceilings:
        moved = moved_bytes(fused, operator.inputs)
        one_light_us = moving_us(moved, part.precision, ceilings) if moved else None
    return TracedCalls(
        name=operator.name,
        op="+".join(layer.op for layer in part.layers),
        kind=_kind(part),
        inputs=_shapes(operator.inputs),
        precision=part.precision,
        fingerprints=tuple(dict.fromkeys(one for way in part.ways for one in way)),
        calls=operator.calls,
        us=us,
        share=us / total_us if total_us else 0.0,
        host_us=operator.host_us,
        match=match,
        bound_us=None if one_us is None else one_us * operator.calls,
        light_us=None if one_light_us is None else one_light_us * operator.calls,
        reason=reason,
        kernels=tuple(operator.kernels),
        fused=fused,
    )


def _match(part: TracedPart, known: KnownTimes) -> tuple[Match, float | None, str]:
    if not part.layers:
        return "no layer", None, part.reason
    best_us = bound_us(part, known.best_us)
    if best_us is not None:
        return "measured", best_us, ""
    if was_tried(part, known.best_us):
        return "failed", None, "its layers were tried and have no time; benanza layers says why"
    return "waits", None, "its layers have no time on this device yet"


def _kind(part: TracedPart) -> OperatorKind:
    if not part.layers:
        return "unknown"
    costliest = max(part.layers, key=lambda layer: (layer.flops, layer.bytes))
    return facts_of(costliest.op, costliest.domain).kind


def _shapes(inputs: TracedInputs | None) -> tuple[tuple[int, ...], ...]:
    """Of an input that is several tensors, each one's."""
    shapes: list[tuple[int, ...]] = []
    for shape in inputs.shapes if inputs else ():
        several = tuple(each for each in shape if isinstance(each, tuple))
        shapes += several or [tuple(size for size in shape if isinstance(size, int))]
    return tuple(shapes)


def _write(output: Path, model: TraceModel) -> None:
    try:
        output.write_bytes(model.content)
    except OSError as error:
        raise BenanzaError(f"can't write {output} ({error.strerror}); name another file") from error


def _publish(name: str, model: TraceModel, settings: Settings) -> None:
    content = inline_content(model.content)
    if content is None:
        raise BenanzaError(
            f"{name} is too large for an event; write it with -o, and publish that file"
        )
    event = model_published(
        name=name,
        sha256=hashlib.sha256(model.content).hexdigest(),
        uri="",
        zoo="",
        batch_sizes=(),
        dims={},
        content=content,
    )
    with configured_log(settings) as log:
        log.append([as_message(event)])
