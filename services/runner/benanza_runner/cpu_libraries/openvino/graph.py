"""A layer as OpenVINO reads it, and what it runs of it."""

import numpy as np
import openvino as ov
from onnx import ModelProto, numpy_helper

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.copies import replicated
from benanza_runner.onnxruntime.graph import UNFOLDED_FROM_BYTES

CONSTANT = "Const"
BORDERS = frozenset(("Input", "Output"))
BY_BITS = {
    "bfloat16": ov.Type.bf16,
    "float8_e4m3fn": ov.Type.f8e4m3,
    "float8_e5m2": ov.Type.f8e5m2,
}
"""Types that NumPy lacks, of which OpenVINO takes and gives the bits."""

LEFT_OUT = frozenset(("Reorder", "Reshape"))
"""Conversions of layouts and types, and views."""


def read(core: ov.Core, model: LayerModel, copies: int) -> ov.Model:
    """So many copies of the layer, with inputs of their own and the same weights.

    With the same inputs, copies would share the conversion of what they read. Raises whatever
    OpenVINO raises when it doesn't know an operator.
    """
    proto = replicated(model.proto, copies, own_inputs=True)
    large = {
        name: array
        for name, array in model.constants.items()
        if array.nbytes >= UNFOLDED_FROM_BYTES and "int" not in array.dtype.name
    }
    _with_weights(proto, model, large)
    made = core.read_model(proto.SerializeToString())
    for parameter in made.get_parameters():
        name = parameter.get_friendly_name()
        if name in large:
            weights = ov.op.Constant(tensor(large[name]), shared_memory=True)
            parameter.output(0).replace(weights.output(0))
            made.remove_parameter(parameter)
    return made


def _with_weights(proto: ModelProto, model: LayerModel, large: dict[str, Array]) -> None:
    """Puts the weights into the model. The large ones, which would take long, become inputs."""
    for initializer in list(proto.graph.initializer):
        name = initializer.name
        if name in large:
            proto.graph.initializer.remove(initializer)
            info = proto.graph.input.add(name=name)
            info.type.tensor_type.elem_type = initializer.data_type
            for size in initializer.dims:
                info.type.tensor_type.shape.dim.add(dim_value=size)
        elif name in model.constants:
            initializer.CopyFrom(numpy_helper.from_array(model.constants[name], name))


def tensor(array: Array) -> ov.Tensor:
    """An array as OpenVINO takes it, on the same memory; a single number is copied."""
    if array.dtype.name in BY_BITS:
        bits = array.view(f"uint{8 * array.itemsize}")
        return ov.Tensor(bits, array.shape, BY_BITS[array.dtype.name])
    if not array.shape:
        number = ov.Tensor(ov.Type(array.dtype), ov.Shape())
        number.data[...] = array
        return number
    return ov.Tensor(array, shared_memory=True)


def array_of(result: ov.Tensor) -> Array:
    """A copy of what OpenVINO computed."""
    array = np.array(result.data)
    for name, element in BY_BITS.items():
        if result.element_type == element:
            return array.view(name)
    return array


def executed(compiled: ov.CompiledModel) -> list[str]:
    """The operators that run at each call, in order, each with the name of its implementation.

    Views and conversions of layouts or types count only where there is nothing else.
    """
    constant: set[str] = set()
    ran: dict[bool, list[str]] = {True: [], False: []}
    for node in compiled.get_runtime_model().get_ordered_ops():
        said = node.get_rt_info()
        kind = said["layerType"].astype(str)
        before = [value.get_node().get_friendly_name() for value in node.input_values()]
        if kind == CONSTANT or (before and constant.issuperset(before)):
            constant.add(node.get_friendly_name())
        elif kind not in BORDERS:
            ran[kind in LEFT_OUT].append(f"{kind} {said['primitiveType'].astype(str)}")
    return ran[False] or ran[True]
