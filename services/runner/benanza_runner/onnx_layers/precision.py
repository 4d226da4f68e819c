"""A layer, and arrays, in another floating-point type."""

import msgspec
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.onnx_schemas import formal_types, numpy_dtype
from benanza_schemas.element_types import FLOATS, FROM_ONNX, PRECISIONS, TO_ONNX
from benanza_schemas.layer import Attribute, Layer, Operator, Precision, Tensor, TensorValue

_ATTRIBUTES_OF_TYPE = frozenset({"to", "dtype", "output_dtype"})


_ON_GPUS_ALONE = frozenset({"PagedAttention"})
"""Operators of ONNX Runtime with halves alone, which kernels here run with any floats."""


class PrecisionError(ValueError):
    """A layer can't be had at a precision; the text says why."""


def retyped(layer: Layer, precision: Precision) -> Layer:
    """The layer with its tensors of 16- and 32-bit floats in the type of the precision.

    Integers, bool and float64 stay. So do tensors for which the operator knows only one
    floating-point type, such as the scales of a Resize. Raises `PrecisionError` if an operator
    knows several types, and the precision's is not among them, but for those on GPUs alone.
    """
    target = PRECISIONS[precision].element_type
    change = {i for i, t in enumerate(layer.tensors) if t.dtype in FLOATS and t.dtype != target}
    for operator in layer.operators:
        for output, indices in ((False, operator.inputs), (True, operator.outputs)):
            for slot, index in enumerate(indices):
                types = formal_types(operator, slot, output=output)
                if index not in change or types is None or target in types:
                    continue
                if len(types & (FLOATS | {"float64"})) > 1:
                    if operator.op_type in _ON_GPUS_ALONE:
                        continue
                    raise PrecisionError(
                        f"{operator.op_type} in version {operator.version} takes no {target}"
                    )
                change.remove(index)
    if not change:
        return layer
    return Layer(
        tensors=tuple(
            _retyped_tensor(t, target) if i in change else t for i, t in enumerate(layer.tensors)
        ),
        operators=tuple(_retyped_attributes(o, change, target) for o in layer.operators),
        outputs=layer.outputs,
        execution=layer.execution,
    )


def rounded(array: Array, precision: Precision) -> Array:
    """An array of float32 with its elements rounded to the precision."""
    floats: Array = array.astype(numpy_dtype(PRECISIONS[precision].element_type)).astype(np.float32)
    return floats


def _retyped_tensor(tensor: Tensor, target: str) -> Tensor:
    value = None if tensor.value is None else _converted(tensor.value, tensor.dtype, target)
    return msgspec.structs.replace(tensor, dtype=target, value=value)


def _converted(data: bytes, source: str, target: str) -> bytes:
    return np.frombuffer(data, numpy_dtype(source)).astype(numpy_dtype(target)).tobytes()


def _retyped_attributes(operator: Operator, change: set[int], target: str) -> Operator:
    """With the attributes that say what type the operator writes, such as a Cast's `to`."""
    if not change.intersection(operator.outputs):
        return operator
    attributes = []
    for attribute in operator.attributes:
        value = attribute.value
        if attribute.name in _ATTRIBUTES_OF_TYPE and isinstance(value, int):
            if FROM_ONNX.get(value) in FLOATS:
                value = TO_ONNX[target]
        elif isinstance(value, TensorValue) and value.dtype in FLOATS:
            data = _converted(value.data, value.dtype, target)
            value = TensorValue(dtype=target, shape=value.shape, data=data)
        attributes.append(Attribute(name=attribute.name, value=value))
    return msgspec.structs.replace(operator, attributes=tuple(attributes))
