"""`benanza explain`: where the time of a bound goes. Nothing is benchmarked."""

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.calls.forms import CallForm, forms_of
from benanza.looking.calls.memory import Held, held
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.request import BoundPolicy
from benanza.results.explain import ExplainedCall, Explanation, Explanations
from benanza_analyzer.answers.calls import Call
from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_analyzer.limits.speed_of_light import BYTES_KEPT, speed_of_light, work_of_call
from benanza_analyzer.measurements import STARTED_US, fastest
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import Limit, Variant
from benanza_schemas.layer import Precision


def known_explanations(
    settings: Settings, models: Sequence[str], policy: BoundPolicy, dims: Mapping[str, int]
) -> Explanations:
    """The calls of the bounds of these models, only of those whose named dimensions include `dims`.

    The cover is computed as the analyzer does it, from what the store holds. Raises `BenanzaError`
    for a model that has no bound.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        bounds = matching_bounds(store.bounds(ids), policy, dims)
        stored = [StoredBound.of(store, bound) for bound in bounds]
        forms = forms_of(store, stored)
    return Explanations(explanations=tuple(explained(each, forms) for each in stored))


def explained(stored: StoredBound, forms: Mapping[str, CallForm]) -> Explanation:
    """The calls of a bound, those that take the longest first. What they hold in memory is known if
    their `forms` are, by fingerprint.
    """
    measured, ceilings = stored.by_layer(), stored.ceilings()
    groups = stored.model.groups
    rules = {(tuple(sorted(group.layers)), group.fingerprint): group.rule for group in groups}
    cover = stored.cover(fusion=stored.bound.fusion)
    memory = held(cover.calls, stored.model.edges, forms, stored.bound.precision)
    calls = []
    for order, call in enumerate(cover.calls):
        best = fastest(measured.get(call.fingerprint, ()), cover.layouts[call.positions])
        holds = memory[order] if memory else None
        calls.append(_call(call, order, holds, best and best[1], stored, rules, ceilings))
    return Explanation(bound=stored.bound, calls=tuple(sorted(calls, key=_longest_first)))


def _longest_first(call: ExplainedCall) -> tuple[float, tuple[int, ...]]:
    return -call.share, call.positions


def _call(
    call: Call,
    order: int,
    holds: Held | None,
    variant: Variant | None,
    stored: StoredBound,
    rules: Mapping[tuple[tuple[int, ...], str], str],
    ceilings: PlatformCeilings | None,
) -> ExplainedCall:
    model = stored.model
    uses = [model.layers[position] for position in call.positions]
    roofline_us, limited_by = _speed_of_light(call, ceilings, stored.bound.precision)
    total_us = stored.bound.sequential_us or math.inf
    return ExplainedCall(
        **asdict(call),
        layers=tuple(use.name for use in uses),
        op="+".join(model.summaries[use.summary].op for use in uses),
        rule=rules.get((tuple(sorted(call.positions)), call.fingerprint), ""),
        share=(call.us + call.conversion_us) / total_us,
        library=variant.library if variant else "",
        algorithm=variant.algorithm if variant else "",
        layout=variant.layout if variant else "",
        roofline_us=roofline_us,
        limited_by=limited_by,
        order=order,
        constant_bytes=holds.constants if holds else None,
        alive_bytes=holds.values if holds else None,
    )


def _speed_of_light(
    call: Call, ceilings: PlatformCeilings | None, precision: Precision
) -> tuple[float, Limit] | tuple[None, None]:
    """The least time of a call in microseconds, no more than it took, and what limits it; a call
    that starts nothing takes none.
    """
    if ceilings is None:
        return None, None
    bytes_moved = call.bytes / BYTES_KEPT[precision]
    found = speed_of_light(work_of_call(bytes_moved, call.least_flops), ceilings, precision)
    return min(found.us, call.us) if call.us >= STARTED_US else 0.0, found.limited_by
