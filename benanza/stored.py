"""Bounds and their history, from the store."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from benanza.request import Policy
from benanza.results import Bound, BoundVersion, Coverage, History, MissingLayer, Slowed
from benanza_backbone import queries
from benanza_backbone.errors import BenanzaError
from benanza_backbone.store import Store
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.source import fetch

MODEL_IDS = """
SELECT DISTINCT model_id FROM models
WHERE name = {model:String} OR model_id = {model:String} OR sha256 = {model:String}
ORDER BY model_id
"""


def model_ids(store: Store, models: Sequence[str], limits: Limits) -> list[str]:
    """The ids of models, one for each batch size that they were run at.

    A model is named as for `run`, or by the name or id that a table of bounds shows. Raises
    `BenanzaError` for one that isn't in the store.
    """
    return [identity for model in models for identity in _ids_of(store, model, limits)]


def stored_bounds(
    store: Store, models: Sequence[str], policy: Policy, at: datetime | None = None
) -> tuple[Bound, ...]:
    """The bounds of these models by id, or of all, under a policy; now, or as they were."""
    return tuple(_bound(found) for found in store.bounds(models, at) if _meant(found, policy))


def stored_history(store: Store, models: Sequence[str], policy: Policy) -> History:
    """The versions of the bounds of these models by id, under a policy."""
    changes = [change for model in models for change in store.history(model)]
    return History(
        history=tuple(
            msgspec.convert(change, BoundVersion, from_attributes=True)
            for change in changes
            if _meant(change, policy)
        )
    )


def _meant(found: queries.Bound | queries.BoundChange, policy: Policy) -> bool:
    return (
        found.precision in policy.precisions
        and found.fusion == policy.fusion
        and found.accounting == policy.accounting
    )


def _ids_of(store: Store, model: str, limits: Limits) -> list[str]:
    found = _ids(store, model)
    if not found:
        try:
            found = _ids(store, fetch(model, limits).sha256)
        except ModelError as error:
            raise BenanzaError(f"no bounds are known for {model}, and {error}") from error
    if not found:
        raise BenanzaError(
            f"no bounds are known for {model}; say: benanza run {model}, "
            f"or benanza publish {model} where its layers are measured already"
        )
    return found


def _ids(store: Store, model: str) -> list[str]:
    return [row["model_id"] for row in store.query(MODEL_IDS, {"model": model})]


def _bound(found: queries.Bound) -> Bound:
    return Bound(
        model=found.model,
        model_id=found.model_id,
        batch=found.batch,
        dims=found.dims,
        system=found.system,
        system_id=found.system_id,
        runtime=found.runtime,
        precision=found.precision,
        accounting=found.accounting,
        fusion=found.fusion,
        layout=found.layout,
        sequential_us=found.sequential_us,
        sequential_spread_us=found.sequential_spread_us,
        parallel_us=found.parallel_us,
        parallel_spread_us=found.parallel_spread_us,
        roofline_us=found.roofline_us,
        attainable_us=found.attainable_us,
        partial=found.partial,
        layers=found.layers,
        unique_layers=found.unique_layers,
        coverage=Coverage(
            measured=len(found.measured),
            free=len(found.free),
            not_counted=len(found.not_counted),
            missing=tuple(
                MissingLayer(name=layer.name, op=layer.op, reason=layer.reason)
                for layer in found.missing
            ),
        ),
        slowed=Slowed(calls=found.slowed_calls, by=found.slowed_by),
        critical_path=found.critical_path,
    )
