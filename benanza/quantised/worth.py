"""What quantising a model is worth: its bound beside that of what it becomes."""

from typing import ClassVar

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document
from benanza_schemas.events.derivation import Quantised


class ProductWorth(Document, frozen=True, kw_only=True):
    """Products that are quantised, with all that calls of either bound compute together with them:
    nothing smaller can be compared.

    `layers` are the products' names; `op`, and the shapes of `data` and `weights`, are those of the
    first of them. Shapes are empty where the store lacks the layer. `us` is the time as the model
    is written, `quantised_us` that of what it becomes, both with layout conversions, and the latter
    with the QuantizeLinear of the data, where that is a call of its own.
    """

    layers: tuple[str, ...]
    op: str
    data: tuple[int, ...]
    weights: tuple[int, ...]
    us: float
    quantised_us: float

    @property
    def saved_us(self) -> float:
        """How much less it takes; negative if it takes more."""
        return self.us - self.quantised_us


class QuantisationWorth(Document, frozen=True, kw_only=True):
    """A bound beside that of the model with weights in `quantised`, which is `other`.

    `saved_us` is how much less the other's sequential figure is, negative if it is more, and
    `share` the part of the bound that this is. `products` are those that are quantised, the
    greatest saving first, and `elsewhere_us` is what is saved besides. Where one of the bounds is
    partial, there are no products, and the rest is `None`.
    """

    bound: ModelBound
    quantised: Quantised
    other: ModelBound
    saved_us: float | None
    share: float | None
    products: tuple[ProductWorth, ...]
    elsewhere_us: float | None


class QuantisationWorths(Result, frozen=True, kw_only=True):
    """What quantising some models is worth. `to_run` are the commands that find the bounds which
    are asked for and aren't known.
    """

    _rows: ClassVar[str] = "worths.products"

    worths: tuple[QuantisationWorth, ...]
    to_run: tuple[str, ...]
