"""Kafka's batches of records as fetched, read so that none takes much memory or stops a reader.

The clients unpack compressed batches whole (half a megabyte may become gigabytes), make an object
of each header, and raise for ever where a header isn't UTF-8. Here a compressed batch counts as one
`Unread` record, at the batch's last offset, and headers are passed over: no event has any. Both
clients take their batches from a `Batches`.
"""

from collections.abc import Iterator
from typing import Any

from kafka.record import MemoryRecords
from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecord, LegacyRecordBatch
from kafka.record.util import decode_varint

from benanza_backbone.event_log.event_log import Unread

LAST_MS = 253_402_300_799_000
"""The end of the year 9999, the last that Python can tell."""

CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}


class Batches(MemoryRecords):  # type: ignore[misc]  # the library has no types
    """The batches in a broker's answer, one after the other."""

    __slots__ = ()

    def next_batch(self, *_: Any) -> "RecordBatch | LegacyBatch | None":
        """The next one; `None` at the end."""
        encoded = self._next_slice
        if encoded is None:
            return None
        self._cache_next()
        magic = encoded[self.MAGIC_OFFSET]
        return RecordBatch(encoded) if magic == 2 else LegacyBatch(encoded, magic)


class RecordBatch(DefaultRecordBatch):  # type: ignore[misc]  # the library has no types
    """A batch of today's format.

    Source: https://kafka.apache.org/documentation/#recordbatch
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[DefaultRecord]:
        # Compaction leaves batches without records.
        if self.records_count and (why := _why_unread(self.compression_type)):
            yield self._unread(why)
            return
        last, position = self.base_offset - 1, self.HEADER_STRUCT.size
        for _ in range(self.records_count):
            try:
                record, position = self._read(position)
            except (IndexError, ValueError):
                yield self._unread("damaged")
                return
            if not last < record.offset <= self.last_offset:
                # Brokers don't look; a reader would be sent anywhere by it.
                yield self._unread("numbered with offsets that are not the batch's")
                return
            last = record.offset
            yield record

    def _unread(self, why: str) -> DefaultRecord:
        value = Unread(self._buffer, why)
        return self._record(len(value), self.last_offset, self.max_timestamp, None, value)

    def _read(self, position: int) -> tuple[DefaultRecord, int]:
        """The record there, and where the next one is."""
        buffer = self._buffer
        length, position = decode_varint(buffer, position)
        following = position + length
        # Behind the attributes, which say nothing.
        delta_ms, position = decode_varint(buffer, position + 1)
        offset_delta, position = decode_varint(buffer, position)
        key, position = _field(buffer, position)
        value, _ = _field(buffer, position)
        stamped_ms = self.max_timestamp if self.timestamp_type else self.first_timestamp + delta_ms
        offset = self.base_offset + offset_delta
        return self._record(length, offset, stamped_ms, key, value), following

    def _record(
        self, size: int, offset: int, stamped_ms: int, key: bytes | None, value: bytes | None
    ) -> DefaultRecord:
        within = min(max(0, stamped_ms), LAST_MS)
        return DefaultRecord(size, offset, within, self.timestamp_type, key, value, [])


class LegacyBatch(LegacyRecordBatch):  # type: ignore[misc]  # the library has no types
    """A message of the formats before 2017, which only old logs hold, or several in a compressed
    one.
    """

    __slots__ = ()

    is_control_batch = is_transactional = False
    producer_id = None

    @property
    def next_offset(self) -> int:
        """The offset behind it: it has that of the last message in it."""
        following: int = self.base_offset + 1
        return following

    def __iter__(self) -> Iterator[LegacyRecord]:
        if why := _why_unread(self.compression_type):
            key, value = None, Unread(self._buffer, why)
        else:
            key, value = self._read_key_value(
                self.KEY_OFFSET_V1 if self.magic == 1 else self.KEY_OFFSET_V0
            )
        yield LegacyRecord(
            self.magic,
            self.base_offset,
            min(max(0, self._timestamp or 0), LAST_MS),
            self.timestamp_type,
            key,
            value,
            self._crc,
            self._crc_bytes(0, self._length),
        )


def _why_unread(codec: int) -> str:
    return f"compressed with {CODECS.get(codec, f'codec {codec}')}" if codec else ""


def _field(buffer: bytearray, position: int) -> tuple[bytes | None, int]:
    """A key or value, and where it ends."""
    length, position = decode_varint(buffer, position)
    if length < 0:
        return None, position
    return bytes(memoryview(buffer)[position : position + length]), position + length
