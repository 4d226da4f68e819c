"""Opens what is named by a path, by an address, or in the zoo, to be read from start to end."""

import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3

from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.reading.zoo import PREFIX, zoo_path

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
"""The longest time without a byte from the server, in seconds."""

TOTAL_SECONDS = 3600.0
"""The longest download in seconds: a server may send a byte a minute."""

Read = Callable[[int], bytes]
"""Returns up to so many bytes, and none at the end."""


class Location(NamedTuple):
    """Where something is, its name, and an absolute address from which another process can read it.

    `where` is what people call it.
    """

    where: str
    name: str
    uri: str


def location_of(asked: str) -> Location:
    """That of a path, a `file:`, `http:` or `https:` address, or `zoo:NAME`. Raises `ModelError` if
    it is none.
    """
    if any(ord(character) < ord(" ") for character in asked):
        raise ModelError(f"{asked!r} is no path and no address: it holds control characters")
    if asked.startswith(PREFIX):
        name = asked.removeprefix(PREFIX)
        return Location(str(zoo_path(name)), name, asked)
    if asked.startswith(("http:", "https:")):
        return Location(asked, _stem(_split(asked).path), asked)
    path = _path(asked)
    try:
        return Location(str(path), _stem(str(path)), path.resolve().as_uri())
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links is a RuntimeError
        raise ModelError(f"{asked} names no file that can be found: {error}") from error


@contextmanager
def opened(location: Location) -> Iterator[Read]:
    """What reads it. Raises `ModelError` if it can't be read, or not in the times above."""
    if location.uri.startswith(("http:", "https:")):
        found = _download(location.where)
    elif location.uri.startswith(PREFIX):
        found = _zoo(Path(location.where))
    else:
        found = _file(Path(location.where))
    with found as read:
        yield read


def _path(model: str) -> Path:
    if not model.startswith("file:"):
        return Path(model)
    address = _split(model)
    if address.netloc not in ("", "localhost"):
        raise ModelError(f"{model} names the host {address.netloc}; write file:///PATH")
    return Path(unquote(address.path))


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise ModelError(f"{address} is no address ({error}); check its spelling") from error


def _stem(path: str) -> str:
    return Path(unquote(path)).name.removesuffix(".onnx") or "model"


@contextmanager
def _zoo(path: Path) -> Iterator[Read]:
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        yield file.read


@contextmanager
def _file(path: Path) -> Iterator[Read]:
    try:
        if path.is_dir():
            raise ModelError(f"{path} is a folder; name the .onnx file in it")
        with path.open("rb") as file:
            yield file.read
    except FileNotFoundError:
        raise UnfetchedError(
            f"there is no file {path}", "`benanza zoo` lists models to try"
        ) from None
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror or error}") from error


@contextmanager
def _download(address: str) -> Iterator[Read]:
    timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    deadline = monotonic() + TOTAL_SECONDS
    try:
        with urllib3.PoolManager() as pool:
            response = pool.request(
                "GET", address, timeout=timeout, retries=2, preload_content=False
            )
            if response.status != 200:
                raise UnfetchedError(f"{address} answers {response.status}", "check the address")

            def read(most: int) -> bytes:
                if monotonic() > deadline:
                    raise ModelError(
                        f"{address} takes longer than {TOTAL_SECONDS:.0f} s; download the file by "
                        "other means and name its path"
                    )
                # `read1` returns what has arrived, without waiting for more.
                found: bytes = response.read1(most)
                return found

            yield read
    except urllib3.exceptions.HTTPError as error:
        reason = getattr(error, "reason", None) or error
        raise UnfetchedError(
            f"{address} can't be fetched ({type(reason).__name__})",
            "check the address and the network, or download the file and name its path",
        ) from error
