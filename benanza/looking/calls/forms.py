"""What the layers of calls read and give, with their attributes."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from benanza.render.units import dimensions
from benanza_backbone.clickhouse.store import Store
from benanza_schemas.element_types import BITS, PRECISIONS, size_bytes
from benanza_schemas.layer import Precision

if TYPE_CHECKING:
    from benanza.looking.stored_bound import StoredBound

FORMS = """
    SELECT
        fingerprint, operators, attributes, input_shapes, input_dtypes, input_constants,
        output_shapes, output_dtypes
    FROM layers FINAL WHERE has({fingerprints:Array(String)}, fingerprint)
"""

AT_PRECISION = "float32", "float16", "bfloat16"
"""Types of tensors that are kept in that of the precision at which a layer was measured."""


class CallTensor(NamedTuple):
    """A tensor of a layer, at the model's own type."""

    dtype: str
    shape: tuple[int, ...]

    def bytes(self, precision: Precision) -> int:
        """What it takes in memory where the layer is measured at this precision; texts, whose sizes
        are their own, count as none.
        """
        kept = PRECISIONS[precision].element_type if self.dtype in AT_PRECISION else self.dtype
        return size_bytes(kept, prod(self.shape)) if kept in BITS else 0


class CallForm(NamedTuple):
    """A layer's tensors: what it reads that is no constant, its constants, and what it gives; and
    its attributes, for people.
    """

    reads: tuple[CallTensor, ...]
    constants: tuple[CallTensor, ...]
    gives: tuple[CallTensor, ...]
    attributes: str


def forms_of(store: Store, stored: Iterable["StoredBound"]) -> dict[str, CallForm]:
    """Of all layers and groups of these bounds that are or were to be measured."""
    asked: set[str] = set()
    for each in stored:
        asked.update(of.fingerprint for of in each.measurements)
        asked.update(summary.fingerprint for summary in each.model.summaries)
    rows = store.query(FORMS, {"fingerprints": sorted(asked - {""})})
    return {row["fingerprint"]: _form(row) for row in rows}


def said(tensors: Sequence[CallTensor]) -> str:
    """The tensors for people: `float32 1×64×56×56, int64 3`."""
    return ", ".join(f"{tensor.dtype} {dimensions(tensor.shape)}" for tensor in tensors)


def _form(row: Mapping[str, Any]) -> CallForm:
    inputs = _tensors(row["input_dtypes"], row["input_shapes"])
    constant = row["input_constants"]
    attributes = (
        f"{op} {', '.join(f'{name} {value}' for name, value in sorted(of.items()))}"
        for op, of in zip(row["operators"], row["attributes"], strict=True)
        if of
    )
    return CallForm(
        tuple(each for each, is_constant in zip(inputs, constant, strict=True) if not is_constant),
        tuple(each for each, is_constant in zip(inputs, constant, strict=True) if is_constant),
        tuple(_tensors(row["output_dtypes"], row["output_shapes"])),
        "; ".join(attributes),
    )


def _tensors(dtypes: Sequence[str], shapes: Sequence[Sequence[int]]) -> list[CallTensor]:
    return [CallTensor(dtype, tuple(shape)) for dtype, shape in zip(dtypes, shapes, strict=True)]
