"""Models that have no bound yet: how far they are."""

from collections.abc import Mapping, Sequence

from benanza.installation.configured import configured_log
from benanza.looking.model_ids import model_ids
from benanza.render.units import plural
from benanza.request import BoundPolicy, has_dims
from benanza.results.bounds import MeasuredSoFar, ModelWithoutBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.unbounded_queries import MEASURED, MODELS
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, INGEST


def ingested_ids(store: Store, models: Sequence[str], settings: Settings) -> list[str]:
    """What `model_ids` finds; if it raises `BenanzaError`, with how many models wait for ingest."""
    try:
        return model_ids(store, models, limits_of(settings))
    except BenanzaError as error:
        if waiting := waiting_for_ingest(settings):
            raise BenanzaError(
                f"{error}; {plural(waiting, 'published model')} still "
                f"{'waits' if waiting == 1 else 'wait'} for ingest"
            ) from error
        raise


def models_without_bound(
    store: Store, ids: Sequence[str], policy: BoundPolicy, dims: Mapping[str, int]
) -> tuple[ModelWithoutBound, ...]:
    """The ingested models of these ids, or of all, that have no bound which the policy includes.

    Only those whose named dimensions include `dims`. Raises `BenanzaError` if the store can't be
    asked.
    """
    asked = {
        "models": list(ids),
        "precisions": list(policy.precisions),
        "accounting": policy.accounting,
        "fusion": policy.fusion,
    }
    models = store.query(MODELS, asked)
    measured: dict[str, list[MeasuredSoFar]] = {}
    for row in store.query(MEASURED, asked) if models else ():
        measured.setdefault(row.pop("architecture_id"), []).append(MeasuredSoFar(**row))
    return tuple(
        ModelWithoutBound(measured=tuple(measured.get(row.pop("architecture_id"), ())), **row)
        for row in models
        if has_dims(dims, batch=row["batch"], dims=row["dims"])
    )


def waiting_for_ingest(settings: Settings) -> int:
    """How many published models wait for ingest over Kafka; 0 where it doesn't answer.

    An embedded store has all that were published.
    """
    if settings.kafka is None:
        return 0
    try:
        with configured_log(settings) as log:
            return sum(log.waiting(*CONSUMER_GROUPS[INGEST]).values())
    except BenanzaError:
        return 0  # The store answers, and what it has is worth showing.
