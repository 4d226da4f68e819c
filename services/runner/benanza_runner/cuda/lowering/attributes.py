"""Attributes of operators, with ONNX's defaults where a layer leaves them out."""

from benanza_schemas.layer import Operator


def integer(operator: Operator, name: str, default: int) -> int:
    value = _value(operator, name)
    return value if isinstance(value, int) else default


def number(operator: Operator, name: str, default: float) -> float:
    value = _value(operator, name)
    return float(value) if isinstance(value, (int, float)) else default


def text(operator: Operator, name: str, default: str) -> str:
    value = _value(operator, name)
    return value if isinstance(value, str) else default


def texts(operator: Operator, name: str) -> tuple[str, ...]:
    """Empty if the layer leaves them out."""
    value = _value(operator, name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, tuple) else ()


def integers(operator: Operator, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """An empty list counts as one left out."""
    value = _value(operator, name)
    found = tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()
    return found or default


def _value(operator: Operator, name: str) -> object:
    return next((a.value for a in operator.attributes if a.name == name), None)
