"""Bounds that are known, and what moved them. Nothing is benchmarked."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from benanza.installation.configured import known_store
from benanza.looking.model_ids import model_ids
from benanza.request import BoundPolicy
from benanza.results.bounds import Bounds, History
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of


def known_bounds(
    settings: Settings,
    models: Sequence[str],
    policy: BoundPolicy,
    dims: Mapping[str, int],
    at: datetime | None,
) -> Bounds:
    """The bounds of these models, or of all where none is named; now, or as they were.

    Only those whose named dimensions include `dims`. Raises `BenanzaError` for a model that has no
    bound.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        found = store.bounds(ids, at)
    return Bounds(bounds=tuple(each for each in found if is_meant(each, policy, dims)))


def known_history(
    settings: Settings, model: str, policy: BoundPolicy, dims: Mapping[str, int]
) -> History:
    """The versions of a model's bounds, only those whose named dimensions include `dims`.

    Raises `BenanzaError` for a model that has no bound.
    """
    with known_store(settings) as store:
        ids = model_ids(store, [model], limits_of(settings))
        found = [version for identity in ids for version in store.history(identity)]
    return History(history=tuple(each for each in found if is_meant(each, policy, dims)))


def is_meant(
    found: ModelBound | BoundVersion, policy: BoundPolicy, dims: Mapping[str, int]
) -> bool:
    """Whether the policy includes a bound, or a version of one, and it has these dimensions."""
    return policy.includes(found) and dims.items() <= found.dims.items()
