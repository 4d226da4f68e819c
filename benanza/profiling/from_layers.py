"""A model made of its layers: its file has no weights, or fits no batch size but its own.

What the model computes from constants stands in it as a constant.
"""

from math import prod

import numpy as np
from onnx import GraphProto, ModelProto, helper, numpy_helper

from benanza.profiling.made_up import Weights
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import Wired
from benanza_ingest.groups.quantised.units import DEQUANTISE, QUANTISE
from benanza_ingest.states.as_written import nodes_as_written
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import placeholder
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.layer import OMITTED


def is_light(file: ModelProto, wired_model: Wired) -> bool:
    """Whether most weights of a file are computed by ConstantOfShape, as in onnx's light models:
    then it lacks them. ONNX Runtime would fill them with one number at each run.
    """
    graph = wired_model.graph
    filled = (
        graph.types.get(node.output[0])
        for node in file.graph.node
        if node.op_type == "ConstantOfShape" and node.output and node.output[0] in graph.constants
    )
    elements = sum(
        tensor_type.elements()
        for tensor_type in filled
        if tensor_type is not None and tensor_type.resolved
    )
    return elements > sum(prod(tensor.dims) for tensor in file.graph.initializer)


def from_layers(file: ModelProto, wired_model: Wired) -> tuple[ModelProto, dict[str, Array]]:
    """The model at the batch size that was bound, and its weights, by name; `file` is that of its
    own batch size.

    Raises `ModelError` for a layer that had to be skipped, for an output of unknown type, and where
    a state is read in another form than its copy has.
    """
    graph = wired_model.graph
    whole = GraphProto(name="whole")
    weights: dict[str, Array] = {}
    made_up = Weights()
    nodes = nodes_as_written(graph, wired_model.states)
    for node, extracted in zip(nodes, wired_model.wiring.layers, strict=True):
        layer = extracted.layer
        if layer is None:
            raise ModelError(
                f"{extracted.name} can't be run at another batch size than the file's: "
                f"{extracted.reason}"
            )
        proto = whole.node.add()
        proto.CopyFrom(node.proto)
        proto.input[:], proto.output[:] = node.inputs, node.outputs
        for index, name in zip(layer.operators[0].inputs, node.inputs, strict=False):
            if index == OMITTED or not layer.tensors[index].constant or name in weights:
                continue
            known = graph.constants.value(name)
            # Several tables of different sizes may be read at the same index, equal scales leave
            # nothing to do, and by single numbers frameworks know functions.
            decides = (
                layer.tensors[index].value is not None
                or "int" in layer.tensors[index].dtype
                or extracted.op in (QUANTISE, DEQUANTISE)
                or prod(layer.tensors[index].shape) == 1
            )
            if decides and known is not None:
                whole.initializer.append(numpy_helper.from_array(np.asarray(known), name))
                weights[name] = known
                continue
            tensor = layer.tensors[index]
            weights[name] = made_up.of(layer, index)
            whole.initializer.append(placeholder(name, TO_ONNX[tensor.dtype], tensor.shape))
    written = {tensor.name for tensor in whole.initializer if tensor.raw_data}
    whole.input.extend(wired_model.binding.inputs)
    written_as = {
        state.writer: state.as_written.first_output()
        for state in wired_model.states
        if state.as_written is not None
    }
    for name in dict.fromkeys(written_as.get(name, name) for name in graph.outputs):
        output = graph.types.get(name)
        if output is None:
            raise ModelError(f"the type of its output {name} is not known")
        onnx_type = TO_ONNX[output.dtype]
        whole.output.append(helper.make_tensor_value_info(name, onnx_type, output.dims()))
    given = {value.name for value in whole.input} | {tensor.name for tensor in whole.initializer}
    given.update(name for node in whole.node for name in node.output)
    for made_node in whole.node:
        if not given.issuperset(filter(None, made_node.input)):
            raise ModelError(
                f"{made_node.op_type} keeps a state in a form of its own, so the model runs only "
                "as its file is: give the file with its weights, at its own batch size"
            )
    made = ModelProto(ir_version=file.ir_version, graph=whole, opset_import=file.opset_import)
    newest = max((node.opset for node in nodes), default=0)
    for opset in made.opset_import:  # 24, if any, in which all of 23 means the same
        if opset.domain in ("", "ai.onnx"):
            opset.version = max(opset.version, newest)
    return made, {name: array for name, array in weights.items() if name not in written}
