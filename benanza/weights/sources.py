"""From where the store reads a model's weights: files that a tenant has opened, or an address.

A tenant passes its files open, so that it gets nothing that it couldn't read itself, and the store
follows no path of another user's. A file is known again by its inode, size and times, as Git's
index knows it; an address by the SHA-256 that was published with it.
"""

import fcntl
import hashlib
import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from benanza.weights.packing import OpenExternal, pack
from benanza.weights.scanning import external_locations
from benanza_backbone.weights.packed import PackedWriter, Write
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import Allowed
from benanza_ingest.reading.download import Read
from benanza_ingest.reading.locations import location_of, opened
from benanza_ingest.reading.stream import Source

SETTLED_S = 2.0
"""A file that was changed so recently may be changed again within one tick of its file system's
clock, which shows in nothing.
"""


class WeightSource(ABC):
    """What the weights of one model are read from. Equal keys mean equal weights; there is none
    where that can't be told.
    """

    key: str | None

    @abstractmethod
    def fill(self, write: Write) -> None:
        """Writes the packed weights. Raises `ModelError` if they can't be had."""


class FileWeights(WeightSource):
    """Those of open files: the model's, and those beside it by their locations in the model.

    Raises `ModelError` for what is no file.
    """

    def __init__(self, model: int, beside: Mapping[str, int], limits: Limits) -> None:
        self._files = {"": model, **beside}
        self._limits = limits
        self._found = self._signatures()
        named = [
            f"{location}\0{each}" for location, each in zip(self._files, self._found, strict=True)
        ]
        self.key = _key("files", *named) if all(map(is_settled, self._found)) else None

    def fill(self, write: Write) -> None:
        """Reads the files. Raises `ModelError` if they change meanwhile."""

        @contextmanager
        def beside(locations: Sequence[str]) -> Iterator[Callable[[str], Read]]:
            if missing := [each for each in locations if each not in self._files]:
                raise ModelError(f"the model's file changed: it has weights in {missing[0]} now")
            yield lambda location: _Reading(self._files[location])

        _fill(_Reading(self._files[""]), beside, write, "", self._limits)
        if self._signatures() != self._found:
            raise ModelError("the model's files changed while they were read; ask again")

    def _signatures(self) -> list[tuple[int, ...]]:
        return [signature(file) for file in self._files.values()]


class AddressWeights(WeightSource):
    """Those at an `http:`, `https:` or `s3:` address, of a file with this SHA-256. What is beside
    it is taken to stay as it is.

    Raises `ModelError` for another address, and without the SHA-256.
    """

    def __init__(self, address: str, sha256: str, allowed: Allowed, limits: Limits) -> None:
        if not address.startswith(("http:", "https:", "s3:")):
            raise ModelError(
                f"{address} has no weights that can be shared; name a file, or an http:, https: "
                "or s3: address"
            )
        if len(sha256) != 64:
            raise ModelError(
                f"say which SHA-256 {address} must have; `benanza publish` prints that"
            )
        self.key = _key("address", address, sha256.lower())
        self._address = address
        self._sha256 = sha256
        self._allowed = allowed
        self._limits = limits

    def fill(self, write: Write) -> None:
        """Fetches the files. Raises `ModelError` if that isn't allowed, or can't be done."""
        with opened(location_of(self._address), self._allowed) as read:
            _fill(read, self._beside, write, self._sha256, self._limits)

    @contextmanager
    def _beside(self, locations: Sequence[str]) -> Iterator[Callable[[str], Read]]:
        folder = self._address.rpartition("/")[0]
        with ExitStack() as stack:
            yield lambda location: stack.enter_context(
                opened(location_of(f"{folder}/{location}"), self._allowed)
            )


def locations_of(model: int, limits: Limits) -> tuple[str, ...]:
    """The locations of the files beside the model in this open file. Raises `ModelError`."""
    if os.fstat(model).st_size > limits.model_bytes:
        raise _too_large(limits)
    reading = _Reading(model)
    return external_locations(Source(reading, reading.forward))


def signature(file: int) -> tuple[int, ...]:
    """What an open file is known again by; the time of its last change, in nanoseconds, is last.

    Raises `ModelError` for what is no file, and for one that isn't open for reading: whoever may
    not read a file can open it so, too, and would get what the store has of it.
    """
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    if flags & os.O_PATH or flags & os.O_ACCMODE not in (os.O_RDONLY, os.O_RDWR):
        raise ModelError("the model's file can't be read; open it for reading")
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise ModelError("what was passed is no regular file; name the .onnx file")
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def is_settled(found: tuple[int, ...]) -> bool:
    """Whether a file of this signature will have another one when it changes."""
    return time.time() - found[-1] / 1e9 > SETTLED_S


class _Reading:
    """Reads an open file from its start, wherever its owner reads meanwhile."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._position = 0

    def __call__(self, most: int) -> bytes:
        try:
            part = os.pread(self._file, most, self._position)
        except OSError as error:
            raise ModelError(f"the model's file can't be read: {error.strerror}") from error
        self._position += len(part)
        return part

    def forward(self, size: int) -> None:
        self._position += size


def _fill(
    read: Read,
    beside: OpenExternal,
    write: Write,
    sha256: str,
    limits: Limits,
) -> None:
    digest, total = hashlib.sha256(), 0

    def hashed(most: int) -> bytes:
        nonlocal total
        part = read(most)
        digest.update(part)
        total += len(part)
        if total > limits.model_bytes:
            raise _too_large(limits)
        return part

    writer = PackedWriter(write)
    packed = pack(Source(hashed), beside, writer)
    found = digest.hexdigest()
    if sha256 and found != sha256.lower():
        raise ModelError(f"the model's file has the SHA-256 {found}, not {sha256}; fetch it again")
    writer.finish(packed.weights, packed.model, found)


def _too_large(limits: Limits) -> ModelError:
    return ModelError(
        f"the model's file is larger than {limits.model_bytes:,} bytes; save it with external data"
    )


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
