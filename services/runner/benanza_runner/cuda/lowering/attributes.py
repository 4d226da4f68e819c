"""Attributes of operators, with ONNX's defaults where a layer leaves them out."""

from benanza_schemas.layer import Operator


def integer(operator: Operator, name: str, default: int) -> int:
    """An attribute of one integer."""
    value = _value(operator, name)
    return value if isinstance(value, int) else default


def number(operator: Operator, name: str, default: float) -> float:
    """An attribute of one number."""
    value = _value(operator, name)
    return float(value) if isinstance(value, (int, float)) else default


def text(operator: Operator, name: str, default: str) -> str:
    """An attribute of one text."""
    value = _value(operator, name)
    return value if isinstance(value, str) else default


def texts(operator: Operator, name: str) -> tuple[str, ...]:
    """An attribute of several texts, empty if the layer leaves it out."""
    value = _value(operator, name)
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, tuple) else ()


def integers(operator: Operator, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """An attribute of several integers. An empty list counts as left out."""
    value = _value(operator, name)
    found = tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()
    return found or default


def _value(operator: Operator, name: str) -> object:
    return next((a.value for a in operator.attributes if a.name == name), None)
