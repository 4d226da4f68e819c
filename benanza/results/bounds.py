"""Bounds, those that are known and those that a run found; what moved them; and beside others."""

from typing import ClassVar

from benanza.results.result import Result
from benanza.results.what_if import WhatIfLayers
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.document import Document


class Bounds(Result, frozen=True, kw_only=True):
    """The bounds of some models."""

    _rows: ClassVar[str] = "bounds"

    bounds: tuple[ModelBound, ...]


class MeasuredSoFar(Document, frozen=True, kw_only=True):
    """How many of a model's unique layers and groups were measured, or tried, on a system at a
    precision.
    """

    system: str
    system_id: str
    precision: str
    layers: int


class ModelWithoutBound(Document, frozen=True, kw_only=True):
    """A model that is ingested and has no bound yet, with how far each system is that has begun.

    `layers` are the unique layers and groups that are to be measured.
    """

    model: str
    model_id: str
    batch: int
    dims: dict[str, int]
    layers: int
    measured: tuple[MeasuredSoFar, ...]


class KnownBounds(Bounds, frozen=True, kw_only=True):
    """The bounds that are known, and what has none yet.

    `waiting_for_ingest` counts published models; it is asked for only where no bound was found.
    """

    without_bound: tuple[ModelWithoutBound, ...]
    waiting_for_ingest: int


class LayerCounts(Result, frozen=True, kw_only=True):
    """What reuse saved in a run. Groups count as layers, each precision by itself.

    `total` are the layers of all models, `unique` those that differ. Of these, `known` had
    been measured before, `benchmarked` were measured now, `split` are groups that are no single
    call here, so that bounds count their layers one by one, and `failed` cannot be measured. A
    run that was interrupted leaves some unique layers in none of the four.

    A model counts once for each point of a sweep: of `models` in this sense, the one that has the
    most has `unique_of_model` unique layers, and `of_one_model` of `unique` are in one of them
    alone.
    """

    models: int
    total: int
    unique: int
    unique_of_model: int
    of_one_model: int
    known: int
    benchmarked: int
    split: int
    failed: int


class FailedModel(Result, frozen=True, kw_only=True):
    """A model that has no bound, and why. `model` is as the run was given it."""

    model: str
    reason: str


class LowerBounds(Bounds, frozen=True, kw_only=True):
    """The bounds that a run found, what it took, and what reuse saved.

    `seconds` holds the time that each stage of the pipeline took.
    """

    layers: LayerCounts
    seconds: dict[str, float]
    errors: tuple[FailedModel, ...]


class History(Result, frozen=True, kw_only=True):
    """The versions of a model's bounds, oldest first."""

    _rows: ClassVar[str] = "history"

    history: tuple[BoundVersion, ...]


class ComparedBound(Document, frozen=True, kw_only=True):
    """A bound beside another of the same model. `ratio` is the other's sequential figure divided by
    this one's, `None` where one of them lacks layers.

    `layers` are what takes another time there, most first. They are told for bounds as they are
    now; for others, `moved_by` are the versions between the two times, oldest first.
    """

    bound: ModelBound
    other: ModelBound
    ratio: float | None
    layers: tuple[WhatIfLayers, ...]
    moved_by: tuple[BoundVersion, ...]


class Comparison(Result, frozen=True, kw_only=True):
    """Bounds of some models beside others. `beside` says in words what is different there."""

    _rows: ClassVar[str] = "bounds"

    beside: str
    bounds: tuple[ComparedBound, ...]
