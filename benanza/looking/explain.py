"""`benanza explain`: where the time of a bound goes. Nothing is benchmarked."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from benanza.installation.configured import known_store
from benanza.looking.bounds import is_meant
from benanza.looking.model_ids import model_ids
from benanza.request import BoundPolicy
from benanza.results.explanations import ExplainedCall, Explanation, Explanations, Limit
from benanza_analyzer.calls import Call
from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.measurements import fastest
from benanza_analyzer.roofline import BYTES_KEPT, MICROSECONDS
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import (
    stored_measurements,
    stored_model,
    stored_system,
)
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import CeilingName, LayerMeasured, ModelIngested, SystemMeasured


def known_explanations(
    settings: Settings, models: Sequence[str], policy: BoundPolicy, dims: Mapping[str, int]
) -> Explanations:
    """The calls of the bounds of these models, only of those whose named dimensions include `dims`.

    The cover is computed as the analyzer does it, from what the store holds. Raises `BenanzaError`
    for a model that has no bound.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        bounds = [each for each in store.bounds(ids) if is_meant(each, policy, dims)]
        return Explanations(explanations=tuple(_explained(store, bound) for bound in bounds))


def _explained(store: Store, bound: ModelBound) -> Explanation:
    known = _Known.of(store, bound)
    analyzer = Analyzer()
    events: list[AnalyzerEvent] = [known.model, known.system, *known.measurements]
    for event in events:
        analyzer.restore(event)
    calls = analyzer.calls(
        bound.model_id, bound.system_id, bound.precision, bound.accounting, fusion=bound.fusion
    )
    measured: dict[str, list[LayerMeasured]] = defaultdict(list)
    for measurement in known.measurements:
        measured[measurement.fingerprint].append(measurement)
    explained = [_call(each, bound, known, measured[each.fingerprint]) for each in calls]
    return Explanation(bound=bound, calls=tuple(sorted(explained, key=_longest_first)))


def _longest_first(call: ExplainedCall) -> tuple[float, tuple[int, ...]]:
    return -call.share, call.positions


class _Known(NamedTuple):
    """What the store holds about a bound. `rules` are those that proposed the model's groups, by
    the sorted positions of the layers; `ceilings` are those at the bound's precision.
    """

    model: ModelIngested
    system: SystemMeasured
    measurements: list[LayerMeasured]
    rules: dict[tuple[int, ...], str]
    ceilings: dict[CeilingName, float]

    @classmethod
    def of(cls, store: Store, bound: ModelBound) -> "_Known":
        model = stored_model(store, bound.model_id)
        system = stored_system(store, bound.system_id)
        return cls(
            model,
            system,
            stored_measurements(store, bound.model_id, system.system, bound.precision),
            {tuple(sorted(group.layers)): group.rule for group in model.groups},
            {
                each.name: each.value
                for each in system.ceilings
                if each.precision == bound.precision
            },
        )


def _call(
    call: Call, bound: ModelBound, known: _Known, measured: Sequence[LayerMeasured]
) -> ExplainedCall:
    best = fastest(measured, call.layout)
    variant = best[1] if best else None
    uses = [known.model.layers[at] for at in call.positions]
    moved = call.bytes * BYTES_KEPT[bound.precision]
    roofline_us, limited_by = _roofline(call.flops, moved, known.ceilings)
    total_us = bound.sequential_us or math.inf
    return ExplainedCall(
        positions=call.positions,
        layers=tuple(use.name for use in uses),
        op="+".join(known.model.summaries[use.summary].op for use in uses),
        rule=known.rules.get(tuple(sorted(call.positions)), ""),
        fingerprint=call.fingerprint,
        us=call.us,
        iqr_us=call.iqr_us,
        conversion_us=call.conversion_us,
        share=(call.us + call.conversion_us) / total_us,
        library=variant.library if variant else "",
        algorithm=variant.algorithm if variant else "",
        layout=variant.layout if variant else "",
        flops=call.flops,
        bytes=moved,
        roofline_us=roofline_us,
        limited_by=limited_by,
        critical=call.critical,
    )


def _roofline(
    flops: int, moved: float, ceilings: Mapping[CeilingName, float]
) -> tuple[float, Limit] | tuple[None, None]:
    """The least time of a call in microseconds, and what limits it."""
    if len(ceilings) < len(get_args(CeilingName)):
        return None, None
    memory_us = moved / ceilings["bandwidth"] * MICROSECONDS
    compute_us = flops / ceilings["flops"] * MICROSECONDS
    return (memory_us, "memory") if memory_us >= compute_us else (compute_us, "compute")
