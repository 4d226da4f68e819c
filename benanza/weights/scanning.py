"""Finds in which files a model's weights lie, without reading those."""

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, TensorProto

from benanza.weights.counted_fields import CountedFields
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.parse import check_location
from benanza_ingest.reading.stream import Source

_GRAPH = ModelProto.DESCRIPTOR.fields_by_name["graph"].number
_INITIALIZER = GraphProto.DESCRIPTOR.fields_by_name["initializer"].number
_NAMING = {
    TensorProto.DESCRIPTOR.fields_by_name[name].number
    for name in ("external_data", "data_location")
}
_MAX_ENTRY_BYTES = 1 << 16


def external_locations(source: Source) -> tuple[str, ...]:
    """The locations of external data in a model's file, each once.

    Raises `ModelError` if that is no model, or if one is outside the model's folder.
    """
    found: dict[str, None] = {}
    fields = CountedFields()
    try:
        while not source.at_end():
            head = fields.head_of(source)
            if head.number != _GRAPH:
                source.skip(head.size)
                continue
            end = source.position + head.size
            while source.position < end:
                head = fields.head_of(source)
                if head.number == _INITIALIZER:
                    found |= dict.fromkeys(_locations(source, source.position + head.size, fields))
                else:
                    source.skip(head.size)
    except DecodeError as error:
        raise ModelError(
            f"not an ONNX model ({error}): the file is cut off or of another format"
        ) from error
    return tuple(found)


def _locations(source: Source, end: int, fields: CountedFields) -> list[str]:
    """Where a weight says that its data are."""
    naming = bytearray()
    while source.position < end:
        head = fields.head_of(source)
        if head.number in _NAMING and head.size <= _MAX_ENTRY_BYTES:
            naming += head.encoded + source.take(head.size)
        else:
            source.skip(head.size)
    tensor = TensorProto.FromString(bytes(naming))
    if tensor.data_location != TensorProto.EXTERNAL:
        return []
    check_location(tensor)
    return [str(entry.value) for entry in tensor.external_data if entry.key == "location"]
