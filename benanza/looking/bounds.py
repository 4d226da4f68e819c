"""Bounds that are known, and what moved them. Nothing is benchmarked."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from benanza.installation.configured import known_store
from benanza.looking.model_ids import model_ids
from benanza.looking.without_bound import ingested_ids, models_without_bound, waiting_for_ingest
from benanza.request import BoundPolicy, has_dims
from benanza.results.bounds import History, KnownBounds
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.clickhouse.connection import parse_address
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.layer import Precision

Known = TypeVar("Known", ModelBound, BoundVersion)


def known_bounds(
    settings: Settings,
    models: Sequence[str],
    policy: BoundPolicy,
    dims: Mapping[str, int],
    at: datetime | None,
) -> KnownBounds:
    """The bounds of these models, or of all where none is named; now, or as they were.

    Only those whose named dimensions include `dims`. Now, models that have none yet are beside
    them. Raises `BenanzaError` for a model that is not ingested.
    """
    with known_store(settings) as store:
        ids = ingested_ids(store, models, settings)
        bounds = matching_bounds(store.bounds(ids, at, policy.accounting), policy, dims)
        bounded = {bound.model_id for bound in bounds}
        lacking = [identity for identity in ids if identity not in bounded]
        if at is None and (lacking or not models):
            without_bound = models_without_bound(store, lacking, policy, dims)
        else:
            without_bound = ()
    return KnownBounds(
        bounds=tuple(bounds),
        without_bound=without_bound,
        waiting_for_ingest=0 if bounds or at else waiting_for_ingest(settings),
    )


def brought_up_to_date(settings: Settings) -> KnownBounds | None:
    """All bounds, once the embedded store has all of the log: so that the next look need not wait.

    None where services do that, or where the store is a server that others ask, too.
    """
    if settings.kafka or parse_address(settings.clickhouse).folder is None:
        return None
    return known_bounds(settings, (), BoundPolicy(()), {}, None)


def known_history(
    settings: Settings, model: str, policy: BoundPolicy, dims: Mapping[str, int]
) -> History:
    """The versions of a model's bounds, only those whose named dimensions include `dims`.

    Raises `BenanzaError` for a model that has no bound.
    """
    with known_store(settings) as store:
        ids = model_ids(store, [model], limits_of(settings))
        versions = [version for identity in ids for version in store.history(identity)]
    return History(history=tuple(matching_bounds(versions, policy, dims)))


def newest(history: History, limit: int) -> History:
    """Of each bound's versions the newest so many."""
    left = Counter(_bound(stored) for stored in history.history)
    kept = []
    for version in history.history:
        key = _bound(version)
        if left[key] <= limit:
            kept.append(version)
        left[key] -= 1
    return History(history=tuple(kept))


def matching_bounds(
    bounds: Iterable[Known], policy: BoundPolicy, dims: Mapping[str, int]
) -> list[Known]:
    """The bounds, or versions of them, that the policy includes and that have these dimensions.

    If it names no precision, those of which no layer was measured are left out where the same model
    was measured at another precision on that system: nobody has asked for them.
    """
    matching = [bound for bound in bounds if matches_policy(bound, policy, dims)]
    if policy.precisions:
        return matching
    measured: dict[tuple[str, str], set[Precision]] = {}
    for bound in matching:
        if bound.sequential_us is not None:
            measured.setdefault((bound.model_id, bound.system_id), set()).add(bound.precision)
    return [
        bound
        for bound in matching
        if bound.precision in measured.get((bound.model_id, bound.system_id), (bound.precision,))
    ]


def matches_policy(
    bound: ModelBound | BoundVersion, policy: BoundPolicy, dims: Mapping[str, int]
) -> bool:
    """Whether the policy includes a bound, or a version of one, and it has these dimensions."""
    return policy.includes(bound) and has_dims(dims, batch=bound.batch, dims=bound.dims)


def _bound(version: BoundVersion) -> tuple[str, ...]:
    """Of which bound it is a version."""
    return version.model, version.model_id, version.system_id, version.precision
