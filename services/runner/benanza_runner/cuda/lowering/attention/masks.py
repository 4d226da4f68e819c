"""The mask of an attention: numbers that are added to the scores, or bools that choose one.

ONNX Runtime's own operators have integers, which say which keys count.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.lowering.strided import seen
from benanza_runner.cuda.lowering.written_out.writing import given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import OMITTED, Layer, Operator
from benanza_schemas.operators.table import RESHAPING

HIDES = (0.0, float("-inf"))
"""What is added to a score where ONNX's mask of bools is True, and where it is False."""

MASKED = -10000.0
"""What is added, by default, to the score of a key that doesn't count."""

COMPUTED: dict[str, Callable[..., Any]] = {"Add": np.add, "Mul": np.multiply, "Where": np.where}


class Mask(NamedTuple):
    """No mask, or its elements, its shape by batch, head, query and key, and whether it is fixed.

    If its elements are bools, `chosen` are the numbers for True and for False.
    """

    values: Array | None = None
    shape: Shape = ()
    fixed: bool = True
    chosen: tuple[float, ...] = ()


def mask_of(layer: Layer, values: Mapping[int, Array], index: int, whole: Shape) -> Mask:
    """The mask that is this tensor, for scores of this shape. Raises `UnsupportedError`."""
    if any(
        size not in (1, full)
        for size, full in zip(_by_head(layer.tensors[index].shape), whole, strict=True)
    ):
        raise UnsupportedError("an Attention whose mask lacks keys is not supported yet")
    writers = {result: operator for operator in layer.operators for result in operator.outputs}
    fixed = _fixed(layer, values, writers, index)
    if fixed is not None:
        if fixed.dtype == np.bool_:
            fixed = np.where(fixed, *HIDES)
        return Mask(np.ascontiguousarray(fixed, np.float32), _by_head(fixed.shape))
    chosen: tuple[float, ...] = HIDES if layer.tensors[index].dtype == "bool" else ()
    shape = _by_head(layer.tensors[index].shape)
    while index in writers:
        operator = writers[index]
        index = operator.inputs[0]
        if operator.op_type == "Expand":
            shape = _by_head(layer.tensors[index].shape)
        elif operator.op_type == "Where" and not chosen:
            numbers = [_fixed(layer, values, writers, source) for source in operator.inputs[1:]]
            if any(number is None or number.size != 1 for number in numbers):
                raise UnsupportedError("an Attention with a mask that two others make up")
            chosen = tuple(float(np.ravel(number)[0]) for number in numbers if number is not None)
        elif operator.op_type not in RESHAPING:
            raise UnsupportedError("an Attention whose mask is computed within the group")
    dtype = layer.tensors[index].dtype
    if dtype not in FLOATS and not (chosen and dtype == "bool"):
        raise UnsupportedError(f"an Attention whose mask is {dtype} is not supported yet")
    return Mask(values[index], shape, layer.tensors[index].constant, chosen)


def key_mask(
    layer: Layer, operator: Operator, places: tuple[int, int], scores: Shape
) -> tuple[Shape, tuple[float, ...], int]:
    """The mask's shape by batch, head, query and key, what is chosen by it, and which tensor it is.

    `places` are those of a mask of keys and of a bias of scores, which have this shape. Where the
    mask has only lengths, all sequences are taken to be as long as they may be: there is none then.
    Raises `UnsupportedError`.
    """
    masks, bias = places
    batch, _, queries, keys = scores
    shape = layer.tensors[operator.inputs[masks]].shape if given(operator, masks) else ()
    if len(shape) < 2:
        if not given(operator, bias):
            return (), (), OMITTED
        index = operator.inputs[bias]
        added = layer.tensors[index].shape
        if added[2:] != scores[2:] or any(
            size not in (1, all_of) for size, all_of in zip(added, scores, strict=False)
        ):
            raise _refused(operator, f"a bias of shape {added}")
        return added, (), index
    if given(operator, bias):
        raise _refused(operator, "a mask and a bias of scores")
    if shape not in ((batch, keys), (batch, queries, keys)):
        raise _refused(operator, f"a mask of shape {shape}")
    whole = batch, 1, queries if len(shape) == 3 else 1, keys
    number = operator.number("mask_filter_value", MASKED)
    return whole, (0.0, number), operator.inputs[masks]


def _by_head(shape: Shape) -> Shape:
    return (1,) * (4 - len(shape)) + shape


def _fixed(
    layer: Layer, values: Mapping[int, Array], writers: Mapping[int, Operator], index: int
) -> Array | None:
    """The elements of a tensor that follows from weights alone, None of one that doesn't.

    They are not repeated where an Expand does so.
    """
    operator = writers.get(index)
    if operator is None:
        return values[index] if layer.tensors[index].constant else None
    inputs = [_fixed(layer, values, writers, source) for source in operator.inputs]
    present = [array for array in inputs if array is not None]
    if len(present) < len(inputs):
        return None
    if operator.op_type == "Expand":
        return present[0]
    if operator.op_type in RESHAPING:
        return present[0].reshape(layer.tensors[index].shape)
    if operator.op_type == "Slice":
        return seen(layer, operator, index, present[0])
    compute = COMPUTED.get(operator.op_type)
    if compute is None:
        return None
    elements: Array = compute(*present)
    return elements


def _refused(operator: Operator, name: str) -> UnsupportedError:
    title = f"{operator.op_type} of ONNX Runtime"
    return UnsupportedError(f"{title} with {name} is not supported yet")
