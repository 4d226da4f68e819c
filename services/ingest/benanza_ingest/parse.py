"""From the bytes of an ONNX file to a checked `ModelProto` whose weights' data are gone."""

from collections.abc import Iterable, Iterator
from math import prod
from pathlib import PurePosixPath, PureWindowsPath

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, inliner

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import NODES_SETTING, TENSOR_ELEMENTS_SETTING, Limits

KEPT_ELEMENTS = 1 << 13
"""Constants up to this size keep their data: a shape or an axis is never larger."""

STRIPPED_FROM_BYTES = 1 << 22
"""Files up to this size keep the data of their weights, which can't be large."""


def parse(content: bytes, limits: Limits) -> ModelProto:
    """The model in an ONNX file, functions inlined, without the data of its weights.

    External data are never opened. Raises `ModelError` for what is no ONNX model, is over the
    limits, or points outside its folder.
    """
    model = _decode(content)
    if len(content) > STRIPPED_FROM_BYTES and _strip_weights(model.graph):
        # Protobuf keeps what was cleared until the whole message goes: make a small one.
        model = ModelProto.FromString(model.SerializeToString())
    if model.functions:
        model = _inline(model, limits)
    _check_count(len(model.graph.node), limits)
    return model


def opset_imports(model: ModelProto) -> dict[str, int]:
    """The opset version of each operator domain that the model names; `ai.onnx` is ``""``."""
    return {_domain(entry.domain): entry.version for entry in model.opset_import}


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The bodies of a control-flow operator."""
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _decode(content: bytes) -> ModelProto:
    try:
        model: ModelProto = ModelProto.FromString(content)
    except DecodeError as error:
        raise ModelError(
            "not an ONNX model: the file is cut off or of another format; "
            "export or download it again"
        ) from error
    if not model.HasField("graph") or not model.opset_import:
        raise ModelError("not an ONNX model: it has no graph or no opset; export it again")
    newest = onnx.defs.onnx_opset_version()
    version = opset_imports(model).get("", 0)
    if version > newest:
        raise ModelError(
            f"the model uses opset {version}, and the installed onnx package knows up to "
            f"{newest}; upgrade onnx, or export with a lower opset"
        )
    return model


def _strip_weights(graph: GraphProto) -> bool:
    """Drops the data of large constants; says whether there were any."""
    stripped = False
    for tensor in graph.initializer:
        stripped |= _strip(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                stripped |= _strip(attribute.t)
            elif attribute.type == AttributeProto.GRAPH:
                stripped |= _strip_weights(attribute.g)
    return stripped


def _strip(tensor: TensorProto) -> bool:
    if tensor.data_location == TensorProto.EXTERNAL or prod(tensor.dims) <= KEPT_ELEMENTS:
        return False
    for field in ("raw_data", "float_data", "double_data", "int32_data", "int64_data"):
        tensor.ClearField(field)
    tensor.ClearField("uint64_data")
    tensor.ClearField("string_data")
    # What has no data here is external as far as shape inference is concerned.
    tensor.data_location = TensorProto.EXTERNAL
    return True


def weight_dims(tensor: TensorProto, limits: Limits) -> tuple[int, ...]:
    """The shape of a weight. Raises `ModelError` for one that can't be, or is too large, and
    for external data outside the model's folder, though they are never opened."""
    dims = tuple(tensor.dims)
    if dims and min(dims) < 0:
        raise ModelError(f"weight {tensor.name!r} has a negative dimension; export it again")
    check_elements(tensor.name, dims, limits)
    if tensor.data_location == TensorProto.EXTERNAL:
        _check_location(tensor)
    return dims


def check_elements(name: str, shape: tuple[int, ...], limits: Limits) -> None:
    """Raises `ModelError` for a tensor of more elements than the limits allow."""
    if prod(shape) > limits.tensor_elements:
        raise ModelError(
            f"tensor {name!r} of shape {list(shape)} has more than {limits.tensor_elements:,} "
            f"elements; check its dimensions, or raise {TENSOR_ELEMENTS_SETTING}"
        )


def _check_location(tensor: TensorProto) -> None:
    for entry in tensor.external_data:
        if entry.key != "location":
            continue
        posix, windows = PurePosixPath(entry.value), PureWindowsPath(entry.value)
        outside = posix.is_absolute() or bool(windows.anchor)
        if outside or ".." in posix.parts or ".." in windows.parts:
            raise ModelError(
                f"weight {tensor.name!r} has its data at {entry.value!r}, outside the model's "
                "folder; save the model again with a plain file name for its external data"
            )


def _inline(model: ModelProto, limits: Limits) -> ModelProto:
    _check_function_size(model, limits)
    try:
        inlined: ModelProto = inliner.inline_local_functions(model)
    except Exception as error:
        raise ModelError(f"the model's functions can't be inlined: {_line(error)}") from error
    return inlined


def _check_function_size(model: ModelProto, limits: Limits) -> None:
    """Nodes after inlining, found before it: functions that call functions grow fast."""
    bodies = {(_domain(f.domain), f.name): f.node for f in model.functions}
    sizes: dict[tuple[str, str], int] = {}
    under_way: set[tuple[str, str]] = set()

    def size(key: tuple[str, str]) -> int:
        if key in under_way:
            raise ModelError(f"function {key[1]!r} calls itself; export the model again")
        if key not in sizes:
            under_way.add(key)
            sizes[key] = count(bodies[key])
            under_way.remove(key)
        return sizes[key]

    def count(nodes: Iterable[NodeProto]) -> int:
        total = 0
        for node in nodes:
            key = (_domain(node.domain), node.op_type)
            total += size(key) if key in bodies else 1
            total += sum(count(graph.node) for graph in subgraphs(node))
        return total

    _check_count(count(model.graph.node), limits)


def _check_count(nodes: int, limits: Limits) -> None:
    if nodes > limits.nodes:
        raise ModelError(
            f"the model has {nodes:,} nodes, more than {limits.nodes:,}; raise {NODES_SETTING} "
            "to take it on"
        )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
