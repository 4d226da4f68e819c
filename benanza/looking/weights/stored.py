"""The weights in a model's file, one at a time, and the values of each in parts."""

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy.typing as npt
from google.protobuf.message import DecodeError
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    numpy_helper,
)

from benanza.weights.counted_fields import CountedFields
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.download import Read
from benanza_ingest.reading.parse import check_location, subgraphs
from benanza_ingest.reading.stream import Source
from benanza_schemas.element_types import BITS, FROM_ONNX, size_bytes

PART_BYTES = 3 << 20
"""Of whole elements at any width: those of six bits are four in three bytes."""

Stored = TensorProto | SparseTensorProto | NodeProto

Values = npt.NDArray[Any]
"""Of a type of NumPy's or ml_dtypes'."""

_GRAPH = ModelProto.DESCRIPTOR.fields_by_name["graph"].number
_HELD: dict[int, type[TensorProto] | type[SparseTensorProto] | type[NodeProto]] = {
    GraphProto.DESCRIPTOR.fields_by_name[name].number: kind
    for name, kind in (
        ("initializer", TensorProto),
        ("sparse_initializer", SparseTensorProto),
        ("node", NodeProto),
    )
}


def stored_in(source: Source) -> Iterator[Stored]:
    """The nodes and the weights of the model's graph, in the order of the file, read one by one.

    Raises `DecodeError` for what is no model.
    """
    fields = CountedFields()
    graphs = 0
    while not source.at_end():
        head = fields.head_of(source)
        if head.number != _GRAPH:
            source.skip(head.size)
            continue
        graphs += 1
        end = source.position + head.size
        while source.position < end:
            head = fields.head_of(source)
            if kind := _HELD.get(head.number):
                yield kind.FromString(source.take(head.size))
            else:
                source.skip(head.size)
    if not graphs:
        raise DecodeError("it has no graph")


def nodes_of(node: NodeProto) -> Iterator[NodeProto]:
    """The node, and those in its bodies, if it is one of control flow."""
    yield node
    for body in subgraphs(node):
        for inner in body.node:
            yield from nodes_of(inner)


def weights_of(node: NodeProto) -> Iterator[TensorProto]:
    """What a node itself holds: the tensor of a Constant, by the name of its result, and weights of
    its own bodies.
    """
    if node.op_type == "Constant":
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                attribute.t.name = node.output[0] if node.output else attribute.t.name
                yield attribute.t
    for body in subgraphs(node):
        yield from body.initializer


def parts_of(tensor: TensorProto, folder: Path | None) -> Iterator[Values]:
    """The values of a weight in order, in flat parts of at most `PART_BYTES` as they are stored.

    External data lie below `folder`, that of the model's file. Raises `ModelError` where they can't
    be had.
    """
    dtype, elements = FROM_ONNX.get(tensor.data_type, ""), prod(tensor.dims)
    if not dtype or min(tensor.dims, default=0) < 0:
        raise ModelError("its type or its shape is none of ONNX; save the model again")
    if dtype == "string":
        raise ModelError("texts have no such figures")
    if dtype.startswith("complex"):
        raise ModelError("complex numbers have no order")
    size = size_bytes(dtype, elements)
    if tensor.data_location == TensorProto.EXTERNAL:
        return _external(tensor, folder, size)
    if tensor.HasField("raw_data"):
        return _raw(tensor, size)
    return _numbers(tensor, elements)


def _numbers(tensor: TensorProto, elements: int) -> Iterator[Values]:
    """Of a weight that is saved as a list of numbers."""
    try:
        yield numpy_helper.to_array(tensor).reshape(-1)
    except ValueError as error:
        raise ModelError(
            f"the file doesn't hold its {elements:,} values; name the file with weights"
        ) from error


def _raw(tensor: TensorProto, size: int) -> Iterator[Values]:
    if len(tensor.raw_data) != size:
        raise ModelError(
            f"the file holds {len(tensor.raw_data):,} of its {size:,} bytes; save the model again"
        )
    content = memoryview(tensor.raw_data)
    parts = (content[start : start + PART_BYTES] for start in range(0, size, PART_BYTES))
    return _decoded(tensor, (bytes(part) for part in parts))


def _external(tensor: TensorProto, folder: Path | None, size: int) -> Iterator[Values]:
    check_location(tensor)
    entries = {str(entry.key): str(entry.value) for entry in tensor.external_data}
    location, offset = entries.get("location", ""), entries.get("offset", "0")
    if not location or not offset.isdecimal():
        raise ModelError("the file holds no data of it; name the file with weights")
    if folder is None:
        raise ModelError(
            f"its data are in {location}, which isn't here; name a file that has that beside it"
        )
    try:
        with (folder / location).open("rb") as file:
            file.seek(int(offset))
            yield from _decoded(tensor, _taken(file.read, size, location))
    except FileNotFoundError:
        raise ModelError(f"there is no {location} beside the model; copy it there") from None
    except OSError as error:
        raise ModelError(f"{location} can't be read: {error.strerror or error}") from error


def _taken(read: Read, size: int, location: str) -> Iterator[bytes]:
    left = size
    while left:
        part = read(min(left, PART_BYTES))
        if len(part) < min(left, PART_BYTES):
            raise ModelError(f"{location} ends before it does; copy it again")
        left -= len(part)
        yield part


def _decoded(tensor: TensorProto, parts: Iterator[bytes]) -> Iterator[Values]:
    bits, left = BITS[FROM_ONNX[tensor.data_type]], prod(tensor.dims)
    for part in parts:
        elements = min(left, 8 * len(part) // bits)
        left -= elements
        yield numpy_helper.to_array(
            TensorProto(data_type=tensor.data_type, dims=[elements], raw_data=part)
        )
