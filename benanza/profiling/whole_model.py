"""A whole model as a framework runs it: with random inputs, and as its file is wherever that runs.

Its nodes are named by the positions of the layers that they compute, so that a framework's calls
can be joined to these.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from onnx import GraphProto, ModelProto, NodeProto

from benanza.profiling.as_it_is import as_it_is, lacks
from benanza.profiling.from_layers import from_layers, is_light
from benanza.profiling.made_up import Readers
from benanza.pytorch.metadata import MODEL, origins_in, properties
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import Wired, wired
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import decode, inlined, subgraphs
from benanza_ingest.resolving.bind import bind
from benanza_ingest.states.as_written import nodes_as_written
from benanza_runner.arrays import Array
from benanza_runner.reasons import short_reason
from benanza_schemas.element_types import FLOATS

Arrays = dict[str, Array]

_NAMED = re.compile(r"benanza_layer_(\d+)_")


class WholeModel(NamedTuple):
    """A model with its weights, which a session is given apart, and its inputs, by name.

    `layers` holds a node for each layer, in their order, with the values that it reads and writes;
    `proto` may have other nodes as well, such as those that read constants alone. `metadata` are
    the `metadata_props` of the file. `origins` holds for each layer the name of the FX node that
    `benanza export` wrote beside the node that computes it, "" where there is none.
    """

    proto: ModelProto
    layers: GraphProto
    weights: Arrays
    inputs: Arrays
    metadata: Mapping[str, str]
    origins: tuple[str, ...]


def positions_in(name: str) -> tuple[int, ...]:
    """The positions of the layers that a framework's name of a node mentions."""
    return tuple(int(position) for position in _NAMED.findall(name))


def named_after(positions: Iterable[int]) -> str:
    """A name in which `positions_in` finds these positions."""
    return "".join(f"benanza_layer_{position}_" for position in positions)


def float_types(model: WholeModel) -> set[str]:
    """The types of floats that the model's file has."""
    arrays = (*model.weights.values(), *model.inputs.values())
    return {str(array.dtype) for array in arrays if array.dtype.name in FLOATS}


def whole_model(
    content: bytes,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
) -> WholeModel:
    """The model in a file, of which `content` has all bytes; `batch`, `dims` and `limits` as for
    `extract`, whose layers have the same positions.

    Layers that are skipped there are in it, too. Only a file of fixed size that is asked for at
    another batch size, one without weights, and one that `benanza export` wrote, is made anew, of
    its layers. Raises `ModelError` as `extract` does, for inputs that can't be made up, and, if it
    has to be made of layers, for one that had to be skipped.
    """
    try:
        return _whole(content, batch, dims or {}, limits or Limits())
    except (TypeError, ValueError) as error:  # no value of some type can be made up
        raise ModelError(short_reason(f"the model's inputs can't be made up: {error}")) from error


def _whole(
    content: bytes, batch: int | None, dims: Mapping[str, int], limits: Limits
) -> WholeModel:
    wired_model = wired(content, batch=batch, dims=dims, limits=limits)
    graph = wired_model.graph
    readers = Readers()
    nodes = nodes_as_written(graph, wired_model.states)
    for node, extracted in zip(nodes, wired_model.wiring.layers, strict=True):
        if extracted.layer is not None:
            readers.add(extracted.layer, node.inputs)
    file = decode(content)
    metadata, origins = properties(file), origins_in(file)
    made = _from_layers(file, wired_model)
    if made is not None:
        proto, weights = made
    else:
        proto = inlined(file, limits)
        bind(proto, batch, {**dims, **wired_model.binding.implied})
        weights = as_it_is(proto, wired_model, readers, limits)
    written: dict[str, set[int]] = {}
    for position, node in enumerate(nodes):
        for name in filter(None, (*node.outputs, node.part_of)):
            written.setdefault(name, set()).add(position)
    for number, proto_node in enumerate(proto.graph.node):
        _name(proto_node, written, f"benanza_node_{number}_")
    layers = [
        NodeProto(op_type=node.op_type, domain=node.domain, input=node.inputs, output=node.outputs)
        for node in nodes
    ]
    return WholeModel(
        proto=proto,
        layers=GraphProto(node=layers),
        weights=weights,
        inputs=_inputs(wired_model, readers),
        metadata=metadata,
        origins=tuple(origins.get(node.outputs[0], "") for node in nodes),
    )


def _from_layers(file: ModelProto, wired_model: Wired) -> tuple[ModelProto, Arrays] | None:
    """The model made anew, of its layers, if it has to be; `None` if the file runs as it is.

    `benanza export` writes what PyTorch's exporter found, without weights. That isn't optimised:
    ONNX Runtime would convert numbers to the type of a tensor at each run, and fuse nothing that
    reads them.
    """
    if wired_model.binding.own is not None:
        return from_layers(file, wired_model)
    if any(layer.layer is None for layer in wired_model.wiring.layers):
        return None
    if is_light(file, wired_model):
        return from_layers(file, wired_model)
    if MODEL in properties(file) and any(lacks(tensor) for tensor in file.graph.initializer):
        with suppress(ModelError):  # of a state in a form of its own, say
            return from_layers(file, wired_model)
    return None


def _inputs(wired_model: Wired, readers: Readers) -> Arrays:
    inputs = {}
    for name in (value.name for value in wired_model.binding.inputs):
        known = wired_model.graph.types.get(name)
        if known is None or not known.resolved:
            hint = wired_model.graph.causes.of(name).hint()
            raise ModelError(f"its input {name!r} can't be made up: {hint}")
        inputs[name] = readers.input(name, known)
    return inputs


def _name(
    node: NodeProto, written: Mapping[str, set[int]], other: str, prefix: str = ""
) -> set[int]:
    """Names a node by the layers that it computes, or otherwise, and returns these. What stands in
    the branch of an If that always runs is layers of the model, by names that start with the If's.
    """
    positions = set[int]().union(*(written.get(prefix + v, ()) for v in node.output if v))
    inner = f"{prefix}{next(filter(None, node.output), '')}/"
    bodies = list(subgraphs(node))
    for body in bodies:
        for number, inner_node in enumerate(body.node):
            positions |= _name(inner_node, written, f"{other}{number}_", inner)
    named = named_after(sorted(positions))
    node.name = named if named and not bodies else other + named
    return positions
