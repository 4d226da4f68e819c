"""Kinds of calls, by which a report colours them."""

from typing import Literal

from benanza_schemas.operators.facts import OperatorKind
from benanza_schemas.operators.table import facts_of

CallKind = Literal[
    "attention",
    "convolution",
    "matrix product",
    "normalisation",
    "pooling, reduction",
    "element-wise",
    "movement",
    "other",
]

COLOURS: dict[CallKind, str] = {
    "attention": "#b5478f",
    "convolution": "#2f6fb7",
    "matrix product": "#c4531d",
    "normalisation": "#188561",
    "pooling, reduction": "#9a6b00",
    "element-wise": "#3f8fb0",
    "movement": "#77777f",
    "other": "#6a5fb0",
}
"""White text on them has a contrast of 3.6 or more, and they of as much on light and dark pages."""

DOMAINS = ("", "com.microsoft", "com.microsoft.nchwc", "ai.onnx.ml")

_OF_OPERATORS: dict[OperatorKind, CallKind] = {
    "attention": "attention",
    "product": "matrix product",
    "normalisation": "normalisation",
    "pooling": "pooling, reduction",
    "reduction": "pooling, reduction",
    "element-wise": "element-wise",
    "movement": "movement",
    "view": "movement",
}


def kind_of_call(op: str, rule: str = "") -> CallKind:
    """The kind of a call with these operators, joined by `+`; of several, the first in the order of
    `COLOURS`. `rule` is what proposed its group.
    """
    if rule == "attention":
        return "attention"
    kinds = {_kind(name) for name in op.split("+")}
    return next((kind for kind in COLOURS if kind in kinds), "other")


def _kind(op: str) -> CallKind:
    if "Conv" in op:
        return "convolution"
    kinds = [facts_of(op, domain).kind for domain in DOMAINS]
    known = [_OF_OPERATORS[kind] for kind in kinds if kind in _OF_OPERATORS]
    return known[0] if known else "other"
