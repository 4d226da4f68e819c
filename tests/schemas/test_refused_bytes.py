"""Bytes that are no event are refused with a reason, and take little memory."""

import subprocess
import sys

import msgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benanza_schemas.codec import DecodeError, decode, encode
from benanza_schemas.events import Event
from tests.examples import examples
from tests.schemas.encoded import BY_NAME, changed, decoded_or_refused, golden
from tests.schemas.strategies import field_names


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_truncated_event_is_refused_at_every_length(name: str) -> None:
    encoded = golden(name)
    for length in range(len(encoded)):
        with pytest.raises(DecodeError):
            decode(encoded[:length])


@pytest.mark.parametrize(
    ("encoded", "complaint"),
    [
        (b"", "not MessagePack"),
        (b"\xc0", "Expected `object`, got `None`"),
        (msgpack.packb([1, 2]), "Expected `object`, got `array`"),
        (b"\x80", "missing required field `type`"),
        (golden("LayerSeen") + b"\x80", "not MessagePack: .*trailing"),
        (b"\xc1", "not MessagePack"),
        (b"\x81\xa4type\xa2\xff\xff", "not MessagePack"),  # text that isn't UTF-8
        (b"\x81\x90\x00", "got `array` - at `key`"),  # a list as a key
        (b"\x81\x80\x00", "got `object` - at `key`"),  # a map as a key
        (b"\x81\x01\x00", "got `int` - at `key`"),  # a number as a key
        (b"\x81\xc4\x04type\x00", "got `bytes` - at `key`"),  # bytes as a key
        (b"\x81\xa4type\xd6\xff\x00\x00\x00\x00", r"got `ext` - at `\$.type`"),
        (b"\x81\xa4type\xc7\x0c\xff" + b"\xff" * 12, "got `ext`"),  # no such time
        (b"\x91" * 5000, "got `array`"),
        (b"\xdf\xff\xff\xff\xff", "not MessagePack: .*truncated"),
        (b"\xdd\xff\xff\xff\xff", "got `array`"),
        (b"\xc6\xff\xff\xff\xff", "not MessagePack"),
    ],
)
def test_what_is_no_event_is_refused_with_a_reason(encoded: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=complaint) as refused:
        decode(encoded)
    assert not str(refused.value).endswith(": ")


@given(st.binary(max_size=200))
@example(b"\x81\xa4type\xa9ModelPubl")
@examples(times=5)
def test_any_bytes_are_an_event_or_refused(encoded: bytes) -> None:
    assert isinstance(decoded_or_refused(encoded), Event | DecodeError)


@given(st.data())
@examples(times=5)
def test_a_damaged_event_is_an_event_or_refused(data: st.DataObject) -> None:
    encoded = bytearray(golden(data.draw(st.sampled_from(sorted(BY_NAME)))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(encoded) - 1))
        encoded[at] = data.draw(st.integers(0, 255))
    assert isinstance(decoded_or_refused(bytes(encoded)), Event | DecodeError)


unlikely_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(max_size=5),
        st.binary(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(sorted(BY_NAME)), st.data())
@examples(times=3)
def test_any_value_in_a_field_is_allowed_or_refused(name: str, data: st.DataObject) -> None:
    field = data.draw(st.sampled_from(["type", *field_names(type(BY_NAME[name]))]))
    outcome = decoded_or_refused(changed(BY_NAME[name], **{field: data.draw(unlikely_values)}))
    if isinstance(outcome, DecodeError):
        assert str(outcome)
    else:
        assert decode(encode(outcome)) == outcome


HOSTILE = """
import resource, sys
from benanza_schemas.codec import DecodeError, decode
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode(eval(sys.argv[1]))
except DecodeError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("encoded", "most_megabytes"),
    [
        # Lists in lists, each of which says that it has two million items.
        ("(b'\\xdd' + (2_000_000).to_bytes(4, 'big')) * 1000", 200),
        ("b'\\x91' * 15_000_000", 200),
        # A list that says it has four thousand million items, and one with as many as fit.
        ("b'\\x82\\xa4type\\xadModelIngested\\xa5edges\\xdd\\xff\\xff\\xff\\xff\\x92\\0\\0'", 200),
        (
            "b'\\x82\\xa4type\\xadModelIngested\\xa5edges'"
            "+ b'\\xdd' + (5_000_000).to_bytes(4, 'big') + b'\\x92\\0\\0' * 5_000_000",
            1000,
        ),
        # What says that it is of an older version is decoded no other way.
        *(
            (
                f"b'\\x83\\xa4type\\x{160 + len(kind):x}{kind}\\xaeschema_version\\x09\\xa5other'"
                f"+ b'\\xdd' + (15_000_000).to_bytes(4, 'big') + b'{item}' * 15_000_000",
                100,
            )
            for kind in ("ModelIngested", "BoundUpdated")
            for item in (r"\x80", r"\x90", r"\x91")
        ),
        (
            "b'\\x83\\xa4type\\xacBoundUpdated\\xaeschema_version\\x09\\xa8measured' + b'\\xdd'"
            "+ (5_000_000).to_bytes(4, 'big') + b'\\xcd\\xff\\xff' * 5_000_000",
            500,
        ),
    ],
)
def test_hostile_bytes_take_little_memory(encoded: str, most_megabytes: int) -> None:
    command = [sys.executable, "-c", HOSTILE, encoded]
    finished = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    assert 0 <= int(finished.stdout) < most_megabytes * 1000
