"""A file as it is, ready for a framework: with its own weights, and others where it lacks them."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from math import prod

from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper, numpy_helper

from benanza.profiling.made_up import Readers
from benanza_ingest.extract import Wired
from benanza_ingest.layering.layers import Layers
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import opset_imports, subgraphs
from benanza_ingest.resolving.graph import Graph, captured_names, make_node
from benanza_ingest.resolving.types import Types
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import placeholder
from benanza_schemas.element_types import BITS, FROM_ONNX, TO_ONNX
from benanza_schemas.layer import OMITTED

FEW_ELEMENTS = 16
"""Weights of up to so many stay in the file: they may be axes or scales, which decide shapes."""


def as_it_is(
    file: ModelProto, wired_model: Wired, readers: Readers, limits: Limits
) -> dict[str, Array]:
    """Takes the weights out of a bound file, in place, and returns them by name; what it lacks is
    made up. `wired_model` holds the file's layers, which are among the `readers`.

    Outputs get the types that are known of them. Raises `ModelError` as `Readers` does.
    """
    _drop_unread(file.graph)
    _add_readers_of_constants(file, wired_model.graph, readers, limits)
    _fill(file.graph, readers)
    deciding = {
        name
        for node, extracted in zip(wired_model.graph.nodes, wired_model.wiring.layers, strict=True)
        if extracted.layer is not None
        for index, name in zip(extracted.layer.operators[0].inputs, node.inputs, strict=False)
        if index != OMITTED and extracted.layer.tensors[index].value is not None
    }
    weights = _external_weights(file.graph, deciding, readers)
    _type_outputs(file.graph, wired_model.graph.types)
    return weights


def _drop_unread(graph: GraphProto) -> None:
    """ONNX Runtime drops weights that nothing reads, and then takes no values for them."""
    read = {value.name for value in graph.output}
    for node in graph.node:
        read.update(node.input)
        read.update(captured_names(node))
    unread = {tensor.name for tensor in graph.initializer} - read
    for part in (graph.initializer, graph.input):  # older files list weights among the inputs, too
        for index in reversed(range(len(part))):
            if part[index].name in unread:
                del part[index]


def _add_readers_of_constants(
    file: ModelProto, graph: Graph, readers: Readers, limits: Limits
) -> None:
    """Adds what reads weights that the file lacks, and is no layer as it reads constants alone."""
    maker = Layers(graph, opset_imports(file), limits)
    lacking = {tensor.name for tensor in file.graph.initializer if lacks(tensor)}
    live = {name for node in graph.nodes for name in node.outputs}
    for proto in file.graph.node:
        if not lacking.isdisjoint(proto.input) and live.isdisjoint(proto.output):
            layer = maker.layer(make_node(proto)).layer
            if layer is not None:
                readers.add(layer, proto.input)


def lacks(tensor: TensorProto) -> bool:
    """Whether a file has a weight's shape and type only."""
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def _fill(graph: GraphProto, readers: Readers) -> None:
    """Makes up what nodes lack, in attributes and in bodies."""
    for name, tensor in _within_nodes(graph):
        if lacks(tensor):
            made = readers.weight(name, _dtype(tensor), tuple(tensor.dims))
            tensor.CopyFrom(numpy_helper.from_array(made, tensor.name))


def _within_nodes(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    """The tensors in attributes and in bodies, each with the name of the value that it is."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield next(iter(node.output), ""), attribute.t
        for body in subgraphs(node):
            yield from ((tensor.name, tensor) for tensor in body.initializer)
            yield from _within_nodes(body)


def _external_weights(
    graph: GraphProto, deciding: AbstractSet[str], readers: Readers
) -> dict[str, Array]:
    """The weights but for those that may decide shapes, and those smaller than a byte: of them,
    what the file lacks is put into it.
    """
    weights = {}
    for tensor in graph.initializer:
        name, dtype, shape = tensor.name, _dtype(tensor), tuple(tensor.dims)
        many = tensor.name not in deciding and prod(shape) > FEW_ELEMENTS
        if lacks(tensor):
            array = readers.weight(name, dtype, shape)
        elif many and dtype in BITS:
            array = numpy_helper.to_array(tensor)
        else:
            continue
        if many and BITS[dtype] >= 8:
            weights[name] = array
            tensor.CopyFrom(placeholder(name, tensor.data_type, shape))
        else:
            tensor.CopyFrom(numpy_helper.from_array(array, name))
    return weights


def _dtype(tensor: TensorProto) -> str:
    return FROM_ONNX.get(tensor.data_type, "string")


def _type_outputs(graph: GraphProto, types: Types) -> None:
    for output in graph.output:
        known = types.get(output.name)
        if known is not None and known.resolved:
            kind = TO_ONNX[known.dtype]
            output.CopyFrom(helper.make_tensor_value_info(output.name, kind, known.dims()))
