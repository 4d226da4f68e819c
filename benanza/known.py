"""What is known already: bounds and their history, without benchmarking anything."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from benanza.embedded import current_store
from benanza.request import Policy
from benanza.results import Bound, Bounds, BoundVersion, History
from benanza.stored import model_ids, stored_bounds, stored_history
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_backbone.store import Store
from benanza_ingest.limits import limits_of


def known_bounds(
    settings: Settings,
    models: Sequence[str],
    policy: Policy,
    dims: Mapping[str, int],
    at: datetime | None,
) -> Bounds:
    """The bounds of these models, or of all where none is named; now, or as they were.

    Those of them with these dimensions, whatever the others are. Raises `BenanzaError` for a
    model of which there is none.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        found = stored_bounds(store, ids, policy, at)
    return Bounds(bounds=tuple(bound for bound in found if _has(bound, dims)))


def known_history(
    settings: Settings, model: str, policy: Policy, dims: Mapping[str, int]
) -> History:
    """The versions of the bounds of a model with these dimensions, whatever the others are.

    Raises `BenanzaError` if no bound of the model is known.
    """
    with known_store(settings) as store:
        ids = model_ids(store, [model], limits_of(settings))
        found = stored_history(store, ids, policy)
    return History(history=tuple(version for version in found.history if _has(version, dims)))


def known_store(settings: Settings) -> AbstractContextManager[Store]:
    """The store, with all that is known: over Kafka, the services see to that.

    Raises `BenanzaError` where there is none: who only looks makes no folder, least of all one
    whose name was misspelt.
    """
    if settings.kafka:
        return Store.open(settings.clickhouse, migrates=False)
    if not settings.data.exists():
        raise BenanzaError(
            f"nothing is known yet: there is no folder {settings.data}; "
            "name another one, or say: benanza run MODEL"
        )
    return current_store(settings)


def _has(found: Bound | BoundVersion, dims: Mapping[str, int]) -> bool:
    return dims.items() <= found.dims.items()
