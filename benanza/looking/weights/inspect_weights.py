"""`inspect --weights`: what the weights in a model's file hold."""

import math
from collections.abc import Sequence
from math import prod
from pathlib import Path

from google.protobuf.message import DecodeError
from msgspec.structs import replace
from onnx import NodeProto, SparseTensorProto, TensorProto

from benanza.errors import about
from benanza.looking.weights.figures import Number, figures_of
from benanza.looking.weights.stored import nodes_of, parts_of, stored_in, weights_of
from benanza.results.inspect import InspectedWeight, InspectedWeights
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE
from benanza_ingest.reading.locations import Location, location_of, opened
from benanza_ingest.reading.parse import check_text, no_model
from benanza_ingest.reading.source import within_limits
from benanza_ingest.reading.stream import Source
from benanza_schemas.element_types import BITS, FROM_ONNX, size_bytes


def inspect_weights(model: str, limits: Limits) -> InspectedWeights:
    """The weights in the file of MODEL, in its order: initializers, and the tensors of Constant
    nodes, also those in bodies of control flow; those of functions aren't looked into.

    One weight is in memory at a time, and of external data a part of one. Raises `BenanzaError` if
    the file can't be read, or is no model.
    """
    location = location_of(model)
    folder = _folder(location)
    found: list[InspectedWeight] = []
    readers: dict[str, list[str]] = {}
    begin = b""
    with about(model), opened(location, ANYWHERE) as read:
        limited = within_limits(read, location.where, limits)
        begin = limited(8)
        head = iter((begin,))
        source = Source(lambda most: next(head, b"") or limited(most))
        try:
            for stored in stored_in(source):
                if isinstance(stored, TensorProto):
                    found.append(_dense(stored, folder))
                elif isinstance(stored, SparseTensorProto):
                    found.append(_sparse(stored))
                else:
                    found += _of_node(stored, folder, readers)
        except DecodeError as error:
            raise no_model(begin) from error
    weights = tuple(replace(each, read_by=tuple(readers.get(each.name, ()))) for each in found)
    return InspectedWeights(name=location.name, weights=weights)


def _folder(location: Location) -> Path | None:
    """Where external data of the model lie, None for what is no file."""
    return Path(location.where).parent if location.uri.startswith("file:") else None


def _of_node(
    stored: NodeProto, folder: Path | None, readers: dict[str, list[str]]
) -> list[InspectedWeight]:
    found = []
    for node in nodes_of(stored):
        check_text([node.name, node.op_type, *node.input])
        for name in dict.fromkeys(node.input):
            readers.setdefault(name, []).append(node.name or node.op_type)
        found += [_dense(tensor, folder) for tensor in weights_of(node)]
    return found


def _dense(tensor: TensorProto, folder: Path | None) -> InspectedWeight:
    blank = _blank(tensor.name, tensor.data_type, tensor.dims)
    try:
        figures = figures_of(parts_of(tensor, folder))
    except ModelError as error:
        return replace(blank, reason=str(error))
    return replace(
        blank,
        min=figures.least,
        max=figures.greatest,
        mean=figures.mean,
        std=figures.deviation,
        zero_share=figures.zeros / figures.total if figures.total else None,
        not_finite=figures.total - figures.finite,
        values=tuple(map(_plain, figures.first)),
    )


def _sparse(stored: SparseTensorProto) -> InspectedWeight:
    blank = _blank(stored.values.name, stored.values.data_type, stored.dims)
    return replace(blank, reason="it is saved as a sparse tensor, which isn't read")


def _blank(name: str, onnx_type: int, dims: Sequence[int]) -> InspectedWeight:
    """A weight whose values aren't known."""
    check_text([name])
    dtype = FROM_ONNX.get(onnx_type, "")
    return InspectedWeight(
        name=name,
        dtype=dtype,
        shape=tuple(dims),
        bytes=size_bytes(dtype, prod(dims)) if dtype in BITS and min(dims, default=0) >= 0 else 0,
        read_by=(),
        min=None,
        max=None,
        mean=None,
        std=None,
        zero_share=None,
        not_finite=0,
        values=(),
        reason="",
    )


def _plain(value: Number) -> Number | str:
    """A value as JSON can hold it: it has no infinity."""
    return value if math.isfinite(value) else str(value)
