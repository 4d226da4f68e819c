"""Writes an operator of a trace as nodes of ONNX, which read nothing of other operators."""

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from benanza.tracing.formats.recorded import TracedInputs
from benanza_runner.onnx_layers.layer_model import placeholder
from benanza_schemas.element_types import FLOATS, TO_ONNX

EXCHANGED = (0, 2, 1, 3)
"""Exchanges the second and the third of four axes, such as heads and places."""


COPYING = "it copies or converts: no layer needs it"
"""Why something isn't written as nodes."""


class UntranslatedError(Exception):
    """An operator that isn't written as nodes of ONNX. The text says why."""


def refuse(reason: str) -> NoReturn:
    """Raises `UntranslatedError`."""
    raise UntranslatedError(reason)


def as_written(dtype: str) -> str:
    """The type of a tensor in the model: `float32` for each that is one of a precision."""
    return "float32" if dtype in FLOATS else dtype


class Writer:
    """The nodes of one operator. The names of all values begin with `prefix`.

    Its inputs are asked by number, as the framework orders them. What the trace lacks raises
    `UntranslatedError`.
    """

    def __init__(self, prefix: str, inputs: TracedInputs) -> None:
        self.nodes: list[NodeProto] = []
        self.read: list[ValueInfoProto] = []
        self.weights: list[TensorProto] = []
        self.results: list[str] = []
        self._prefix = prefix
        self._inputs = inputs
        self._count = 0

    def numbers(self) -> Iterator[int]:
        """The places of all inputs that are tensors."""
        return filter(self.has, range(len(self._inputs.dtypes)))

    def others(self) -> Iterator[int]:
        """The places of all inputs that are none."""
        return (number for number in range(len(self._inputs.dtypes)) if not self.has(number))

    def has(self, number: int) -> bool:
        """Whether there is a tensor at this place."""
        return number < len(self._inputs.dtypes) and bool(self._inputs.dtypes[number])

    def stored(self, number: int) -> str:
        """The type of a tensor, as the trace has it."""
        dtype = self._inputs.dtypes[number] if self.has(number) else ""
        if not isinstance(dtype, str) or not dtype:
            refuse("the trace lacks the type of an input; record it with shapes")
        if dtype not in TO_ONNX:
            refuse(f"ONNX has no type {dtype}")
        return dtype

    def dtype(self, number: int) -> str:
        """The type of a tensor, as the model has it."""
        return as_written(self.stored(number))

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a tensor."""
        self.dtype(number)
        shape = self._inputs.shapes[number]
        sizes = tuple(size for size in shape if isinstance(size, int))
        if len(sizes) != len(shape):
            refuse("an input is several tensors")
        return sizes

    def written(self, number: int) -> tuple[int, ...]:
        """The shape of a result."""
        if number >= len(self._inputs.outputs):
            refuse("the trace lacks the shape of a result")
        return self._inputs.outputs[number]

    def value(self, number: int) -> str:
        """The text of a value that is no tensor; empty where none was given."""
        values = self._inputs.values
        return values[number] if number < len(values) else ""

    def integers(self, number: int) -> tuple[int, ...]:
        """A list of integers, or a single one. Raises `UntranslatedError` for anything else."""
        text = self.value(number).strip("[]")
        try:
            return tuple(int(part) for part in text.split(",")) if text.strip() else ()
        except ValueError:
            refuse(f"{text} is no list of integers")

    def integer(self, number: int, default: int) -> int:
        """An integer, or the default where none was given."""
        return next(iter(self.integers(number)), default)

    def number(self, number: int, default: float | None = None) -> float:
        """A number, or the default where none was given."""
        text = self.value(number)
        if not text and default is not None:
            return default
        try:
            return {"True": 1.0, "False": 0.0}.get(text) or float(text.replace("False", "0"))
        except ValueError:
            refuse("the trace lacks the value of a number")

    def flag(self, number: int) -> bool:
        """A truth value, false where none was given."""
        return self.value(number) == "True"

    def tensor(self, number: int, shape: tuple[int, ...] | None = None) -> str:
        """The name of an input that is computed, in its own shape or as it is seen."""
        name = f"{self._prefix}x{number}"
        if not any(value.name == name for value in self.read):
            sizes = self.shape(number) if shape is None else shape
            self.read.append(self._described(name, self.dtype(number), sizes))
        return name

    def strides(self, number: int) -> tuple[int, ...]:
        """The strides of a tensor, none where they aren't known."""
        strides = self._inputs.strides
        return strides[number] if number < len(strides) else ()

    def exchanged(self, number: int) -> str:
        """The name of an input of four axes, of which memory has the second and third exchanged."""
        name = f"{self._prefix}x{number}"
        first, second, third, last = self.shape(number)
        stored = (first, third, second, last)
        self.read.append(self._described(name, self.dtype(number), stored))
        return self.node("Transpose", name, perm=EXCHANGED)

    def tensors(self, number: int) -> list[str]:
        """The names of an input that is several tensors, without those that hold nothing: PyTorch
        leaves out an empty one of one axis.
        """
        shapes = self._inputs.shapes[number] if number < len(self._inputs.shapes) else ()
        dtypes = self._inputs.dtypes[number] if shapes else ()
        known = next((dtype for dtype in self._inputs.dtypes if isinstance(dtype, str)), "")
        names = []
        for place, shape in enumerate(shapes):
            if not isinstance(shape, tuple):
                refuse("an input is one tensor instead of several")
            if shape == (0,):
                continue
            dtype = dtypes[place] if isinstance(dtypes, tuple) else known
            names.append(f"{self._prefix}x{number}_{place}")
            self.read.append(self._described(names[-1], as_written(dtype or "float32"), shape))
        return names

    def weight(self, number: int, shape: tuple[int, ...] | None = None) -> str:
        """The name of an input that the model fixes, in its own shape or as it is stored."""
        sizes = self.shape(number) if shape is None else shape
        return self.made_up(self.dtype(number), sizes)

    def made_up(self, dtype: str, shape: tuple[int, ...]) -> str:
        """The name of a weight that may hold anything."""
        name = self._name("w")
        self.weights.append(placeholder(name, TO_ONNX[dtype], shape))
        return name

    def constant(self, values: object, dtype: str) -> str:
        """The name of a constant with these values."""
        name = self._name("c")
        array = np.asarray(values, helper.tensor_dtype_to_np_dtype(TO_ONNX[dtype]))
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """The first result of a node."""
        result = self._name("y")
        self.nodes.append(
            helper.make_node(op_type, list(inputs), [result], name=result, **attributes)
        )
        return result

    def returns(self, names: Iterable[str]) -> None:
        """What the operator gives back."""
        self.results += names

    def _described(self, name: str, dtype: str, shape: tuple[int, ...]) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, TO_ONNX[dtype], shape)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{self._prefix}{kind}{self._count}"
