"""What is known already: bounds and their history, without benchmarking anything."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from benanza.embedded import current_store
from benanza.inspection import limits_of
from benanza.request import Policy
from benanza.results import Bounds, History
from benanza.stored import model_ids, stored_bounds, stored_history
from benanza_backbone.settings import Settings
from benanza_backbone.store import Store


def known_bounds(
    settings: Settings, models: Sequence[str], policy: Policy, at: datetime | None
) -> Bounds:
    """The bounds of these models, or of all where none is named; now, or as they were.

    Raises `BenanzaError` for a model of which there is none.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        return Bounds(bounds=stored_bounds(store, ids, policy, at))


def known_history(settings: Settings, model: str, policy: Policy) -> History:
    """The versions of the bounds of a model. Raises `BenanzaError` if there is none."""
    with known_store(settings) as store:
        ids = model_ids(store, [model], limits_of(settings))
        return stored_history(store, ids, policy)


def known_store(settings: Settings) -> AbstractContextManager[Store]:
    """The store, with all that is known: over Kafka, the services see to that."""
    return Store.open(settings.clickhouse) if settings.kafka else current_store(settings)
