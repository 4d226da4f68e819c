"""Bounds, those that are known and those that a run found; and what moved them."""

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound


class Bounds(Result, frozen=True, kw_only=True):
    """The bounds of some models."""

    bounds: tuple[ModelBound, ...]


class LayerCounts(Result, frozen=True, kw_only=True):
    """What reuse saved in a run. Groups count as layers, each precision by itself.

    `total` are the layers of all models, `unique` those that differ. Of these, `known` had
    been measured before, `benchmarked` were measured now, and `failed` cannot be measured.
    A run that was interrupted leaves some unique layers in none of the three.
    """

    total: int
    unique: int
    known: int
    benchmarked: int
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

    history: tuple[BoundVersion, ...]
