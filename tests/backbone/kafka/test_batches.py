"""What is read of a batch that a reader must get past: whatever it holds, whoever reads it."""

import struct
from collections.abc import Callable, Sequence

import pytest
from aiokafka.consumer import fetcher as aiokafka_fetcher
from aiokafka.structs import TopicPartition as AiokafkaTopicPartition
from kafka import TopicPartition
from kafka.record import MemoryRecordsBuilder
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c, encode_varint

from benanza_backbone.event_log.event_log import Unread
from benanza_backbone.kafka.batches import LAST_MS, Batches
from benanza_backbone.kafka.clients import _PartitionRecords

GZIP, LZ4 = 1, 3
FIRST = 40
"""The offset of the first record of the batches here."""

Read = tuple[int, bytes | None, bytes | None]
"""The offset, key and value of a record."""

Reader = Callable[[bytes, int], tuple[list[Read], int]]
"""What is read of batches fetched from an offset on, and the offset to go on from."""


def batch(
    *values: bytes | None, codec: int = 0, magic: int = 2, first: int = FIRST, stamped_ms: int = 7
) -> bytes:
    """What a broker stores of these, with the key `k`."""
    builder = MemoryRecordsBuilder(magic, codec, batch_size=2**30)
    for value in values:
        assert builder.append(stamped_ms, b"k", value)
    builder.close()
    built = bytearray(builder.buffer())
    last = first if magic == 2 else first + len(values) - 1
    struct.pack_into(">q", built, 0, last if codec else first)
    return bytes(built)


def changed(encoded: bytes, at: int, form: str, *fields: int) -> bytes:
    """A batch of today's format with these in its header, or in its records."""
    made = bytearray(encoded)
    struct.pack_into(form, made, at, *fields)
    made_crc = calc_crc32c(memoryview(made)[DefaultRecordBatchBuilder.ATTRIBUTES_OFFSET :])
    struct.pack_into(">I", made, DefaultRecordBatchBuilder.CRC_OFFSET, made_crc)
    return bytes(made)


def with_headers(headers: bytes) -> bytes:
    """A batch of one record whose headers are these bytes."""
    fields = bytearray(b"\0")
    for number in (0, 0, 1):  # the time, the offset, and how long the key is
        encode_varint(number, fields.append)
    fields += b"k\x02v" + headers
    header = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 2**20)
    header.append(0, 7, b"k", b"v", [])
    made = bytearray(header.build()[: DefaultRecordBatchBuilder.HEADER_STRUCT.size])
    encode_varint(len(fields), made.append)
    made += fields
    struct.pack_into(">qi", made, 0, FIRST, len(made) - 12)
    return changed(bytes(made), 0, ">q", FIRST)


def read_by_kafka_python(encoded: bytes, offset: int) -> tuple[list[Read], int]:
    """What its consumer gives."""
    at = TopicPartition("t", 0)
    records = _PartitionRecords(offset, at, Batches(encoded))
    taken = [(each.offset, each.key, each.value) for each in records.take()]
    return taken, records.next_fetch_offset


def read_by_aiokafka(encoded: bytes, offset: int) -> tuple[list[Read], int]:
    """What its consumer gives."""
    records = aiokafka_fetcher.PartitionRecords(
        AiokafkaTopicPartition("t", 0), Batches(encoded), [], offset, None, None, True, 0
    )
    return [(each.offset, each.key, each.value) for each in records], records.next_fetch_offset


@pytest.fixture(params=[read_by_kafka_python, read_by_aiokafka])
def read(request: pytest.FixtureRequest) -> Reader:
    """What either client reads."""
    made: Reader = request.param
    return made


def whys(records: Sequence[Read]) -> list[str]:
    return [each.why for _, _, each in records if isinstance(each, Unread)]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_what_is_not_compressed_is_read_as_ever(read: Reader, magic: int) -> None:
    encoded = b"".join(
        batch(value, magic=magic, first=FIRST + number)
        for number, value in enumerate([b"a", b"", None])
    )
    values: list[Read] = [(40, b"k", b"a"), (41, b"k", b""), (42, b"k", None)]
    assert read(encoded, FIRST) == (values, 43)


def test_several_records_of_a_batch_from_the_middle_on(read: Reader) -> None:
    encoded = batch(b"a", b"b", b"c") + batch(b"d", first=43)
    assert read(encoded, 41) == ([(41, b"k", b"b"), (42, b"k", b"c"), (43, b"k", b"d")], 44)


def test_each_record_has_its_own_time_and_offset() -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 2**20)
    for number in range(5):
        builder.append(number, 1_000 + 300 * number, b"k", b"v", [])
    made = bytearray(builder.build())
    struct.pack_into(">q", made, 0, 43)
    read = Batches(bytes(made)).next_batch()
    assert read is not None
    assert [(r.offset, r.timestamp) for r in read] == [(43 + n, 1_000 + 300 * n) for n in range(5)]


@pytest.mark.parametrize("codec", [GZIP, LZ4])
@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("asked_for", [40, 41, 42])
def test_a_compressed_batch_is_one_record_at_its_end(
    read: Reader, codec: int, magic: int, asked_for: int
) -> None:
    packed = batch(b"a" * 1000, b"b", b"c", codec=codec, magic=magic)
    encoded = packed + batch(b"d", first=43)
    records, following = read(encoded, asked_for)
    assert following == 44
    assert records == [(42, None, packed), (43, b"k", b"d")]
    assert whys(records) == [f"compressed with {'gzip' if codec == GZIP else 'lz4'}"]


def test_a_codec_that_nobody_knows_is_passed_too(read: Reader) -> None:
    packed = changed(batch(b"a"), DefaultRecordBatchBuilder.ATTRIBUTES_OFFSET, ">h", 7)
    records, following = read(packed, FIRST)
    assert (whys(records), following) == (["compressed with codec 7"], 41)


@pytest.mark.parametrize("codec", [0, GZIP])
def test_a_marker_of_a_transaction_is_no_record(read: Reader, codec: int) -> None:
    attributes = DefaultRecordBatchBuilder.ATTRIBUTES_OFFSET
    marker = changed(batch(b"\0\0\0\0\0\0"), attributes, ">h", 0x30 | codec)
    assert read(marker + batch(b"d", first=41), FIRST) == ([(41, b"k", b"d")], 42)


@pytest.mark.parametrize("codec", [0, GZIP])
def test_a_batch_of_which_compaction_has_left_nothing(read: Reader, codec: int) -> None:
    size = DefaultRecordBatchBuilder.HEADER_STRUCT.size
    full = batch(b"a", b"b")
    attributes = DefaultRecordBatchBuilder.ATTRIBUTES_OFFSET
    emptied = changed(changed(full[:size], 8, ">i", size - 12), size - 4, ">i", 0)
    emptied = changed(emptied, attributes, ">h", codec)
    assert read(emptied, FIRST) == ([], 42)


@pytest.mark.parametrize(
    "headers",
    [
        b"\x02\x04\xff\xfe\x01",  # a name that is no UTF-8
        b"\x80\x89\x7a" + b"\0\x01" * 1_000_000,  # a million without a name
        b"\x03",  # a number of them below zero
    ],
)
def test_headers_are_passed_over(read: Reader, headers: bytes) -> None:
    assert read(with_headers(headers), FIRST) == ([(40, b"k", b"v")], 41)


@pytest.mark.parametrize("delta", [0x7E, 0x7F])  # 63 and -64, as Kafka writes numbers
def test_a_record_never_sends_a_reader_elsewhere(read: Reader, delta: int) -> None:
    encoded = batch(b"a") + batch(b"b", first=41)
    first_record = DefaultRecordBatchBuilder.HEADER_STRUCT.size
    one = changed(encoded[: len(batch(b"a"))], first_record + 3, ">B", delta)
    records, following = read(one + batch(b"b", first=41), FIRST)
    assert ([offset for offset, _, _ in records], following) == ([40, 41], 42)
    assert whys(records) == ["numbered with offsets that are not the batch's"]


def test_a_damaged_batch_is_passed(read: Reader) -> None:
    whole = batch(b"a" * 100, b"b")
    cut = changed(whole[:-3], 8, ">i", len(whole) - 3 - 12)
    records, following = read(cut, FIRST)
    assert following == 42
    assert whys(records) in (["damaged"], [])


@pytest.mark.parametrize(("stamped_ms", "read_as"), [(2**62, LAST_MS), (-(2**62), 0), (7, 7)])
def test_a_time_is_one_that_python_can_tell(stamped_ms: int, read_as: int) -> None:
    for magic in (1, 2):
        (records,) = Batches(batch(b"a", magic=magic, stamped_ms=stamped_ms))
        assert [record.timestamp for record in records] == [read_as]
