"""Attention as one call: a group of operators, or ONNX's own operator.

In a group keys come transposed, as a product wants them, unless their Transpose is in it; what
is fixed of scales and masks is put together here.
"""

from collections.abc import Mapping
from math import prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.calls import Attention, Shape
from benanza_runner.cuda.elements import FLOATS
from benanza_runner.cuda.lowering.attributes import integer, integers, number
from benanza_runner.cuda.lowering.places import VIEWS, contiguous, reshaped, seen, steps
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

Array = npt.NDArray[Any]
Lowering = tuple[Attention, dict[str, Array], frozenset[str]]


def is_attention(layer: Layer) -> bool:
    """Whether a layer is a group of operators with a softmax between two products."""
    names = [operator.op_type for operator in layer.operators]
    return names.count("MatMul") == 2 and "Softmax" in names


def lower_attention(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call for such a group, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    shapes = [tensor.shape for tensor in layer.tensors]
    operators = layer.operators
    names = [operator.op_type for operator in operators]
    first, softmax = names.index("MatMul"), names.index("Softmax")
    last = names.index("MatMul", first + 1)
    query, transposed = operators[first].inputs
    value = operators[last].inputs[1]
    if any(operator.op_type not in VIEWS for operator in operators[softmax + 1 : last]):
        raise UnsupportedError("an attention that changes its shares is not done yet")
    scores, output = shapes[operators[first].outputs[0]], shapes[operators[last].outputs[0]]
    if prod(scores[:-2]) != prod(output[:-2]):
        raise UnsupportedError("an attention whose scores are repeated is not done yet")
    lead = _batch_and_heads(output)
    key, factor = transposed, 1.0
    keys = contiguous(shapes[transposed])
    if first:
        key = _source(operators[0], layer)
        keys, factor = _prepared(layer, values, operators[:first], key)
    adding = _Mask(layer, values, factor, scores)
    for operator in operators[first + 1 : softmax]:
        adding.follow(operator)
    placed = _placed(contiguous(shapes[query]), scores, lead)
    placed_keys = _placed(keys.swapaxes(-1, -2), scores, lead)
    placed_values = _placed(contiguous(shapes[value]), output, lead)
    result = contiguous(shapes[layer.outputs[0]])
    for operator in operators[last + 1 :]:
        order = integers(operator, "perm", tuple(reversed(range(result.ndim))))
        result = result.transpose(np.argsort(order))
    mask, mask_shape, fixed = adding.operand(lead)
    call = _call(
        layer, placed, placed_keys, placed_values, reshaped(result, (*lead, *output[-2:])),
        scale=adding.scale, mask=mask_shape,
    )  # fmt: skip
    operands = {"query": values[query], "key": values[key], "value": values[value]}
    weights = {
        name
        for name, index in (("query", query), ("key", key), ("value", value))
        if layer.tensors[index].constant
    }
    if mask is not None:
        operands["mask"] = mask
        weights |= {"mask"} if fixed else set()
    return call, operands, frozenset(weights)


def lower_attention_operator(
    layer: Layer, values: Mapping[int, Array]
) -> tuple[Attention, dict[str, Array]]:
    """The call for ONNX's Attention, versions 23 and 24, without a cache.

    Raises `UnsupportedError`.
    """
    operator = layer.operators[0]
    given = (*operator.inputs, *(OMITTED,) * 7)
    if any(index != OMITTED for index in given[4:6]):
        raise UnsupportedError("an Attention with past keys and values is not done yet")
    if given[6] != OMITTED:
        raise UnsupportedError("an Attention with a number of keys that count is not done yet")
    if number(operator, "softcap", 0.0):
        raise UnsupportedError("an Attention that caps its scores is not done yet")
    shapes = [layer.tensors[index].shape for index in given[:3]]
    heads, key_heads = integer(operator, "q_num_heads", 0), integer(operator, "kv_num_heads", 0)
    query, key, value = (
        _by_head(contiguous(shape), count)
        for shape, count in zip(shapes, (heads, key_heads, key_heads), strict=True)
    )
    result = _by_head(contiguous(layer.tensors[operator.outputs[0]].shape), heads)
    operands = {"query": values[given[0]], "key": values[given[1]], "value": values[given[2]]}
    causal = bool(integer(operator, "is_causal", 0))
    mask_shape: Shape = ()
    if given[3] != OMITTED:
        mask = layer.tensors[given[3]]
        if mask.dtype not in FLOATS:
            raise UnsupportedError(f"an Attention whose mask is {mask.dtype} is not done yet")
        mask_shape = (1,) * (4 - len(mask.shape)) + mask.shape
        whole = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        if any(size not in (1, full) for size, full in zip(mask_shape, whole, strict=True)):
            raise UnsupportedError("an Attention whose mask lacks keys is not done yet")
        operands["mask"] = values[given[3]]
    scale = number(operator, "scale", 1 / sqrt(query.shape[3]))
    call = _call(layer, query, key, value, result, scale=scale, mask=mask_shape, causal=causal)
    return call, operands


def _call(
    layer: Layer, query: Array, key: Array, value: Array, result: Array, *,
    scale: float, mask: Shape, causal: bool = False,
) -> Attention:  # fmt: skip
    """Of four arrays by batch, head, row and column; heads that are repeated are one."""
    batch, heads, queries, size = query.shape
    key, value = (
        each[:, :1] if heads > 1 and each.strides[1] == 0 else each for each in (key, value)
    )
    return Attention(
        output=layer.tensors[layer.outputs[0]].shape,
        batch=batch,
        heads=heads,
        key_heads=key.shape[1],
        value_heads=value.shape[1],
        queries=queries,
        keys=key.shape[2],
        size=size,
        width=value.shape[3],
        query_steps=steps(query),
        key_steps=steps(key),
        value_steps=steps(value),
        output_steps=steps(result),
        scale=scale,
        mask=mask,
        causal=causal,
    )


def _by_head(array: Array, heads: int) -> Array:
    """By batch, head, row and column: with three axes, columns of all heads lie in one row."""
    if array.ndim == 4:
        return array
    batch, rows, columns = array.shape
    return array.reshape(batch, rows, heads, columns // heads).transpose(0, 2, 1, 3)


def _batch_and_heads(shape: Shape) -> Shape:
    """Two numbers for the axes before those of the matrices."""
    return (prod(shape[:-3]), shape[-3]) if len(shape) > 2 else (1, 1)


def _placed(array: Array, product: Shape, lead: Shape) -> Array:
    """Matrices as a product of this shape reads them, by batch and head."""
    whole = np.broadcast_to(array, (*product[:-2], *array.shape[-2:]))
    return reshaped(whole, (*lead, *array.shape[-2:]))


def _source(operator: Operator, layer: Layer) -> int:
    """What an operator reads that prepares keys: a scale may come before them."""
    first = operator.inputs[0]
    if operator.op_type == "Mul" and layer.tensors[first].constant:
        return operator.inputs[1]
    return first


def _prepared(
    layer: Layer, values: Mapping[int, Array], operators: tuple[Operator, ...], key: int
) -> tuple[Array, float]:
    """Where the keys are in memory, and what they are multiplied with."""
    array, factor, value = contiguous(layer.tensors[key].shape), 1.0, key
    for operator in operators:
        shape = layer.tensors[operator.outputs[0]].shape
        if operator.op_type in ("Mul", "Div"):
            factor *= _factor(layer, values, operator, value)
            array = reshaped(array, shape)
        else:
            array = seen(array, operator, shape)
        value = operator.outputs[0]
    return array, factor


def _factor(layer: Layer, values: Mapping[int, Array], operator: Operator, value: int) -> float:
    """What an operator multiplies a value with."""
    first = operator.inputs[0] == value
    other = operator.inputs[1] if first else operator.inputs[0]
    divides = operator.op_type == "Div"
    if not layer.tensors[other].constant or values[other].size != 1 or (divides and not first):
        raise UnsupportedError(f"an attention whose {operator.op_type} is by no fixed number")
    factor = float(values[other].reshape(-1)[0])
    return 1 / factor if divides else factor


class _Mask:
    """What happens to scores before their softmax: `scale · scores + fixed + computed`."""

    def __init__(
        self, layer: Layer, values: Mapping[int, Array], scale: float, scores: Shape
    ) -> None:
        self._layer = layer
        self._values = values
        self.scale = scale
        self._shape = scores
        self._fixed: Array | None = None
        self._computed: int | None = None

    def follow(self, operator: Operator) -> None:
        """Takes in the next operator. Raises `UnsupportedError`."""
        shape = self._layer.tensors[operator.outputs[0]].shape
        if operator.op_type in ("Mul", "Div"):
            self._multiply(operator)
        elif operator.op_type == "Add":
            self._add(operator)
        elif operator.op_type in VIEWS:
            if self._computed is not None and shape != self._shape:
                raise UnsupportedError("scores that are seen otherwise after a computed mask")
            if self._fixed is not None:
                self._fixed = np.broadcast_to(self._fixed, self._shape).reshape(shape)
        else:
            raise UnsupportedError(f"{operator.op_type} within attention is not done yet")
        self._shape = shape

    def operand(self, lead: Shape) -> tuple[Array | None, Shape, bool]:
        """The mask, if there is one, its shape by batch and head, and whether it is fixed."""
        if self._computed is not None:
            shape = self._layer.tensors[self._computed].shape
            full = (1,) * (len(self._shape) - len(shape)) + shape
            if prod(full[:-3]) not in (1, lead[0]) or lead != _batch_and_heads(self._shape):
                raise UnsupportedError("a computed mask that is repeated in the midst of others")
            return self._values[self._computed], (*_batch_and_heads(full), *full[-2:]), False
        if self._fixed is None:
            return None, (), True
        full = (1,) * (len(self._shape) - self._fixed.ndim) + self._fixed.shape
        fixed = self._fixed.reshape(full)
        as_it_is = prod(full[:-3]) in (1, lead[0]) and lead == _batch_and_heads(self._shape)
        if not as_it_is:
            fixed = np.broadcast_to(fixed, self._shape).reshape(*lead, *self._shape[-2:])
        fixed = fixed.reshape(*_batch_and_heads(fixed.shape), *fixed.shape[-2:])
        return np.ascontiguousarray(fixed, np.float32), fixed.shape, True

    def _multiply(self, operator: Operator) -> None:
        if self._computed is not None:
            raise UnsupportedError("an attention that scales a computed mask is not done yet")
        factor = _factor(self._layer, self._values, operator, self._scores(operator))
        self.scale *= factor
        if self._fixed is not None:
            self._fixed = self._fixed * factor

    def _add(self, operator: Operator) -> None:
        scores = self._scores(operator)
        other = next((index for index in operator.inputs if index != scores), scores)
        if self._layer.tensors[other].constant:
            mask = self._values[other].astype(np.float64)
            self._fixed = mask if self._fixed is None else self._fixed + mask
        elif self._computed is not None:
            raise UnsupportedError("an attention with two computed masks is not done yet")
        else:
            self._computed = other
        if self._computed is not None and self._fixed is not None:
            raise UnsupportedError("an attention with a fixed and a computed mask is not done yet")

    def _scores(self, operator: Operator) -> int:
        """Which input of an operator the scores are: what is written within the group."""
        written = {index for each in self._layer.operators for index in each.outputs}
        return next(index for index in operator.inputs if index in written)
