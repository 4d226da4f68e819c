"""Turns events into rows of the ClickHouse tables.

`benanza_schemas/clickhouse/*.sql` defines the tables; a row maps their columns to values.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import asdict

from benanza_schemas.events import (
    NOTHING_TRIED,
    AgentAnnounced,
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    CheckpointIngested,
    DeadLetter,
    DeadLetterSettled,
    EvaluationRequested,
    EvaluationTaken,
    Event,
    LayerKnown,
    LayerMeasured,
    LayerSeen,
    ModelEvaluated,
    ModelForgotten,
    ModelIngested,
    ModelProfiled,
    ModelPublished,
    ModelWitnessed,
    RecordingWithdrawn,
    RunTimes,
    SystemMeasured,
    Variant,
    device,
)
from benanza_schemas.layer import AttributeValue, Layer, TensorValue

Row = dict[str, object]

TABLES = (
    "architecture_layers",
    "architecture_edges",
    "architecture_groups",
    "architectures",
    "models",
    "layers",
    "measured_systems",
    "measurements",
    "architecture_bounds",
    "stored_bounds",
    "witnesses",
    "profile_calls",
    "profiles",
    "withdrawn_recordings",
    "taken_evaluations",
    "evaluations",
    "dead_letters",
)
"""In the order in which they are written: an architecture is in `architectures`, and a model in
`models`, after the layers are stored; and a bound is stored after it can be read."""


PARTS_OF_ARCHITECTURES = ("architecture_layers", "architecture_edges", "architecture_groups")
"""The tables whose number of rows for a model's own architecture may change when it is ingested
again."""


def rows(event: AnyEvent) -> dict[str, list[Row]]:
    """The rows of an event, by table. All rows of a table have the same keys.

    Some events have no table: services and commands read them from the event log.
    A layer in the table `layers` has a job, therefore; `benanza seed-known-layers` relies on that.
    """
    match event:
        case ModelIngested():
            return _architecture(event)
        case CheckpointIngested():
            return {"models": [_model(event, event.layer_names)]}
        case BenchmarkRequested():
            return {"layers": [_layer(event.fingerprint, event.layer)]}
        case SystemMeasured():
            return {"measured_systems": [_system(event)]}
        case LayerMeasured():
            return {"measurements": _measurements(event)}
        case BoundUpdated():
            stored: Row = {"event_id": event.event_id}  # the table itself knows when
            return {"architecture_bounds": [_bound(event)], "stored_bounds": [stored]}
        case ModelWitnessed():
            return {"witnesses": [_witness(event)]}
        case ModelProfiled():
            return {"profile_calls": _profile_calls(event), "profiles": [_profile(event)]}
        case RecordingWithdrawn():
            return {"withdrawn_recordings": [_withdrawn(event)]}
        case EvaluationTaken():
            return {"taken_evaluations": [_fields(event) | {"taken_at": utc(event.taken_at)}]}
        case ModelEvaluated():
            return {"evaluations": [_evaluation(event)]}
        case DeadLetter():
            return {"dead_letters": [_dead_letter(event)]}
        case DeadLetterSettled():
            return {"dead_letters": [_settled(event)]}
        case ModelPublished() | ModelForgotten() | LayerSeen() | LayerKnown():
            return {}
        case AgentAnnounced() | EvaluationRequested():
            return {}


def _model(event: ModelIngested | CheckpointIngested, layer_names: Sequence[str]) -> Row:
    return {
        "name": event.name,
        "model_id": event.model_id,
        "architecture_id": event.architecture_id,
        "zoo": event.zoo,
        "sha256": event.sha256,
        "opset": event.opset,
        "batch": event.batch,
        "dims": event.dims,
        "quantised": event.quantised,
        "tensor_parallel": event.tensor_parallel,
        "layers": len(layer_names),
        "layer_names": layer_names,
        "event_id": event.event_id,
    }


def _architecture(event: ModelIngested) -> dict[str, list[Row]]:
    identity = event.architecture_id
    architecture: Row = {
        "architecture_id": identity,
        "batch": event.batch,
        "layers": len(event.layers),
        "event_id": event.event_id,
    }
    layers: list[Row] = []
    for position, use in enumerate(event.layers):
        layers.append(
            {
                "architecture_id": identity,
                "position": position,
                "name": use.name,
                **asdict(event.summaries[use.summary]),
            }
        )
    edges: list[Row] = [
        {"architecture_id": identity, "source": source, "target": target}
        for source, target in event.edges
    ]
    groups: list[Row] = [
        {
            "architecture_id": identity,
            "position": position,
            **asdict(group),
        }
        for position, group in enumerate(event.groups)
    ]
    tables = {
        "architecture_layers": layers,
        "architecture_edges": edges,
        "architecture_groups": groups,
        "architectures": [architecture],
    }
    if has_its_own(event):
        tables["models"] = [_model(event, [use.name for use in event.layers])]
    return tables


def has_its_own(event: ModelIngested) -> bool:
    """Whether the model's architecture is its own, as before version 10: then no
    `CheckpointIngested` comes for it.
    """
    return event.architecture_id == event.model_id


def _layer(fingerprint: str, layer: Layer) -> Row:
    inputs = [layer.tensors[index] for index in layer.inputs()]
    outputs = [layer.tensors[index] for index in layer.outputs]
    return {
        "fingerprint": fingerprint,
        "title": layer.title(),
        "execution": layer.execution,
        "operators": [operator.op_type for operator in layer.operators],
        "domains": [operator.domain for operator in layer.operators],
        "versions": [operator.version for operator in layer.operators],
        "attributes": [
            {attribute.name: _text(attribute.value) for attribute in operator.attributes}
            for operator in layer.operators
        ],
        "input_shapes": [tensor.shape for tensor in inputs],
        "input_dtypes": [tensor.dtype for tensor in inputs],
        "input_constants": [tensor.constant for tensor in inputs],
        "output_shapes": [tensor.shape for tensor in outputs],
        "output_dtypes": [tensor.dtype for tensor in outputs],
    }


def _text(value: AttributeValue) -> str:
    """An attribute's value as text: `3`, `SAME_UPPER`, `[1, 1]`, `float32[2, 3]`."""
    if isinstance(value, TensorValue):
        return f"{value.dtype}{list(value.shape)}"
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _system(event: SystemMeasured) -> Row:
    return {
        **asdict(event.system),
        "imported_from": event.imported_from,
        "kinds": ",".join(
            sorted(f"{ceiling.name} {ceiling.precision}" for ceiling in event.ceilings)
        ),
        "ceilings.name": [ceiling.name for ceiling in event.ceilings],
        "ceilings.precision": [ceiling.precision for ceiling in event.ceilings],
        "ceilings.value": [ceiling.value for ceiling in event.ceilings],
        "ceilings.iqr": [ceiling.iqr for ceiling in event.ceilings],
        "cache_bytes": event.cache_bytes,
        "measured_at": utc(event.measured_at),
        "event_id": event.event_id,
    }


def _measurements(event: LayerMeasured) -> list[Row]:
    """A row per variant; if nothing could be tried, one row with the reason."""
    failure = event.failure or NOTHING_TRIED
    variants = event.variants or (Variant(library="", algorithm="", failure=failure),)
    shared: Row = {
        "fingerprint": event.fingerprint,
        "system_id": event.system.system_id,
        "precision": event.precision,
        "measured_at": utc(event.measured_at),
        "event_id": event.event_id,
        "environment": event.environment,
    }
    return [
        {**shared, "variant": position, **asdict(variant)}
        for position, variant in enumerate(variants)
    ]


def _fields(event: Event) -> Row:
    """What an event holds, but for the version that it was written in."""
    columns = asdict(event)
    del columns["schema_version"]
    return columns


def _bound(event: BoundUpdated) -> Row:
    return _fields(event) | {
        "computed_at": utc(event.computed_at),
        "missing": [(missing.reason, missing.layers) for missing in event.missing],
    }


def _witness(event: ModelWitnessed) -> Row:
    columns = _fields(event) | {"witnessed_at": utc(event.witnessed_at)}
    for name in ("sequential", "read_ahead", "parallel"):
        del columns[name]
        times: RunTimes | None = getattr(event, name)
        columns[f"{name}_us"] = times and times.median_us
        columns[f"{name}_iqr_us"] = times and times.iqr_us
        columns[f"{name}_samples_us"] = times.samples_us if times else ()
    return columns


def _profile(event: ModelProfiled) -> Row:
    system, times, looked_at = event.system, event.times, event.times_looked_at
    described = asdict(system)
    return {
        "model_id": event.model_id,
        "device": device(system),
        "precision": event.precision,
        "framework": described.pop("runtime"),
        **described,
        "version": system.libraries.get(system.runtime, ""),
        "configuration": event.configuration,
        "options": event.options,
        "batch": event.batch,
        "profiled_at": utc(event.profiled_at),
        "event_id": event.event_id,
        "median_us": times and times.median_us,
        "iqr_us": times and times.iqr_us,
        "samples_us": times.samples_us if times else (),
        "looked_at_us": looked_at and looked_at.median_us,
        "looked_at_iqr_us": looked_at and looked_at.iqr_us,
        "looked_at_samples_us": looked_at.samples_us if looked_at else (),
        "calls": len(event.calls),
        "environment": event.environment,
        "failure": event.failure,
    }


def _profile_calls(event: ModelProfiled) -> list[Row]:
    return [
        {
            "event_id": event.event_id,
            "position": position,
            **{name: value for name, value in asdict(call).items() if name != "kernels"},
            "kernels.name": [kernel.name for kernel in call.kernels],
            "kernels.start_us": [kernel.start_us for kernel in call.kernels],
            "kernels.median_us": [kernel.median_us for kernel in call.kernels],
        }
        for position, call in enumerate(event.calls)
    ]


def _evaluation(event: ModelEvaluated) -> Row:
    columns = _fields(event) | {"evaluated_at": utc(event.evaluated_at)}
    system = event.system
    described = asdict(system)
    del columns["system"]
    return columns | {
        "model": columns.pop("name"),
        "device": device(system),
        "framework": described.pop("runtime"),
        "version": system.libraries.get(system.runtime, ""),
        **described,
    }


def _withdrawn(event: RecordingWithdrawn) -> Row:
    return {
        "event_id": event.event_id,
        "digest": event.digest,
        "model_id": event.model_id,
        "withdrawn_at": utc(event.withdrawn_at),
    }


def _dead_letter(event: DeadLetter) -> Row:
    return {
        "dead_letter_id": event.event_id,
        "state": "open",
        "changed_at": utc(event.failed_at),
        "service": event.service,
        "topic": event.topic,
        "partition": event.partition,
        "offset": event.offset,
        "bytes": len(event.value),
        "reason": event.reason,
    }


def _settled(event: DeadLetterSettled) -> Row:
    return {
        "dead_letter_id": event.dead_letter_id,
        "state": event.action,
        "changed_at": utc(event.settled_at),
        "service": "",
        "topic": "",
        "partition": 0,
        "offset": 0,
        "bytes": 0,
        "reason": "",
    }


def utc(time: datetime) -> datetime:
    """The same time in UTC. A time without a zone counts as UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
