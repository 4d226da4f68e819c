"""Bounds beside others of the same models: at another time, at another precision, elsewhere."""

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.document import Document


class DifferingLayers(Document, frozen=True, kw_only=True):
    """Layers that calls of both bounds together consist of, and how long they take in each, in
    microseconds, with layout conversions. `layers` are the names of those at `positions`, `op` has
    their operators joined by `+`.
    """

    positions: tuple[int, ...]
    layers: tuple[str, ...]
    op: str
    us: float
    other_us: float


class ComparedBound(Document, frozen=True, kw_only=True):
    """A bound beside another of the same model. `ratio` is the other's sequential figure divided by
    this one's, `None` where one of them lacks layers.

    `layers` are what takes another time there, most first. They are told for bounds as they are
    now; for others, `moved_by` are the versions between the two times, oldest first.
    """

    bound: ModelBound
    other: ModelBound
    ratio: float | None
    layers: tuple[DifferingLayers, ...]
    moved_by: tuple[BoundVersion, ...]


class Comparison(Result, frozen=True, kw_only=True):
    """Bounds of some models beside others. `beside` says in words what is different there."""

    beside: str
    bounds: tuple[ComparedBound, ...]
