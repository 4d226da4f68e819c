"""Constant folding: values that depend on shapes and constants only, evaluated on demand.

A node that reads only such values is no layer. Most of the values are never evaluated: only the
shape for a Reshape, the starts of a Slice and the like are needed, and they are small. Operators
are evaluated by `onnx.reference`.
"""

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from benanza_ingest.reading.parse import MAX_AXES
from benanza_ingest.resolving.evaluate import FEW_ELEMENTS, Evaluator
from benanza_ingest.resolving.inferring.inference import Inference
from benanza_ingest.resolving.types import TensorType, Types, of_tensor
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.operators.table import facts_of

Array = npt.NDArray[Any]

MAX_ELEMENTS = 1 << 16
"""Of constants with more elements, only type and shape are known."""

HELD_BYTES = 1 << 26
"""Of all elements together, beyond which those of a constant with more than `FEW_ELEMENTS` aren't
kept: a chain of many operators on large constants is short to write."""


class Constants:
    """The static values of a graph: weights, and what nodes compute from weights and shapes."""

    def __init__(self, model: ModelProto, types: Types, inference: Inference) -> None:
        self._types = types
        self._inference = inference
        self._evaluator = Evaluator(list(model.opset_import), MAX_ELEMENTS)
        self._tensors: dict[str, TensorProto] = {}
        self._producers: dict[str, tuple[NodeProto, tuple[str, ...]]] = {}
        self._values: dict[str, Array | None] = {}
        self._held_bytes = 0
        self._names = {""}
        self._stored: dict[tuple[bytes, ...], Array | None] = {}

    def add_tensor(self, name: str, tensor: TensorProto) -> None:
        """Adds a weight."""
        self._tensors[name] = tensor
        self._names.add(name)

    def add_array(self, name: str, value: Array) -> None:
        """Adds a constant that the model doesn't contain."""
        self._values[name] = value
        self._names.add(name)
        self.type_of(name)

    def add_repeated(self, name: str, source: str, axis: int, times: int) -> None:
        """Adds a static value that repeats another, of a known type, along an axis."""
        known, value = self.type_of(source), self.value(source)
        assert known is not None, "what is repeated has a type"
        # Of no elements, any number of repetitions would fit, and each takes memory.
        if value is not None and max(1, value.size) * times <= MAX_ELEMENTS:
            self.add_array(name, np.concatenate([value] * times, axis))
            return
        sizes = known.dims()
        repeated = (*sizes[:axis], sizes[axis] * times, *sizes[axis + 1 :])
        self.add_unknown(name, TensorType(known.dtype, repeated, resolved=True))

    def add_unknown(self, name: str, known: TensorType) -> None:
        """Adds a static value of which only the type is known."""
        self._types[name] = known
        self._values[name] = None
        self._names.add(name)

    def type_of(self, name: str) -> TensorType | None:
        """The type of a value; from its elements if shape inference didn't find it."""
        if self._is_open(name) and name in self:
            value = self.value(name)
            if value is not None and (known := _type_of(np.asarray(value))):
                self._types[name] = known
        return self._types.get(name)

    def _is_open(self, name: str) -> bool:
        known = self._types.get(name)
        return known is None or not known.resolved

    def add_node(self, node: NodeProto, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        """Adds a node that reads only static values; `inputs` are their names, aliases resolved."""
        for output in outputs:
            self._producers[output] = (node, inputs)
        self._names.update(outputs)

    def tensor(self, name: str) -> TensorProto | None:
        """The value as the model contains it; None if it is computed."""
        made = self._producers.get(name)
        if made is None:
            return self._tensors.get(name)
        return next((a.t for a in made[0].attribute if a.name == "value"), None)

    def producer(self, name: str) -> tuple[NodeProto, tuple[str, ...]] | None:
        """The node that computes a static value, and its inputs' names; None for a weight."""
        return self._producers.get(name)

    def __contains__(self, name: str) -> bool:
        return name in self._names and name != ""

    def has_all(self, names: tuple[str, ...]) -> bool:
        """Whether all these values are static; values that are left out count as static."""
        return self._names.issuperset(names)

    def value(self, name: str) -> Array | None:
        """The elements of a static value; None if they aren't known or are too many."""
        # Chains of shape arithmetic can be longer than Python's stack is deep.
        pending = [name]
        while pending:
            constant = pending[-1]
            if constant in self._values:
                pending.pop()
                continue
            if constant in self._tensors:
                self._values[constant] = _elements(self._tensors[constant])
                continue
            if constant not in self._producers:
                self._values[constant] = None
                continue
            node, inputs = self._producers[constant]
            missing = self._unknown_inputs(node, inputs)
            if missing:
                pending.extend(missing)
            else:
                self._evaluate(node, inputs)
        return self._values[name]

    def _unknown_inputs(self, node: NodeProto, inputs: tuple[str, ...]) -> list[str]:
        op_type = node.op_type
        if op_type in ("Shape", "Size"):
            inputs = self._untyped(inputs)
        elif op_type == "CastLike":
            inputs = (*inputs[:1], *self._untyped(inputs))
        elif not facts_of(op_type).evaluated and not any(
            self._is_open(name) for name in node.output if name
        ):
            return []
        return [name for name in inputs if name and name not in self._values]

    def _untyped(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Static values whose type or shape may have to be found from their elements."""
        return tuple([name for name in names if name in self and self._is_open(name)])

    def _evaluate(self, node: NodeProto, inputs: tuple[str, ...]) -> None:
        op_type, outputs = node.op_type, node.output[:]
        results: list[Array | None] = [None] * len(outputs)
        if op_type in ("Shape", "Size"):
            results = [self._shape(node, inputs[0])]
        elif op_type == "Constant":
            # Models repeat constants, each in a node of its own.
            key = tuple([attribute.SerializeToString() for attribute in node.attribute])
            if key not in self._stored:
                self._stored[key] = _constant(node)
            results = [self._stored[key]]
        elif op_type == "CastLike":
            results = [self._cast_like(inputs)]
        elif facts_of(op_type).evaluated:
            arrays = [self._values[name] if name else None for name in inputs]
            known = all(a is not None for a, name in zip(arrays, inputs, strict=True) if name)
            if known:
                results = self._evaluator.run(node, arrays)
        for output, result in zip(outputs, results, strict=False):
            if output:
                kept = result is not None and self._has_room(result)
                self._values[output] = result if kept else None
        unknown = [name for name in outputs if name and self._values.get(name) is None]
        if any(map(self._is_open, unknown)):
            for name in inputs:
                self.type_of(name)
            self._inference.infer(node, inputs, self._values)

    def _has_room(self, value: Array) -> bool:
        """Whether these elements may be kept; notes that they are."""
        if value.size <= FEW_ELEMENTS:
            return True
        if value.size > MAX_ELEMENTS or self._held_bytes + value.nbytes > HELD_BYTES:
            return False
        self._held_bytes += value.nbytes
        return True

    def _shape(self, node: NodeProto, name: str) -> Array | None:
        known = self.type_of(name)
        if known is None or known.shape is None:
            return None
        if node.op_type == "Size":
            fits = known.resolved and known.elements() < 1 << 63
            return np.array(known.elements(), np.int64) if fits else None
        bounds = {a.name: a.i for a in node.attribute}
        part = known.shape[bounds.get("start", 0) : bounds.get("end", len(known.shape))]
        if any(not isinstance(size, int) for size in part):
            return None
        return np.array(part, np.int64)

    def _cast_like(self, inputs: tuple[str, ...]) -> Array | None:
        """CastLike uses only the type of its second input, which may be no constant."""
        if len(inputs) < 2:
            return None
        value, like = self._values[inputs[0]], self.type_of(inputs[1])
        if value is None or like is None or like.dtype == "string":
            return None
        target = helper.tensor_dtype_to_np_dtype(TO_ONNX[like.dtype])
        try:
            with np.errstate(all="ignore"):
                return value.astype(target)
        except (TypeError, ValueError):  # text that says no number
            return None


def _type_of(value: Array) -> TensorType | None:
    """The type of an array; None of one with objects that are no texts."""
    try:
        return of_tensor(numpy_helper.from_array(value))
    except NotImplementedError:
        return None


def _elements(tensor: TensorProto) -> Array | None:
    if tensor.data_location == TensorProto.EXTERNAL or len(tensor.dims) > MAX_AXES:
        return None
    if prod(tensor.dims) > MAX_ELEMENTS:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except Exception:  # noqa: BLE001  data that don't fit the shape: only the type is known
        return None


def _constant(node: NodeProto) -> Array | None:
    for attribute in node.attribute:
        match attribute.name:
            case "value":
                return _elements(attribute.t)
            case "value_int":
                return np.array(attribute.i, np.int64)
            case "value_ints":
                return np.array(attribute.ints[:], np.int64)
            case "value_float":
                return np.array(attribute.f, np.float32)
            case "value_floats":
                return np.array(attribute.floats[:], np.float32)
    return None
