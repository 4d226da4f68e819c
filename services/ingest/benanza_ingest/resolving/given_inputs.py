"""Turns inputs whose elements a user gives into constants of the model."""

from collections.abc import Mapping
from difflib import get_close_matches
from math import prod

import numpy as np
from onnx import ModelProto, TypeProto, ValueInfoProto, helper, numpy_helper

from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.fold import Array
from benanza_ingest.resolving.types import TensorType, from_proto
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.given_values import MOST_ELEMENTS, Element, read

_NO_NUMBERS = ("string", "complex64", "complex128")


def may_be_given(known: TensorType | None) -> bool:
    """Whether an input of this type is one whose elements a user may give."""
    return (
        known is not None
        and known.resolved
        and known.dtype not in _NO_NUMBERS
        and 0 < known.elements() <= MOST_ELEMENTS
    )


def take_given(model: ModelProto, entries: Mapping[str, int]) -> None:
    """Makes constants of the inputs that these entries name (`given_values`), in place.

    Raises `ModelError` for an input that isn't there or is no tensor of numbers, and for elements
    that it can't have.
    """
    inputs = {value.name: value for value in model.graph.input}
    for tensor in model.graph.initializer:
        inputs.pop(tensor.name, None)
    taken = set()
    for entry, count in entries.items():
        try:
            name, elements = read(entry)
        except ValueError as error:
            raise ModelError(f"{error}; give an input's elements as --value NAME=VALUE") from None
        if len(elements) != count:
            raise ModelError(f"the size of {entry!r} is {count}: give the number of its values")
        if name in taken:
            raise ModelError(f"the input {name!r} is given several times; give it one value")
        taken.add(name)
        if name not in inputs:
            raise _unknown(name, list(inputs))
        value = inputs.pop(name)
        model.graph.initializer.append(numpy_helper.from_array(_array(value, elements), name))
        model.graph.input.remove(value)


def _unknown(name: str, names: list[str]) -> ModelError:
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    has = ", ".join(map(repr, names)) or "none"
    return ModelError(f"the model has no input {name!r} to give a value; {hint}it has {has}")


def _array(value: ValueInfoProto, elements: tuple[Element, ...]) -> Array:
    known = from_proto(value.type)
    dtype = None if known is None else helper.tensor_dtype_to_np_dtype(TO_ONNX[known.dtype])
    if known is None or dtype is None or known.dtype in _NO_NUMBERS:
        raise ModelError(f"the input {value.name!r} is no tensor of numbers; leave out its --value")
    shape = _shape(value.name, value.type, known, len(elements))
    array = np.array([_fitting(value.name, known.dtype, element) for element in elements])
    return array.astype(dtype).reshape(shape)


def _shape(name: str, proto: TypeProto, known: TensorType, count: int) -> tuple[int, ...]:
    """The shape of an input with so many elements; an only open axis is as long as they are many"""
    if known.shape is None:
        return () if count == 1 else (count,)
    fixed = prod(size for size in known.shape if isinstance(size, int))
    open_axes = sum(not isinstance(size, int) for size in known.shape)
    if open_axes > 1 or (fixed != count if not open_axes else not fixed or count % fixed):
        sizes = ", ".join("?" if size is None else str(size) for size in known.shape)
        raise ModelError(
            f"the input {name!r} has the shape [{sizes}], and was given {count} of its values: "
            "give all, separated by commas"
        )
    return tuple(size if isinstance(size, int) else count // fixed for size in known.shape)


def _fitting(name: str, dtype: str, element: Element) -> Element:
    """The element as one of this type. Raises `ModelError` if it would change."""
    if dtype == "bool":
        if element in (0, 1):
            return bool(element)
        what = "true or false"
    elif "float" in dtype:
        return float(element)
    else:
        bits = int("".join(filter(str.isdigit, dtype)))
        low = 0 if "uint" in dtype else -(2 ** (bits - 1))
        high = low + 2**bits - 1
        if not isinstance(element, float) and low <= element <= high:
            return int(element)
        what = f"a whole number from {low} to {high}"
    raise ModelError(f"the input {name!r} ({dtype}) can't be {element}; give {what}")
