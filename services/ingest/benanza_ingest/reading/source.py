"""Fetches an ONNX file from a path or an address, and checks its SHA-256.

A file of any size takes little memory: of a large one, the data of its weights aren't kept.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from google.protobuf.message import DecodeError

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import MODEL_BYTES_SETTING, Limits
from benanza_ingest.reading.allowed import ANYWHERE, Allowed
from benanza_ingest.reading.download import Read
from benanza_ingest.reading.locations import location_of, opened
from benanza_ingest.reading.parse import KEPT_BYTES, STRIPPED_FROM_BYTES, no_model
from benanza_ingest.reading.stream import CHUNK_BYTES, Source, strip_stream


@dataclass(frozen=True)
class FetchedModel:
    """A model's file. `uri` is an absolute address, from which another process can fetch it.

    `content` is the whole file, unless that is larger than `STRIPPED_FROM_BYTES`: then it is the
    model without the data of its weights, and not `whole`. `sha256` is that of the file.
    """

    name: str
    uri: str
    content: bytes
    sha256: str
    whole: bool


class Fetch(Protocol):
    """What `fetch` does."""

    def __call__(self, model: str, limits: Limits, sha256: str | None = None) -> FetchedModel:
        """Reads a model, and checks it if a checksum is given."""


class ReadModel(NamedTuple):
    """What was read of a file, as `FetchedModel` has it."""

    content: bytes
    sha256: str
    whole: bool


def fetch(
    model: str,
    limits: Limits,
    sha256: str | None = None,
    allowed: Allowed = ANYWHERE,
    copy: Callable[[bytes], object] | None = None,
) -> FetchedModel:
    """Reads MODEL: a path, a `file:`, `http:`, `https:` or `s3:` address, or `zoo:NAME`.

    External data of the model are not fetched: ingest needs no weights. `copy` is given each part
    of the file as it is read. Raises `ModelError` if the file isn't `allowed` or can't be read, if
    the server exceeds the times of `download`, and as `read_model` does.
    """
    location = location_of(model)
    with opened(location, allowed) as read:
        content, digest, whole = read_model(
            read if copy is None else copied(read, copy),
            location.where,
            limits,
            sha256,
            "it was changed or cut off on the way; fetch it again, or publish it with its new "
            "checksum",
        )
    return FetchedModel(location.name, location.uri, content, digest, whole)


def read_model(
    read: Read, where: str, limits: Limits, sha256: str | None, mismatch: str
) -> ReadModel:
    """Reads a model's file to its end. `where` is what people call it.

    Raises `ModelError` if it is larger than `limits.model_bytes`, if the SHA-256 (hexadecimal)
    isn't `sha256`, with what a `mismatch` means, or if it is large and no model.
    """
    hashed = _Hashed(read, where, limits)
    content, whole = _content(hashed)
    hashed.exhaust()
    digest = hashed.sha256.hexdigest()
    if sha256 is not None and digest != sha256.lower():
        raise ModelError(f"{where} has the SHA-256 {digest}, not {sha256}: {mismatch}")
    if isinstance(content, ModelError):
        raise content
    return ReadModel(content, digest, whole)


def read_whole(asked: str, limits: Limits) -> bytes:
    """All bytes of what is no model, such as a listing, found as by `fetch`.

    Raises `ModelError` as `fetch` does.
    """
    location = location_of(asked)
    with opened(location, ANYWHERE) as read:
        return _up_to(_Hashed(read, location.where, limits), limits.model_bytes)


def within_limits(read: Read, where: str, limits: Limits) -> Read:
    """Reads the same, and raises `ModelError` after more bytes than a model may have. `where` is
    what people call it.
    """
    return _Hashed(read, where, limits).read


def copied(read: Read, copy: Callable[[bytes], object]) -> Read:
    """Reads the same, and gives `copy` each part of it."""

    def copying(most: int) -> bytes:
        chunk = read(most)
        copy(chunk)
        return chunk

    return copying


class _Hashed:
    """Reads within the limits, and hashes what is read."""

    def __init__(self, read: Read, where: str, limits: Limits) -> None:
        self.sha256 = hashlib.sha256()
        self._read = read
        self._where = where
        self._limits = limits
        self._total = 0

    def read(self, most: int) -> bytes:
        """The next bytes, none at the end. Raises `ModelError` after too many."""
        limit = self._limits.model_bytes
        chunk = self._read(min(most, limit + 1 - self._total))
        self.sha256.update(chunk)
        self._total += len(chunk)
        if self._total > limit:
            raise ModelError(
                f"{self._where} is larger than {limit:,} bytes; keep its weights as external "
                f"data, or raise {MODEL_BYTES_SETTING}"
            )
        return chunk

    def exhaust(self) -> None:
        """Reads to the end, for the checksum."""
        while self.read(CHUNK_BYTES):
            pass


def _content(hashed: _Hashed) -> tuple[bytes | ModelError, bool]:
    """The model as in `FetchedModel`, or why it isn't one, and whether that is the whole file."""
    begin = _up_to(hashed, STRIPPED_FROM_BYTES)
    if len(begin) <= STRIPPED_FROM_BYTES:
        return begin, True
    first = iter((begin,))
    source = Source(lambda most: next(first, b"") or hashed.read(most))
    try:
        return strip_stream(source, KEPT_BYTES), False
    except DecodeError:
        return no_model(begin), False
    except ModelError as error:  # If it is too large, reading on says so again.
        return error, False


def _up_to(hashed: _Hashed, most: int) -> bytes:
    """All that is read, if that is no more than so many bytes; else the first of it, and more."""
    content = bytearray()
    while len(content) <= most and (chunk := hashed.read(CHUNK_BYTES)):
        content += chunk
    return bytes(content)
