"""Counts the fields of a model's file, which a small or a sparse one may have without end."""

from benanza_ingest.errors import ModelError
from benanza_ingest.reading.stream import FieldHead, Source, head_of
from benanza_ingest.reading.strip import MAX_FIELDS


class CountedFields:
    """Reads the heads of one model's fields, in all of its messages."""

    def __init__(self) -> None:
        self._left = MAX_FIELDS

    def head_of(self, source: Source) -> FieldHead:
        """The head of the next field. Raises `DecodeError`, and `ModelError` after `MAX_FIELDS`."""
        self._left -= 1
        if self._left < 0:
            raise ModelError(f"the file has more than {MAX_FIELDS:,} fields")
        return head_of(source)
