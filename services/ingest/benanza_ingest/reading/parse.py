"""Decodes an ONNX file into a checked `ModelProto` without the data of its weights."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from math import prod
from pathlib import PurePosixPath, PureWindowsPath

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, inliner

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import NODES_SETTING, TENSOR_ELEMENTS_SETTING, Limits
from benanza_ingest.reading.strip import strip
from benanza_ingest.resolving.inferring.axes import GROWING
from benanza_ingest.resolving.operators import schema

KEPT_ELEMENTS = 1 << 13
"""Constants of up to so many elements keep their data: shapes and axes are never larger."""

KEPT_BYTES = 8 * KEPT_ELEMENTS

STRIPPED_FROM_BYTES = 1 << 22
"""Files of up to this size are decoded whole: the data of their weights can't be large."""

_NO_MODEL = (
    "not an ONNX model: the file is cut off or of another format; export or download it again"
)
_OF_ONNX_RUNTIME = (
    "not an ONNX model, but one in ONNX Runtime's own format (.ort); give the .onnx file that it "
    "was converted from"
)

MAX_VALUE_NAME = 4096
"""The most characters of a value's name."""

MAX_INLINED_BYTES = 1 << 28
"""The largest size of a model's functions, each counted as often as it is called."""

MAX_AXES = 64
"""The largest number of axes: no library supports more, nor does numpy."""


def parse(content: bytes, limits: Limits) -> ModelProto:
    """The model in an ONNX file, with functions inlined, without the data of its weights.

    External data are never opened. Raises `ModelError` if the file is no ONNX model, or if the
    model exceeds the limits.
    """
    try:
        if len(content) > STRIPPED_FROM_BYTES:
            content = strip(content, KEPT_BYTES)
    except DecodeError as error:
        raise no_model(content) from error
    return inlined(decode(content), limits)


def no_model(begin: bytes) -> ModelError:
    """Says why a file that begins with these bytes is no model."""
    # https://flatbuffers.dev: the file's identifier stands behind the offset of its root.
    return ModelError(_OF_ONNX_RUNTIME if begin[4:8] == b"ORTM" else _NO_MODEL)


def opset_imports(model: ModelProto) -> dict[str, int]:
    """The opset version for each domain that the model names; ``""`` is the domain `ai.onnx`."""
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


def decode(content: bytes) -> ModelProto:
    """The model in an ONNX file, with all that stands in it. Raises `ModelError` for a file that is
    no ONNX model, and for an opset that the installed onnx package doesn't know.
    """
    try:
        model: ModelProto = ModelProto.FromString(content)
    except DecodeError as error:
        raise no_model(content) from error
    if not model.HasField("graph") or not model.opset_import:
        raise ModelError("not an ONNX model: it has no graph or no opset; export it again")
    newest = onnx.defs.onnx_opset_version()
    version = opset_imports(model).get("", 1)
    if version < 1:
        raise ModelError(f"the model names opset {version}, which can't be; export it again")
    if version > newest:
        raise ModelError(
            f"the model uses opset {version}, and the installed onnx package knows up to "
            f"{newest}; upgrade onnx, or export with a lower opset"
        )
    return model


def weight_dims(tensor: TensorProto, limits: Limits) -> tuple[int, ...]:
    """The shape of a weight. Raises `ModelError` if it has a negative size."""
    dims = tuple(tensor.dims)
    if dims and min(dims) < 0:
        raise ModelError(f"weight {tensor.name!r} has a negative dimension; export it again")
    check_elements(tensor.name, dims, limits)
    return dims


def check_elements(name: str, shape: tuple[int, ...], limits: Limits) -> None:
    """Raises `ModelError` for a tensor with too many elements or axes."""
    if len(shape) > MAX_AXES:
        raise ModelError(f"tensor {name!r} has {len(shape):,} axes; export the model again")
    if prod(shape) > limits.tensor_elements:
        raise ModelError(
            f"tensor {name!r} of shape {list(shape)} has more than {limits.tensor_elements:,} "
            f"elements; check its dimensions, or raise {TENSOR_ELEMENTS_SETTING}"
        )


def check_location(tensor: TensorProto) -> None:
    """Raises `ModelError` for external data outside the model's folder.

    They are never opened, but a model that refers to them must not be passed on.
    """
    for entry in tensor.external_data:
        # bytes, where it isn't UTF-8
        if entry.key == "location" and _is_outside(str(entry.value)):
            raise ModelError(
                f"weight {tensor.name!r} has its data at {entry.value!r}, outside the model's "
                "folder; save the model again with a plain file name for its external data"
            )


@lru_cache(16)  # most models have all weights in one file
def _is_outside(place: str) -> bool:
    """Whether this path may lead out of the folder from which it starts."""
    posix, windows = PurePosixPath(place), PureWindowsPath(place)
    if posix.is_absolute() or windows.anchor:
        return True
    return ".." in posix.parts or ".." in windows.parts


def inlined(model: ModelProto, limits: Limits) -> ModelProto:
    """The model without functions. Raises `ModelError` if they take too much, or can't be inlined.

    Those of another opset in which their operators mean the same count as of the model's. The
    others are converted, unless onnx might take gigabytes for that: it infers shapes then. What
    can't be converted stays, and is skipped.
    """
    if not model.functions:
        return model
    _check_function_size(model, limits)
    _take_over_opsets(model)
    made: ModelProto
    try:
        if not any(_grows(function.node) for function in model.functions):
            made = inliner.inline_local_functions(model, convert_version=True)
            return made
    except Exception:  # noqa: BLE001  onnx raises many types
        pass
    try:
        made = inliner.inline_local_functions(model)
    except Exception as error:
        raise ModelError(f"the model's functions can't be inlined: {_line(error)}") from error
    return made


def _take_over_opsets(model: ModelProto) -> None:
    """Sets the opsets of functions to the model's where that changes the meaning of no operator."""
    versions = opset_imports(model)
    for function in model.functions:
        for opset in function.opset_import:
            domain, version = _domain(opset.domain), versions.get(_domain(opset.domain))
            if version is not None and version != opset.version:
                kinds = _kinds(function.node, domain)
                if all(_means_the_same(kind, domain, opset.version, version) for kind in kinds):
                    opset.version = version


def _kinds(protos: Iterable[NodeProto], domain: str) -> Iterator[str]:
    """The operators of a domain that nodes and their bodies have."""
    for proto in protos:
        if _domain(proto.domain) == domain:
            yield proto.op_type
        for body in subgraphs(proto):
            yield from _kinds(body.node, domain)


def _means_the_same(op_type: str, domain: str, version: int, other: int) -> bool:
    """Whether an operator's definition at two opsets differs at most in the types that it takes."""
    signatures = [_signature(op_type, domain, opset) for opset in (version, other)]
    return signatures[0] is not None and signatures[0] == signatures[1]


def _signature(op_type: str, domain: str, opset: int) -> object:
    """The names of what an operator reads and writes, and its attributes; None if it isn't known.

    A definition with another meaning has another default, or moves an attribute to an input.
    """
    definition = schema(op_type, domain, opset)
    return definition and (
        [parameter.name for parameter in (*definition.inputs, *definition.outputs)],
        {name: each.default_value for name, each in definition.attributes.items()},
    )


def _grows(protos: Iterable[NodeProto]) -> bool:
    """Whether the result of a node may have more axes than its inputs."""
    return any(
        proto.op_type in GROWING or any(_grows(body.node) for body in subgraphs(proto))
        for proto in protos
    )


def _check_function_size(model: ModelProto, limits: Limits) -> None:
    """Checks nodes and bytes after inlining, before it: nested functions grow fast."""
    check_count(_inlined(model, lambda node: 1), limits)
    size = _inlined(model, NodeProto.ByteSize)
    if size > MAX_INLINED_BYTES:
        raise ModelError(
            f"the model's functions take {size:,} bytes where they are called, more than "
            f"{MAX_INLINED_BYTES:,}; export the model without functions, or with smaller constants"
        )


def _inlined(model: ModelProto, of: Callable[[NodeProto], int]) -> int:
    """The sum of a number of each node, with those of a function at each call."""
    bodies = {(_domain(f.domain), f.name): f.node for f in model.functions}
    sums: dict[tuple[str, str], int] = {}
    under_way: set[tuple[str, str]] = set()

    def of_function(key: tuple[str, str]) -> int:
        if key in under_way:
            raise ModelError(f"function {key[1]!r} calls itself; export the model again")
        if key not in sums:
            under_way.add(key)
            sums[key] = of_all(bodies[key])
            under_way.remove(key)
        return sums[key]

    def of_all(nodes: Iterable[NodeProto]) -> int:
        total = 0
        for node in nodes:
            key = (_domain(node.domain), node.op_type)
            total += of_function(key) if key in bodies else of(node)
            total += sum(of_all(graph.node) for graph in subgraphs(node))
        return total

    return of_all(model.graph.node)


def check_count(nodes: int, limits: Limits) -> None:
    """Raises `ModelError` if the model has more nodes than the limits allow."""
    if nodes > limits.nodes:
        raise ModelError(
            f"the model has {nodes:,} nodes, more than {limits.nodes:,}; raise {NODES_SETTING} "
            "to take it on"
        )


def check_value_names(names: Collection[str]) -> None:
    """Raises `ModelError` for a value's name that is no text, or too long: other names are made of
    it.
    """
    check_text(names)
    longest = max(map(len, names), default=0)
    if longest > MAX_VALUE_NAME:
        raise ModelError(
            f"a value's name has {longest:,} characters, more than {MAX_VALUE_NAME:,}; export the "
            "model again"
        )


def check_text(names: Iterable[str]) -> None:
    """Raises `ModelError` for a name that isn't UTF-8, which protobuf returns as bytes."""
    if bytes in set(map(type, names)):
        raise ModelError(
            "a name in the model isn't UTF-8 text: the file was damaged; export or download it "
            "again"
        )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
