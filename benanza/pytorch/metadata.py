"""What an export says of the PyTorch model that it was made of, in the file's `metadata_props`."""

import ast
from collections.abc import Iterator
from itertools import chain

from google.protobuf.message import Message
from onnx import ModelProto, NodeProto

MODEL = "benanza.pytorch.model"
"""Of the model: its name, as in `benanza.pytorch.names`."""

BATCH = "benanza.pytorch.batch"
"""Of the model: the batch size that it was exported at."""

NODE = "benanza.pytorch.node"
"""Of a node: the name of the FX node that it was made for, as `conv2d_3`."""

SCOPES = "pkg.torch.onnx.name_scopes"
"""Where PyTorch's exporter writes the names of the modules around an FX node, and last its own."""


def properties(part: ModelProto | NodeProto) -> dict[str, str]:
    """The `metadata_props` of a model or of a node."""
    return {entry.key: entry.value for entry in part.metadata_props}


def mark(exported: ModelProto, name: str, batch: int) -> None:
    """Leaves of what PyTorch's exporter wrote of a model's origin only the names of FX nodes, and
    adds the name of the model and its batch size. Stack traces are most of such a file.
    """
    for node in _nodes(exported):
        origin = _origin(node)
        _clear(node)
        if origin:
            node.metadata_props.add(key=NODE, value=origin)
    graph = exported.graph
    for part in (exported, graph, *graph.input, *graph.output, *graph.value_info):
        _clear(part)
    for part in (*graph.initializer, *exported.functions):
        _clear(part)
    exported.metadata_props.add(key=MODEL, value=name)
    exported.metadata_props.add(key=BATCH, value=str(batch))


def origins_in(model: ModelProto) -> dict[str, str]:
    """The name of the FX node by the name of the first value that its node writes. A model that
    wasn't exported by `benanza export` has none.
    """
    outputs_and_origins = ((node.output, properties(node).get(NODE)) for node in model.graph.node)
    return {outputs[0]: origin for outputs, origin in outputs_and_origins if outputs and origin}


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    return chain(model.graph.node, *(function.node for function in model.functions))


def _origin(node: NodeProto) -> str:
    """The exporter writes a list as Python does."""
    scopes = ast.literal_eval(properties(node).get(SCOPES, "[]"))
    return str(scopes[-1]) if scopes else ""


def _clear(part: Message) -> None:
    part.ClearField("metadata_props")
    part.ClearField("doc_string")
