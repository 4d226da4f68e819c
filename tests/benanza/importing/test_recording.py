"""What was recorded comes back, and what is no recording is refused."""

import lzma
from collections import Counter
from pathlib import Path

import msgpack
import pytest
from msgspec.structs import replace

from benanza.importing import recording
from benanza.importing.recording import Recorded, read_recording, write_recording
from benanza_backbone.errors import BenanzaError
from benanza_schemas.codec import encode
from benanza_schemas.events import (
    LayerMeasured,
    LayerSeen,
    ModelProfiled,
    SystemMeasured,
    identified,
)
from tests.schemas.samples import EVENTS

SHIPPED = Path(__file__).parents[3] / "recordings" / "nvidia-h200.xz"

(SYSTEM_MEASURED,) = (
    replace(event, system=identified(event.system))
    for event in EVENTS
    if isinstance(event, SystemMeasured)
)
(LAYER_MEASURED,) = (
    replace(event, system=identified(event.system))
    for event in EVENTS
    if isinstance(event, LayerMeasured)
)
(PROFILED,) = (
    replace(event, system=identified(event.system))
    for event in EVENTS
    if isinstance(event, ModelProfiled)
)
(LAYER_SEEN,) = (event for event in EVENTS if isinstance(event, LayerSeen))

FAR = msgpack.packb(
    msgpack.unpackb(encode(LAYER_MEASURED)) | {"measured_at": "9999-12-31T23:59:59-14:00"}
)
"""A measurement of a time that UTC and the store don't have."""


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    events: list[Recorded] = [SYSTEM_MEASURED, LAYER_MEASURED, LAYER_MEASURED, PROFILED]
    write_recording(tmp_path / "r.xz", events)
    assert list(read_recording(tmp_path / "r.xz")) == [(encode(event), event) for event in events]


def packed(*values: object) -> bytes:
    return compressed(b"".join(msgpack.packb(value) for value in (len(values), *values)))


def compressed(content: bytes) -> bytes:
    """With little memory, which takes longer to set aside than so few bytes to compress."""
    return lzma.compress(content, preset=0)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"no xz", "no file of recorded measurements"),
        (packed(encode(LAYER_MEASURED), encode(LAYER_SEEN)), "event 1: a LayerSeen is no meas"),
        (packed(encode(LAYER_MEASURED), b"\xc1"), "behind its event 1: not MessagePack"),
        (packed(encode(LAYER_MEASURED), FAR), "behind its event 1: the time 9999-12-31"),
        (packed(encode(LAYER_MEASURED), 7), "behind its event 1: events in it are binaries"),
        (packed(["a list"]), "behind its event 0: 1 exceeds max_array_len"),
        (packed({"a": "map"}), "behind its event 0: 1 exceeds max_map_len"),
        (compressed(b""), "behind its event 0"),
        (packed(encode(LAYER_MEASURED))[:-30], "damaged behind its event"),
        (compressed(b"\x01\xc4\xff\xff"), "behind its event 0: it ends too soon"),
        (compressed(b"\x01\xc6\xff\xff\xff\xff"), "behind its event 0"),
        (
            # What finds matches takes gigabytes, unless it is the plainest.
            lzma.compress(
                b"\x01",
                filters=[
                    {
                        "id": lzma.FILTER_LZMA2,
                        "dict_size": 2**29,
                        "mode": lzma.MODE_FAST,
                        "mf": lzma.MF_HC3,
                    }
                ],
            ),
            "Memory usage limit exceeded",
        ),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "r.xz").write_bytes(content)
    with pytest.raises(BenanzaError, match=complaint) as refused:
        list(read_recording(tmp_path / "r.xz"))
    assert str(tmp_path / "r.xz") in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("first", "filler", "times", "complaint"),
    [
        (b"", b"\0", 50_000_000, "behind its event 0"),
        # Sixteen million of something each, as an event, and as how many there are.
        (b"\x01\xdd\x01\0\0\0", b"\x80", 2**24, "exceeds max_array_len"),
        (b"\xdd\x01\0\0\0", b"\x80", 2**24, "exceeds max_array_len"),
    ],
)
def test_what_is_large_when_unpacked_is_refused(
    tmp_path: Path, first: bytes, filler: bytes, times: int, complaint: str
) -> None:
    (tmp_path / "r.xz").write_bytes(lzma.compress(first + filler * times, preset=0))
    with pytest.raises(BenanzaError, match=complaint):
        list(read_recording(tmp_path / "r.xz"))


@pytest.mark.parametrize("event", [SYSTEM_MEASURED, LAYER_MEASURED, PROFILED])
def test_a_system_under_the_id_of_another_is_refused(
    tmp_path: Path, event: SystemMeasured | LayerMeasured | ModelProfiled
) -> None:
    """Its times would count as those of the system that has this id."""
    false = replace(event, system=replace(event.system, driver="999"))
    write_recording(tmp_path / "r.xz", [event, false])
    with pytest.raises(BenanzaError, match=r"event 1: the id \w+ isn't that of the system"):
        list(read_recording(tmp_path / "r.xz"))


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("MAX_FILE_BYTES", 100, "it has more than 100 bytes"),
        ("MAX_UNPACKED_BYTES", 10_000, "it holds more than 10,000 bytes, unpacked"),
        ("MAX_EVENTS", 99, "it holds more than 99 events"),
    ],
)
def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, said: str
) -> None:
    write_recording(tmp_path / "r.xz", [LAYER_MEASURED] * 100)
    assert len(list(read_recording(tmp_path / "r.xz"))) == 100
    monkeypatch.setattr(recording, limit, most)
    with pytest.raises(BenanzaError, match=f"r.xz is too large: {said}; split it"):
        list(read_recording(tmp_path / "r.xz"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match=r"can't read .*nowhere\.xz \(No such file"):
        list(read_recording(tmp_path / "nowhere.xz"))


@pytest.mark.slow
def test_the_shipped_recording_can_be_read() -> None:
    """Whatever the contract comes to ask of events, these were written before."""
    variants = 0
    kinds: Counter[str] = Counter()
    for _, event in read_recording(SHIPPED):
        kinds[type(event).__name__] += 1
        variants += len(event.variants) if isinstance(event, LayerMeasured) else 0
    assert kinds == {"SystemMeasured": 1, "LayerMeasured": 12_440}
    assert variants == 480_928
