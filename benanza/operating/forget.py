"""`benanza forget`: models that are shown no more."""

from collections.abc import Mapping, Sequence

from benanza.installation.configured import configured_log, known_store
from benanza.looking.bounds import brought_up_to_date
from benanza.looking.model_ids import model_ids
from benanza.request import has_dims
from benanza.results.operating import ForgottenModel, ForgottenModels
from benanza_backbone.clickhouse.queries import NAMED_MODELS
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import ModelForgotten, event_id


def forget_models(
    settings: Settings, models: Sequence[str], dims: Mapping[str, int]
) -> ForgottenModels:
    """Appends that these models are forgotten, with these sizes if some are given; over Kafka, the
    sink takes them out of the store.

    Raises `BenanzaError` for a model that isn't known, or not with these sizes; if the log can't be
    reached; and as `known_store` does. Then nothing is forgotten.
    """
    with known_store(settings) as store:
        ids = {model: set(model_ids(store, [model], limits_of(settings))) for model in models}
        known = store.query(NAMED_MODELS, {"models": sorted(set().union(*ids.values()))})
    meant = [row for row in known if has_dims(dims, batch=row["batch"], dims=row["dims"])]
    for model in models:
        if ids[model].isdisjoint(row["model_id"] for row in meant):
            raise BenanzaError(f"{model} has no such sizes; leave out --batch, --dim and --value")
    time = now()
    with configured_log(settings) as log:
        log.append(
            [
                as_message(
                    ModelForgotten(
                        event_id=event_id("ModelForgotten", row["model_id"], time.isoformat()),
                        model_id=row["model_id"],
                        forgotten_at=time,
                    )
                )
                for row in meant
            ]
        )
    brought_up_to_date(settings)
    return ForgottenModels(
        models=tuple(
            ForgottenModel(
                model=row["names"], model_id=row["model_id"], batch=row["batch"], dims=row["dims"]
            )
            for row in meant
        )
    )
