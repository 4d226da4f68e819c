"""`benanza bounds --compare`: bounds beside others of the same models, and what makes the
difference. Nothing is benchmarked.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.looking.what_if import differing_layers
from benanza.request import BoundPolicy, Other
from benanza.results.bounds import ComparedBound, Comparison
from benanza.results.what_if import WhatIfLayers
from benanza_analyzer.answers.differences import differences
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of


def known_comparison(
    settings: Settings,
    models: Sequence[str],
    policy: BoundPolicy,
    dims: Mapping[str, int],
    at: datetime | None,
    other: Other,
) -> Comparison:
    """The bounds that `known_bounds` gives beside the `other` ones of the same models.

    Raises `BenanzaError` as it does, and if there are no such other bounds.
    """
    there = policy._replace(precisions=(other.precision,)) if other.precision else policy
    if other.system:
        there = there._replace(system=other.system)
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        known = store.bounds(ids, at)
        here = matching_bounds(known, policy, dims)
        others = matching_bounds(store.bounds(ids, other.at or at), there, dims)
        pairs = [
            (bound, counterpart)
            for bound in here
            for counterpart in others
            if _is_wanted(other, bound, counterpart)
        ]
        if not pairs:
            raise BenanzaError(_nothing(other, policy, None if known else at, here, others))
        compared = [_compared(store, bound, counterpart, at, other) for bound, counterpart in pairs]
    return Comparison(beside=str(other), bounds=tuple(compared))


def _is_wanted(other: Other, bound: ModelBound, counterpart: ModelBound) -> bool:
    """Whether a bound is the same but for what is to be different."""
    if (counterpart.model, counterpart.model_id) != (bound.model, bound.model_id):
        return False
    same_system, same_precision = (
        counterpart.system_id == bound.system_id,
        counterpart.precision == bound.precision,
    )
    if other.system:
        return not same_system and same_precision and counterpart.system_id.startswith(other.system)
    if other.precision:
        return same_system and not same_precision
    return same_system and same_precision


def _nothing(
    other: Other,
    policy: BoundPolicy,
    at: datetime | None,
    here: Sequence[ModelBound],
    others: Sequence[ModelBound],
) -> str:
    if at is not None:  # nothing at all was known then
        return f"no bounds were known at {at:%Y-%m-%d %H:%M:%S}; leave out --at"
    if not here:
        return "no bounds are known to compare; say: benanza run MODEL"
    if other.precision and policy.precisions == (other.precision,):
        return f"{other.precision} is the precision that was asked for; compare with another one"
    if other.system:
        ids = sorted({bound.system_id[:8] for bound in others})
        return f"no bounds are known of another system {other.system}; known are {', '.join(ids)}"
    return f"no bounds of the same models are known {other}; benanza history shows since when"


def _compared(
    store: Store, bound: ModelBound, counterpart: ModelBound, at: datetime | None, other: Other
) -> ComparedBound:
    whole = not (bound.partial or counterpart.partial)
    us, other_us = bound.sequential_us, counterpart.sequential_us
    layers: tuple[WhatIfLayers, ...] = ()
    moved_by: tuple[BoundVersion, ...] = ()
    if at is not None or other.at is not None:
        moved_by = _versions_between(store, bound, at, other.at or at)
    elif whole:
        layers = _differing(store, bound, counterpart)
    return ComparedBound(
        bound=bound,
        other=counterpart,
        ratio=other_us / us if whole and us and other_us is not None else None,
        layers=layers,
        moved_by=moved_by,
    )


def _differing(
    store: Store, bound: ModelBound, counterpart: ModelBound
) -> tuple[WhatIfLayers, ...]:
    here, there = (StoredBound.of(store, side) for side in (bound, counterpart))
    covers = (side.cover(fusion=bound.fusion).calls for side in (there, here))
    return differing_layers(differences(*covers), here.model)


def _versions_between(
    store: Store, bound: ModelBound, one: datetime | None, other: datetime | None
) -> tuple[BoundVersion, ...]:
    """Those of the bound after the earlier of the times and not after the later; `None` is now."""
    now = datetime.now(UTC)
    begin, end = sorted((one or now, other or now))
    wanted = (bound.model, bound.system_id, bound.precision, bound.accounting, bound.fusion)
    return tuple(
        version
        for version in store.history(bound.model_id)
        if (version.model, version.system_id, version.precision, version.accounting, version.fusion)
        == wanted
        and begin < version.computed_at <= end
    )
