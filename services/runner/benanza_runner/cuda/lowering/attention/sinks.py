"""Attention with sinks: scores with one more column, which is dropped behind the softmax.

Ingest writes it in one form: a product, a scale and a mask, if there are such, a Concat with the
sinks, a Softmax, a Slice, and the product with values.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Attention
from benanza_runner.cuda.lowering.attention.attention import lower_attention
from benanza_runner.cuda.lowering.strided import strided
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator

Lowering = tuple[Attention, dict[str, Array], frozenset[str]]

AROUND = ("Concat", "Softmax", "Slice", "MatMul")
"""What appends sinks to scores, and what follows that."""


class _Found(NamedTuple):
    """The layer with ONNX's Attention instead, and the tensor that the sinks are."""

    layer: Layer
    sinks: int


def has_sinks(layer: Layer) -> bool:
    """Whether a layer is an attention with sinks, with whatever moves its operands and result."""
    names = [operator.op_type for operator in layer.operators]
    if names.count("MatMul") != 2 or names.count("Softmax") != 1:
        return False
    writers = {result: operator for operator in layer.operators for result in operator.outputs}
    readers = {index: operator for operator in layer.operators for index in operator.inputs}
    softmax = layer.operators[names.index("Softmax")]
    around = [writers.get(softmax.inputs[0]), softmax]
    for _ in AROUND[2:]:
        last = around[-1]
        around.append(readers.get(last.outputs[0]) if last else None)
    return [each.op_type for each in around if each] == list(AROUND)


def lower_attention_with_sinks(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    try:
        found = _found(layer, values)
    except (KeyError, ValueError) as error:
        raise UnsupportedError(f"{layer.title()} is no attention with sinks") from error
    call, operands, weights = lower_attention(found.layer, values)
    place = strided(layer, found.sinks)
    if not layer.tensors[place.source].constant:
        raise UnsupportedError("an attention with computed sinks is not supported yet")
    heads = place.array.shape[1:-2]
    steps = place.array.strides[1:-2]
    at = place.start + sum(np.ix_(*(np.arange(n) * s for n, s in zip(heads, steps, strict=True))))
    operands["sinks"] = np.ravel(values[place.source])[np.ravel(at)]
    return replace(call, sinks=True), operands, weights | {"sinks"}


def _found(layer: Layer, values: Mapping[int, Array]) -> _Found:
    """Raises `UnsupportedError` for what ingest doesn't write."""
    writers = {result: operator for operator in layer.operators for result in operator.outputs}
    readers = {index: operator for operator in layer.operators for index in operator.inputs}
    (softmax,) = (each for each in layer.operators if each.op_type == "Softmax")
    core = [softmax]

    def before(index: int) -> Operator:
        core.append(writers[index])
        return writers[index]

    def behind(operator: Operator) -> Operator:
        core.append(readers[operator.outputs[0]])
        return core[-1]

    def by_head(index: int) -> int:
        """A tensor with heads as one axis, of one with an axis for those that share keys."""
        if len(layer.tensors[index].shape) == 4:
            return index
        return before(index).inputs[0]

    scores, sinks = before(softmax.inputs[0]).inputs
    mask, scale, operator = OMITTED, 1.0, before(scores)
    if operator.op_type == "Add":
        mask = by_head(operator.inputs[1])
        operator = before(operator.inputs[0])
    if operator.op_type == "Mul":
        scale = _number(layer, values, operator.inputs[1])
        operator = before(operator.inputs[0])
    product = behind(behind(softmax))
    query, turned = operator.inputs
    key, value = before(turned).inputs[0], product.inputs[1]
    query, key, value = map(by_head, (query, key, value))
    last = product if len(layer.tensors[product.outputs[0]].shape) == 4 else behind(product)
    shapes = [layer.tensors[index].shape for index in (query, key, value, last.outputs[0])]
    if any(len(shape) != 4 for shape in shapes) or operator.op_type != "MatMul":
        raise ValueError("another form")
    attention = Operator(
        "Attention",
        "",
        23,
        (Attribute("scale", scale),),
        (query, key, value, *((mask,) if mask != OMITTED else ())),
        last.outputs,
    )
    operators = [
        attention if each is last else each
        for each in layer.operators
        if each is last or all(each is not other for other in core)
    ]
    return _Found(replace(layer, operators=tuple(operators)), sinks)


def _number(layer: Layer, values: Mapping[int, Array], index: int) -> float:
    if layer.tensors[index].value is None:
        raise UnsupportedError("an attention with sinks whose scale isn't known")
    return float(np.ravel(values[index])[0])
