"""Events made again from their rows: what the analyzer needs to compute a model's bounds."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from benanza_backbone.clickhouse.queries import COUNTED
from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import (
    Ceiling,
    FrameworkCall,
    FrameworkKernel,
    Group,
    LayerMeasured,
    LayerSummary,
    LayerUse,
    ModelIngested,
    ModelProfiled,
    RunTimes,
    System,
    SystemMeasured,
    Variant,
)
from benanza_schemas.layer import Precision

MODEL = """
SELECT
    model_id, architecture_id, name, zoo, sha256, opset, batch, dims, quantised, tensor_parallel,
    layer_names
FROM known_models
WHERE model_id = {model:String}
ORDER BY name
LIMIT 1
"""

GRAPH = """
SELECT argMax(event_id, (stored_at, event_id)) AS event_id FROM architectures
WHERE architecture_id = {architecture:String}
"""

LAYERS = """
SELECT
    name, op, domain, kind, fingerprint, flops, bytes, parameters, reason, least_flops,
    least_weights, least_fixed
FROM architecture_layers FINAL
WHERE architecture_id = {architecture:String}
ORDER BY position
"""

EDGES = """
SELECT source, target FROM architecture_edges FINAL
WHERE architecture_id = {architecture:String}
ORDER BY source, target
"""

GROUPS = """
SELECT fingerprint, rule, layers, flops, bytes, least_flops FROM architecture_groups FINAL
WHERE architecture_id = {architecture:String}
ORDER BY position
"""

SYSTEM = "SELECT * FROM systems FINAL WHERE system_id = {system:String}"

MEASURED = """
    fingerprint, precision, measured_at, event_id, library, algorithm, layout, cache, minimum_us,
    median_us, iqr_us, stopped_by, workspace_bytes, layout_change_us, write_change_us,
    chosen_by_heuristic, failure,
    -- Nobody asks for all of them, and to read them takes longer than all the rest.
    arrayFilter(isNotNull, [median_us]) AS samples_us
"""
"""The columns of which a measurement is made."""

MEASUREMENTS = f"""
SELECT {MEASURED}, environment FROM measurements FINAL
WHERE system_id = {{system:String}}
  AND precision = {{precision:String}}
  AND fingerprint IN
  (
      SELECT fingerprint FROM architecture_layers WHERE architecture_id = {{architecture:String}}
      UNION ALL
      SELECT fingerprint FROM architecture_groups WHERE architecture_id = {{architecture:String}}
  )
  AND {COUNTED}
ORDER BY measured_at, event_id, variant
"""

BOUND_ID = """
SELECT event_id FROM architecture_bounds
WHERE architecture_id IN
      (SELECT architecture_id FROM model_architectures WHERE model_id = {model:String})
  AND system_id = {system:String} AND precision = {precision:String}
  AND accounting = 'full' AND fusion
ORDER BY claim DESC, computed_at DESC, event_id DESC
LIMIT 1
"""

PROFILED = """
SELECT model_id FROM model_architectures
WHERE model_id IN {models:Array(String)}
  AND architecture_id IN
  (
      SELECT architecture_id FROM model_architectures
      WHERE model_id IN (SELECT model_id FROM profiles)
  )
"""

PROFILES = """
SELECT * REPLACE ({model:String} AS model_id) FROM
(
    SELECT * FROM profiles FINAL
    WHERE model_id = {model:String} OR model_id IN
    (
        -- As ingest found it last: what a model was before is no model of its architecture now.
        SELECT model_id FROM model_architectures WHERE architecture_id IN
            (SELECT architecture_id FROM model_architectures WHERE model_id = {model:String})
    )
    ORDER BY isNull(median_us) > {failures:UInt8}, profiled_at DESC, event_id DESC
    LIMIT 1 BY device, precision, framework, version, configuration
)
ORDER BY profiled_at DESC, event_id DESC
"""

PROFILE_CALLS = """
SELECT
    event_id, name, op, layers, start_us, median_us, iqr_us,
    arrayZip(kernels.name, kernels.start_us, kernels.median_us) AS kernels
FROM profile_calls FINAL
WHERE event_id IN {events:Array(String)}
ORDER BY event_id, position
"""


def stored_model(store: Store, model_id: str) -> ModelIngested:
    """The layers of a model in the store, under the first of its names. Raises `BenanzaError` as
    all queries do, and `LookupError` if there is no such model.
    """
    model = next(iter(store.query(MODEL, {"model": model_id})), None)
    if model is None:
        raise LookupError(f"there is no model {model_id} in the store")
    architecture = {"architecture": model["architecture_id"]}
    names = model.pop("layer_names")
    summaries: dict[LayerSummary, int] = {}
    layers = []
    for position, row in enumerate(store.query(LAYERS, architecture)):
        name = row.pop("name")
        summary = msgspec.convert(row, LayerSummary)
        summary_at = summaries.setdefault(summary, len(summaries))
        # A checkpoint that is not of this architecture names other layers, or fewer.
        layers.append(LayerUse(summary_at, names[position] if position < len(names) else name))
    (graph,) = store.query(GRAPH, architecture)
    return ModelIngested(
        **model,
        event_id=graph["event_id"],
        summaries=tuple(summaries),
        layers=tuple(layers),
        edges=tuple((row["source"], row["target"]) for row in store.query(EDGES, architecture)),
        groups=tuple(msgspec.convert(store.query(GROUPS, architecture), list[Group])),
    )


def stored_system(store: Store, system_id: str) -> SystemMeasured:
    """The newest measurement of a system's ceilings. Raises as `stored_model` does."""
    row = next(iter(store.query(SYSTEM, {"system": system_id})), None)
    if row is None:
        raise LookupError(f"there is no system {system_id} in the store")
    rates = (row[f"ceilings.{field}"] for field in ("name", "precision", "value", "iqr"))
    names = (field.name for field in msgspec.structs.fields(System))
    return SystemMeasured(
        event_id=row["event_id"],
        system=System(**{name: row[name] for name in names}),
        measured_at=row["measured_at"],
        ceilings=tuple(Ceiling(*rate) for rate in zip(*rates, strict=True)),
        cache_bytes=row["cache_bytes"],
    )


def stored_measurements(
    store: Store, architecture_id: str, system: System, precision: Precision
) -> list[LayerMeasured]:
    """All measurements of an architecture's layers and groups on a system at a precision, oldest
    first. The samples of a variant are its median alone.
    """
    rows = store.query(
        MEASUREMENTS,
        {"architecture": architecture_id, "system": system.system_id, "precision": precision},
    )
    return measured_events(rows, system)


def measured_events(rows: Iterable[dict[str, Any]], system: System) -> list[LayerMeasured]:
    """The events of rows of `MEASURED` columns, those of an event one after the other."""
    return [
        _measured(list(of_event), system)
        for _, of_event in groupby(rows, key=lambda row: (row["measured_at"], row["event_id"]))
    ]


def _measured(rows: Sequence[dict[str, Any]], system: System) -> LayerMeasured:
    first = rows[0]
    variants = [
        msgspec.convert({n: row[n] for n in Variant.__struct_fields__}, Variant, strict=False)
        for row in rows
        if row["library"] or row["algorithm"]
    ]
    return LayerMeasured(
        event_id=first["event_id"],
        fingerprint=first["fingerprint"],
        system=system,
        precision=first["precision"],
        measured_at=first["measured_at"],
        variants=tuple(variants),
        environment=first.get("environment", {}),
        failure="" if variants else first["failure"],
    )


def stored_bound_id(store: Store, model_id: str, system_id: str, precision: Precision) -> str:
    """The event of the newest bound of a model with groups under the accounting `full`. Raises as
    `stored_model` does.
    """
    key = {"model": model_id, "system": system_id, "precision": precision}
    row = next(iter(store.query(BOUND_ID, key)), None)
    if row is None:
        raise LookupError(f"model {model_id} has no bound at {precision} on {system_id}")
    return str(row["event_id"])


def profiled_models(store: Store, models: Sequence[str]) -> list[str]:
    """Those of these models that have a profile, or of whose architecture another one has, each
    once and in this order.
    """
    profiled = {row["model_id"] for row in store.query(PROFILED, {"models": list(models)})}
    return [model for model in dict.fromkeys(models) if model in profiled]


def stored_profiles(store: Store, model_id: str, *, failures: bool = False) -> list[ModelProfiled]:
    """The newest profile of a model, or of another one of its architecture, on each device, at each
    precision, and in each framework with each configuration; the newest of all comes first. One
    that failed counts only where none has a time, or, with `failures`, as any other does. Raises
    `BenanzaError` as all queries do.
    """
    rows = store.query(PROFILES, {"model": model_id, "failures": int(failures)})
    calls: dict[str, list[FrameworkCall]] = {row["event_id"]: [] for row in rows}
    for row in store.query(PROFILE_CALLS, {"events": list(calls)}):
        kernels = tuple(FrameworkKernel(*kernel) for kernel in row.pop("kernels"))
        of = row.pop("event_id")
        calls[of].append(FrameworkCall(**row | {"layers": tuple(row["layers"])}, kernels=kernels))
    return [_profiled(row, calls[row["event_id"]]) for row in rows]


def _profiled(row: dict[str, Any], calls: Sequence[FrameworkCall]) -> ModelProfiled:
    names = (field.name for field in msgspec.structs.fields(System))
    system = {name: row[name] for name in names if name != "runtime"}
    same = "event_id model_id configuration options precision batch environment failure"
    return ModelProfiled(
        **{name: row[name] for name in same.split()},
        system=System(**system, runtime=row["framework"]),
        profiled_at=row["profiled_at"],
        times=_run_times(row, ""),
        times_looked_at=_run_times(row, "looked_at_"),
        calls=tuple(calls),
    )


def _run_times(row: dict[str, Any], kind: str) -> RunTimes | None:
    median_us = row[f"{kind}us" if kind else "median_us"]
    if median_us is None:
        return None
    return RunTimes(median_us, row[f"{kind}iqr_us"], tuple(row[f"{kind}samples_us"]))
