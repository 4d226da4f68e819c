"""Inputs whose elements a user gives, as entries of the named dimensions.

They are bound with the dimensions, and name a model's result with them. The entry for an input `sr`
of 16000 is `sr=16000`, with the number of its elements, here 1, as the size.
"""

from collections.abc import Mapping, Sequence
from math import isfinite

Element = bool | int | float

MOST_ELEMENTS = 64
"""Of one input: more than the sizes, scales and switches of a model have."""


def given(values: Mapping[str, Sequence[Element]]) -> dict[str, int]:
    """The entries for these elements of inputs, by the inputs' names, in row-major order.

    Raises `ValueError` for none or more than `MOST_ELEMENTS`, and for one that isn't finite.
    """
    return dict(_entry(name, elements) for name, elements in values.items())


def is_given(entry: str) -> bool:
    """Whether the name of an entry is that of an input with its elements."""
    return "=" in entry


def read(text: str) -> tuple[str, tuple[Element, ...]]:
    """The input's name and its elements in `NAME=VALUE[,VALUE…]`, as users and entries write it.

    Raises `ValueError` for anything else.
    """
    name, equals, listed = text.rpartition("=")
    if not (name and equals):
        raise ValueError(f"{text!r} is not NAME=VALUE")
    elements = tuple(map(_element, listed.split(",")))
    _check(name, elements)
    return name, elements


def _entry(name: str, elements: Sequence[Element]) -> tuple[str, int]:
    _check(name, elements)
    # A bool says `True`, and what Python, JSON and ONNX's own texts call it else is `true`.
    listed = ",".join(repr(element).lower() for element in elements)
    return f"{name}={listed}", len(elements)


def _element(text: str) -> Element:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no number, nor true or false")


def _check(name: str, elements: Sequence[Element]) -> None:
    if not 1 <= len(elements) <= MOST_ELEMENTS:
        raise ValueError(f"{name!r} has {len(elements)} values, and may have 1 to {MOST_ELEMENTS}")
    if not all(map(isfinite, elements)):
        raise ValueError(f"a value of {name!r} is not finite")
