"""Opens what is named by a path, by an address, or in the zoo, to be read from start to end."""

import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urlsplit

from benanza_ingest.decoders.forms import decoder_model, decoder_names
from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.reading.allowed import Allowed
from benanza_ingest.reading.download import Read, downloaded
from benanza_ingest.reading.object_address import object_address
from benanza_ingest.reading.object_store import opened_object
from benanza_ingest.reading.zoo import PREFIX, exported_models, zoo_names, zoo_path


class Location(NamedTuple):
    """Where something is, its name, and an absolute address from which another process can read it.

    `where` is what people call it. A path need not be Unicode, and has surrogates where it isn't;
    the name is text, with them escaped.
    """

    where: str
    name: str
    uri: str


def location_of(asked: str) -> Location:
    """The location that a path, a `file:`, `http:`, `https:` or `s3:` address or `zoo:NAME` means.

    Raises `ModelError` for any other text.
    """
    if not asked:
        raise ModelError("the model's name is empty; give a path, an address or zoo:NAME")
    if any(ord(character) < ord(" ") for character in asked):
        raise ModelError(f"{asked!r} is no path and no address: it holds control characters")
    if asked.startswith((PREFIX, "http:", "https:", "s3:")) and not _is_text(asked):
        raise ModelError(f"{_text(asked)} is no address: it isn't Unicode; percent-encode it")
    if asked.startswith(PREFIX):
        name = asked.removeprefix(PREFIX)
        where = asked if name in decoder_names() else str(zoo_path(name))
        return Location(where, name, asked)
    if asked.startswith(("http:", "https:")):
        return Location(asked, _stem(_split(asked).path), asked)
    if asked.startswith("s3:"):
        return Location(asked, _stem(object_address(asked).key), asked)
    path = _path(asked)
    try:
        return Location(str(path), _stem(str(path)), path.resolve().as_uri())
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links is a RuntimeError
        raise ModelError(f"{asked} names no file that can be found: {error}") from error


@contextmanager
def opened(location: Location, allowed: Allowed) -> Iterator[Read]:
    """What reads it. Raises `ModelError` if that isn't allowed, or can't be done in the times of
    `download`.
    """
    if location.uri.startswith(("http:", "https:")):
        source = downloaded(location.where, allowed)
    elif location.uri.startswith("s3:"):
        address = object_address(location.where)
        allowed.check_object(address)
        source = opened_object(address)
    elif location.uri.startswith(PREFIX):
        source = _decoder(location.name) if location.where == location.uri else _zoo(location.where)
    else:
        source = _file(allowed.file(Path(location.where)))
    with source as read:
        yield read


def _path(model: str) -> Path:
    if not model.startswith("file:"):
        return Path(model)
    address = _split(model)
    if address.netloc not in ("", "localhost"):
        raise ModelError(f"{model} names the host {address.netloc}; write file:///PATH")
    return Path(os.fsdecode(unquote_to_bytes(address.path)))


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise ModelError(f"{address} is no address ({error}); check its spelling") from error


def _stem(path: str) -> str:
    return _text(Path(unquote(path)).name.removesuffix(".onnx") or "model")


def _is_text(name: str) -> bool:
    return _text(name) == name


def _text(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()


@contextmanager
def _zoo(path: str) -> Iterator[Read]:
    with lzma.open(path) if path.endswith(".xz") else Path(path).open("rb") as file:
        yield file.read


@contextmanager
def _decoder(name: str) -> Iterator[Read]:
    yield BytesIO(decoder_model(name)).read


@contextmanager
def _file(path: Path) -> Iterator[Read]:
    try:
        if path.is_dir():
            raise ModelError(f"{path} is a folder; name the .onnx file in it")
        with path.open("rb") as file:
            yield file.read
    except FileNotFoundError:
        every = (*zoo_names(), *exported_models(), *decoder_names())
        likes = [str(path)] if str(path) in every else get_close_matches(str(path), every, n=1)
        beside = [each.name for each in path.parent.glob("*.onnx")] if path.suffix else []
        near = get_close_matches(path.name, beside, n=1)
        mend = "`benanza zoo` lists models to try"
        if near:
            mend = f"did you mean {path.with_name(near[0])}?"
        elif likes:
            mend = f"say {PREFIX}{likes[0]}"
        raise UnfetchedError(f"there is no file {path}", mend) from None
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror or error}") from error
