"""Bounds that are predicted for a GPU on which nothing was measured."""

from typing import ClassVar

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import MissingLayer
from benanza_backbone.document import Document
from benanza_schemas.layer import Accounting, Precision


class PredictedBound(Document, frozen=True, kw_only=True):
    """A model's bound as it is predicted for a GPU.

    The true one is taken to lie between `low_us` and `high_us`, which `error_bar` divides and
    multiplies the sequential figure by; `error_bar_learned` says from what. Where layers are
    `missing`, as on the system that it is learned from, the bound is `partial`, and the true one is
    larger. `learned_from` is that system's name, `learned_from_id` its id, `measured_there_us` the
    model's sequential bound as measured there. `dims` is that of `ModelBound`.
    """

    model: str
    model_id: str
    batch: int
    dims: dict[str, int]
    precision: Precision
    accounting: Accounting
    fusion: bool
    predicted_sequential_us: float
    low_us: float
    high_us: float
    predicted_parallel_us: float
    error_bar: float
    error_bar_learned: str
    learned_from: str
    learned_from_id: str
    runtime: str
    measured_there_us: float
    partial: bool
    layers: int
    missing: tuple[MissingLayer, ...]


class NotPredicted(Document, frozen=True, kw_only=True):
    """A measured bound from which nothing is predicted, and why."""

    model: str
    model_id: str
    batch: int
    precision: Precision
    system: str
    system_id: str
    reason: str


class PredictedBounds(Result, frozen=True, kw_only=True):
    """Bounds that are predicted for the GPU `on`, whose `figures` are of a data sheet or measured,
    and the measured ones that are of no use for that.
    """

    _rows: ClassVar[str] = "predicted"

    on: str
    figures: str
    predicted: tuple[PredictedBound, ...]
    not_predicted: tuple[NotPredicted, ...]
