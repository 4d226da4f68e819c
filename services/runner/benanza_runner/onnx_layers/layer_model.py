"""A layer as an ONNX model that can be run."""

from dataclasses import dataclass

import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper

from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.onnx_schemas import new_attributes, opsets, schema
from benanza_runner.onnx_layers.random_values import random_value
from benanza_schemas.element_types import BITS, TO_ONNX
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator, Precision, TensorValue

IR_VERSION = 10
"""The IR version of the models made here, which every ONNX Runtime knows since 1.18."""

LEAST_OUTPUTS = {"EmbedLayerNormalization": 2}
"""Of operators whose second result is optional, but whose node ONNX Runtime refuses if it has no
place for it.
"""


class LayerModelError(ValueError):
    """No model can be made of a layer; the text says why."""


@dataclass(frozen=True)
class LayerModel:
    """A model, and the tensors that it is run with.

    `constants` are weights. The model names them as initializers with external data, and the
    session gets the arrays themselves, so that no weight is copied or serialised. `inputs` are the
    graph's inputs.
    """

    proto: ModelProto
    constants: dict[str, Array]
    inputs: dict[str, Array]


READ_AT_ONCE = {("", "AffineGrid"): (1,)}
"""The inputs of operators whose shapes ONNX infers from elements: it refuses weights that are
handed to the session.
"""


def layer_model(layer: Layer, precision: Precision = "fp32") -> LayerModel:
    """The layer as a model with random inputs and weights, none of them zero. Those of float32 are
    rounded to the precision.

    Constants whose values decide what the layer does keep these values. The model's outputs are all
    tensors that no operator of the layer reads: a session writes them anyway, and so they can be
    bound to memory of ours. Raises `LayerModelError`, and `UnknownVersionError` as `opsets` does.
    """
    graph = onnx.GraphProto(name="layer")
    constants: dict[str, Array] = {}
    inputs: dict[str, Array] = {}
    read_at_once = {
        operator.inputs[place]
        for operator in layer.operators
        for place in READ_AT_ONCE.get((operator.domain, operator.op_type), ())
        if place < len(operator.inputs)
    }
    for index in layer.inputs():
        tensor = layer.tensors[index]
        if tensor.dtype not in BITS:
            raise LayerModelError(f"{layer.title()} reads {tensor.dtype}, which can't be timed")
        name = _name(index)
        if tensor.value is not None:
            graph.initializer.append(_tensor(name, tensor.dtype, tensor.shape, tensor.value))
        elif BITS[tensor.dtype] < 8:
            if not tensor.constant:
                raise LayerModelError(
                    f"{layer.title()} reads {tensor.dtype} which is no weight; "
                    "only weights may have elements smaller than a byte"
                )
            packed: TensorProto = onnx.numpy_helper.from_array(random_value(layer, index), name)
            graph.initializer.append(packed)
        elif tensor.constant and index in read_at_once:
            elements = random_value(layer, index)
            graph.initializer.append(onnx.numpy_helper.from_array(elements, name))
        elif tensor.constant:
            constants[name] = random_value(layer, index, precision)
            graph.initializer.append(placeholder(name, TO_ONNX[tensor.dtype], tensor.shape))
        else:
            inputs[name] = random_value(layer, index, precision)
            graph.input.append(_value_info(layer, index))
    graph.node.extend(_node(operator) for operator in layer.operators)
    read = {index for operator in layer.operators for index in operator.inputs}
    written = [index for operator in layer.operators for index in operator.outputs]
    for index in written:
        if index != OMITTED and (index not in read or index in layer.outputs):
            graph.output.append(_value_info(layer, index))
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets(layer).items()]
    proto = helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION)
    return LayerModel(proto, constants, inputs)


def placeholder(name: str, onnx_type: int, shape: tuple[int, ...]) -> TensorProto:
    """An initializer whose elements are handed to the session."""
    tensor = TensorProto(
        name=name, data_type=onnx_type, dims=shape, data_location=TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value="in memory")
    return tensor


def _name(index: int) -> str:
    return "" if index == OMITTED else f"t{index}"


def _tensor(name: str, dtype: str, shape: tuple[int, ...], data: bytes) -> TensorProto:
    return TensorProto(name=name, data_type=TO_ONNX[dtype], dims=shape, raw_data=data)


def _value_info(layer: Layer, index: int) -> onnx.ValueInfoProto:
    tensor = layer.tensors[index]
    info: onnx.ValueInfoProto = helper.make_tensor_value_info(
        _name(index), TO_ONNX[tensor.dtype], tensor.shape
    )
    return info


def _node(operator: Operator) -> NodeProto:
    node = NodeProto(op_type=operator.op_type, domain=operator.domain)
    node.input.extend(_name(index) for index in operator.inputs)
    node.output.extend(_name(index) for index in operator.outputs)
    node.output.extend([""] * (LEAST_OUTPUTS.get(operator.op_type, 0) - len(node.output)))
    node.attribute.extend(
        _attribute(operator, attribute)
        for attribute in operator.attributes
        if not _says_nothing(operator, attribute)
    )
    return node


def _says_nothing(operator: Operator, attribute: Attribute) -> bool:
    """Whether it is a default that ONNX Runtime doesn't know once it made a pooling of integers of
    the operator, or that is newer than the operator that it has.
    """
    ones = isinstance(attribute.value, tuple) and set(attribute.value) == {1}
    if attribute.name == "dilations" and ones:
        return True
    definition = schema(operator)
    if definition is None or attribute.name not in new_attributes(operator):
        return False
    default = definition.attributes[attribute.name].default_value
    return bool(default.type) and helper.get_attribute_value(default) == attribute.value


def _attribute(operator: Operator, attribute: Attribute) -> onnx.AttributeProto:
    value: object = attribute.value
    if isinstance(value, TensorValue):
        value = _tensor("", value.dtype, value.shape, value.data)
    kind = None
    if value == ():
        # An empty list doesn't say what it would hold; the standard does.
        definition = schema(operator)
        known = definition and definition.attributes.get(attribute.name)
        name = str(known.type).removeprefix("AttrType.") if known else "INTS"
        kind = onnx.AttributeProto.AttributeType.Value(name)
    proto: onnx.AttributeProto = helper.make_attribute(attribute.name, value, attr_type=kind)
    return proto
