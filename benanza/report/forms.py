"""What the layers of calls read and give, with their attributes."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from benanza.looking.stored_bound import StoredBound
from benanza.render.units import dimensions
from benanza_backbone.clickhouse.store import Store

FORMS = """
    SELECT fingerprint, operators, attributes, input_shapes, input_constants, output_shapes
    FROM layers FINAL WHERE has({fingerprints:Array(String)}, fingerprint)
"""


class CallForm(NamedTuple):
    """What a layer reads that is no constant, what it gives, and its attributes, for people."""

    reads: str
    gives: str
    attributes: str


def forms_of(store: Store, stored: Iterable[StoredBound]) -> dict[str, CallForm]:
    """Of all layers and groups of these bounds."""
    asked = {of.fingerprint for each in stored for of in each.measurements}
    rows = store.query(FORMS, {"fingerprints": sorted(asked)})
    return {row["fingerprint"]: _form(row) for row in rows}


def _form(row: Mapping[str, Any]) -> CallForm:
    read = [
        dimensions(shape)
        for shape, constant in zip(row["input_shapes"], row["input_constants"], strict=True)
        if not constant
    ]
    attributes = (
        f"{op} {', '.join(f'{name} {value}' for name, value in sorted(of.items()))}"
        for op, of in zip(row["operators"], row["attributes"], strict=True)
        if of
    )
    return CallForm(
        ", ".join(read), ", ".join(map(dimensions, row["output_shapes"])), "; ".join(attributes)
    )
