"""The file of a published model comes out of its event as it was, or one line says why not."""

import hashlib
import lzma
from typing import Any

import msgspec
import pytest

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_schemas.events import ModelPublished
from tests.ingest.reading.model_server import MODEL

LIMITS = Limits(model_bytes=1000)


def event(content: bytes | None, of: bytes = MODEL, **changes: Any) -> ModelPublished:
    """A model that was published with this content, of a file."""
    sha256 = hashlib.sha256(of).hexdigest()
    published = ModelPublished(
        event_id="1" * 32, name="m", sha256=sha256, content=content, content_encoding="xz"
    )
    return msgspec.structs.replace(published, **changes)


def refusal(published: ModelPublished) -> str:
    with pytest.raises(ModelError) as refused:
        content_of(published, LIMITS)
    text = str(refused.value)
    assert text.startswith("the content of m ")
    assert "\n" not in text
    return text


def test_content_with_and_without_compression() -> None:
    assert content_of(event(lzma.compress(MODEL)), LIMITS) == MODEL
    assert content_of(event(lzma.compress(MODEL, preset=9)), LIMITS) == MODEL
    assert content_of(event(MODEL, content_encoding=""), LIMITS) == MODEL


def test_an_event_without_a_file_says_what_it_lacks() -> None:
    """It was told that `.` is a folder."""
    with pytest.raises(ModelError, match=r"m was published without its file; publish it again"):
        content_of(event(None), LIMITS)


def test_the_checksum_is_that_of_the_file_itself() -> None:
    for published in (
        event(lzma.compress(MODEL), of=lzma.compress(MODEL)),
        event(MODEL, of=b"another", content_encoding=""),
    ):
        why = refusal(published)
        assert f"SHA-256 {hashlib.sha256(MODEL).hexdigest()}, not {published.sha256}" in why
        assert "publish it again" in why


@pytest.mark.parametrize("encoding", ["xz", ""])
def test_a_file_that_is_larger_than_the_limit(encoding: str) -> None:
    for size, complaint in ((1000, None), (1001, "is larger than 1,000 bytes")):
        content = bytes(size) if not encoding else lzma.compress(bytes(size))
        published = event(content, of=bytes(size), content_encoding=encoding)
        if complaint is None:
            assert content_of(published, LIMITS) == bytes(size)
        else:
            assert complaint in refusal(published)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (MODEL * 10, "not supported by decoder"),
        (b"", "it is cut off"),
        (lzma.compress(MODEL)[:-1], "it is cut off"),
        (lzma.compress(MODEL, lzma.FORMAT_ALONE), "not supported by decoder"),
        (lzma.compress(MODEL)[:20] + bytes(20) + lzma.compress(MODEL)[40:], "Corrupt input"),
    ],
)
def test_content_that_cannot_be_decompressed(content: bytes, complaint: str) -> None:
    why = refusal(event(content))
    assert "can't be decompressed (" in why
    assert complaint in why


def test_content_that_asks_for_much_memory() -> None:
    """As its header may, whatever the file holds."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]
    content = lzma.compress(MODEL, filters=filters)
    assert "Memory usage limit exceeded" in refusal(event(content))
