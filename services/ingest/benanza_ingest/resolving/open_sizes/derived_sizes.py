"""Sizes of dimensions that exporters name by others, such as `past_length + length`."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}

_LOOKS_RIGHT = re.compile(r"[\w\s+\-*/()]{1,200}")
"""Python's parser warns of some other texts."""


def derived_size(name: str, sizes: Mapping[str, int]) -> int | None:
    """The size of a dimension whose name is an expression of others with these sizes: of sums,
    differences, products and whole quotients. None for another name, and if one of them is open.
    """
    expression = _expression(name)
    if expression is None:
        return None
    try:
        return _value(expression, sizes)
    except (KeyError, ZeroDivisionError):
        return None


@cache
def _expression(name: str) -> ast.BinOp | None:
    if not _LOOKS_RIGHT.fullmatch(name):
        return None
    try:
        body = ast.parse(name.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return body if isinstance(body, ast.BinOp) else None


def _value(node: ast.expr, sizes: Mapping[str, int]) -> int:
    """Raises `KeyError` for what isn't known, or is no such expression."""
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))
    raise KeyError(ast.unparse(node))
