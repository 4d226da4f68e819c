"""What a layer's results should be: ONNX Runtime computes them in float32 on the CPU."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
import onnxruntime as ort

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.collectives import (
    ALL_REDUCE,
    all_gathered,
    all_reduced,
    is_collective,
)
from benanza_runner.onnx_layers.diffusion import diffused, is_of_diffusion
from benanza_runner.onnx_layers.experts import is_mixture, mixture
from benanza_runner.onnx_layers.kept_keys import (
    grouped,
    in_place,
    is_in_float8,
    is_paged,
    paged,
)
from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnx_layers.onnx_schemas import formal_types, numpy_dtype
from benanza_runner.onnx_layers.packed_heads import attended, is_packed
from benanza_runner.onnx_layers.random_values import random_value
from benanza_runner.onnxruntime.session import CPU, on_cpu, session_options
from benanza_schemas.element_types import FLOATS, PRECISIONS
from benanza_schemas.layer import Layer, Operator, Precision

ACCURACY = "accuracy_level"
"""With 4, ONNX Runtime's MatMulNBits multiplies integers of 8 bits."""

KEEPING_STATES = frozenset({"CausalConvWithState", "LinearAttention"})
"""Operators that ONNX took over from ONNX Runtime, which runs them in its own domain only."""

SCALED = frozenset({"QuantizeLinear", "DequantizeLinear"})
"""Their older versions want scales as float32; the device keeps them at the precision."""


class Reference(NamedTuple):
    """A layer's inputs by position, weights among them, and its expected outputs in order."""

    values: dict[int, Array]
    outputs: list[Array]


def reference(layer: Layer, precision: Precision, threads: int) -> Reference:
    """Random inputs, rounded to the precision, and the outputs that float32 gives for them.

    Where these would be no numbers, all inputs are positive.

    Float tensors are float32 arrays. Constants of known values are rounded too, as the device keeps
    them, except those that an operator wants as float32, such as the scales of a Resize. ONNX
    Runtime uses so many `threads`. Raises what `layer_model` and ONNX Runtime raise.

    Mixtures of experts are computed in NumPy, since ONNX Runtime's CPU runs only some; so is
    attention to a cache in float8 or in blocks, and what it fuses in diffusion models.
    """
    if is_collective(layer):
        return _of_all_ranks(layer, precision)
    layer = _rounded_constants(_exact(layer), precision)
    model = layer_model(layer, precision)
    if compute := _in_numpy(layer):
        values = _values(layer, model)
        return Reference(values, compute(layer, values))
    outputs = _computed(layer, model, threads)
    if any(map(_has_nan, outputs)):
        # A root or a logarithm of what other operators computed wants it positive.
        _make_positive(model)
        outputs = _computed(layer, model, threads)
    values = _values(layer, model)
    return Reference(values, in_place(layer, values, outputs))


def _in_numpy(layer: Layer) -> Callable[[Layer, Mapping[int, Array]], list[Array]] | None:
    """What computes a layer that ONNX Runtime doesn't run on CPUs; None for others."""
    if is_mixture(layer):
        return lambda mixed, values: [mixture(mixed, values)]
    if is_paged(layer):
        return paged
    if is_of_diffusion(layer):
        return diffused
    if len(layer.operators) == 1 and is_packed(layer, layer.operators[0]):
        return attended
    return grouped if is_in_float8(layer) else None


def _of_all_ranks(layer: Layer, precision: Precision) -> Reference:
    """The first rank's input, of which those of the others are made, and the result."""
    operator, (position,) = layer.operators[0], layer.inputs()
    first, ranks = random_value(layer, position, precision), operator.integer("group_size")
    if operator.op_type == ALL_REDUCE:
        return Reference({position: first}, [all_reduced(first, ranks)])
    return Reference({position: first}, [all_gathered(first, ranks, operator.integer("axis"))])


class CpuLayer:
    """A layer as ONNX Runtime computes it in float32 on the CPU, with so many threads; what it
    doesn't run as NumPy does.

    `given` holds the weights by position. Constants of known values are rounded to the precision.
    Raises what `layer_model` and ONNX Runtime raise.
    """

    def __init__(
        self, layer: Layer, given: Mapping[int, Array], precision: Precision, threads: int
    ) -> None:
        self._layer = layer
        self._given = {**_known(layer), **given}
        if _in_numpy(layer):
            return
        model = layer_model(_rounded_constants(_exact(layer), precision))
        self._inputs = [int(name.removeprefix("t")) for name in model.inputs]
        weights = {name: given[int(name.removeprefix("t"))] for name in model.constants}
        self._session = _session(replace(model, constants=weights), threads)

    def results(self, values: Mapping[int, Array]) -> list[Array]:
        """The layer's outputs for these inputs, by position."""
        if compute := _in_numpy(self._layer):
            return compute(self._layer, {**self._given, **values})
        inputs = {f"t{index}": values[index] for index in self._inputs}
        results = _results(self._session, self._layer, inputs)
        return in_place(self._layer, {**self._given, **values}, results)


def _computed(layer: Layer, model: LayerModel, threads: int) -> list[Array]:
    return _results(_session(model, threads), layer, model.inputs)


def _session(model: LayerModel, threads: int) -> ort.InferenceSession:
    options = session_options(model.constants, CPU, threads)
    return ort.InferenceSession(model.proto.SerializeToString(), options, providers=[CPU.name])


def _results(
    session: ort.InferenceSession, layer: Layer, inputs: Mapping[str, Array]
) -> list[Array]:
    # ONNX Runtime takes no arrays of types that NumPy lacks, and returns such as their bits.
    given = {n: a if a.dtype.isbuiltin == 1 else on_cpu(a) for n, a in inputs.items()}
    arrays: list[Array] = session.run([f"t{index}" for index in layer.outputs], given)
    types = [numpy_dtype(layer.tensors[index].dtype) for index in layer.outputs]
    return [
        array if dtype.isbuiltin == 1 else array.view(dtype)
        for array, dtype in zip(arrays, types, strict=True)
    ]


def _exact(layer: Layer) -> Layer:
    """Without attributes that let an operator round its inputs to fewer bits, and with operators
    that ONNX Runtime has in its own domain, but not yet in ONNX's.
    """
    operators = tuple(
        msgspec.structs.replace(
            operator, attributes=tuple(a for a in operator.attributes if a.name != ACCURACY)
        )
        for operator in map(_own, layer.operators)
    )
    return msgspec.structs.replace(layer, operators=operators)


def _own(operator: Operator) -> Operator:
    if operator.domain or operator.op_type not in KEEPING_STATES:
        return operator
    return msgspec.structs.replace(operator, domain="com.microsoft", version=1)


def _has_nan(array: Array) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _make_positive(model: LayerModel) -> None:
    for arrays in (model.constants, model.inputs):
        for name, array in arrays.items():
            if array.dtype.kind == "f":
                arrays[name] = np.asarray(np.abs(array))


def random_inputs(layer: Layer, precision: Precision) -> dict[int, Array]:
    """The same inputs by position, without the outputs. Raises what `layer_model` raises."""
    layer = _rounded_constants(layer, precision)
    return _values(layer, layer_model(layer, precision))


def _rounded_constants(layer: Layer, precision: Precision) -> Layer:
    wanted = {
        index
        for operator in layer.operators
        for slot, index in enumerate(operator.inputs)
        if operator.op_type not in SCALED
        and (types := formal_types(operator, slot, output=False))
        and len(types & FLOATS) == 1
    }
    dtype = numpy_dtype(PRECISIONS[precision].element_type)
    tensors = tuple(
        msgspec.structs.replace(tensor, value=_rounded_value(tensor.value, dtype))
        if tensor.value is not None and tensor.dtype == "float32" and index not in wanted
        else tensor
        for index, tensor in enumerate(layer.tensors)
    )
    return msgspec.structs.replace(layer, tensors=tensors)


def _rounded_value(data: bytes, dtype: np.dtype[Any]) -> bytes:
    with np.errstate(over="ignore"):
        return np.frombuffer(data, np.float32).astype(dtype).astype(np.float32).tobytes()


def _values(layer: Layer, model: LayerModel) -> dict[int, Array]:
    given = model.constants | model.inputs
    values = {index: given[f"t{index}"] for index in layer.inputs() if f"t{index}" in given}
    for index in layer.inputs():
        if layer.tensors[index].value is None and index not in values:
            values[index] = random_value(layer, index)  # The model itself holds small weights.
    return values | _known(layer)


def _known(layer: Layer) -> dict[int, Array]:
    """The constants of known values, by position."""
    return {
        index: np.frombuffer(tensor.value, numpy_dtype(tensor.dtype)).reshape(tensor.shape)
        for index in layer.inputs()
        if (tensor := layer.tensors[index]).value is not None
    }
