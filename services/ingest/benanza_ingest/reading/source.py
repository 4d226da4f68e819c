"""Fetches an ONNX file from a path or an address, and checks its SHA-256."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import MODEL_BYTES_SETTING, Limits
from benanza_ingest.reading.zoo import PREFIX, zoo_path

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
"""The longest time without a byte from the server, in seconds."""

TOTAL_SECONDS = 3600.0
"""The longest download in seconds: a server may send a byte a minute."""

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class FetchedModel:
    """A model's file. `uri` is an absolute address, from which another process can fetch it."""

    name: str
    uri: str
    content: bytes
    sha256: str


class Fetch(Protocol):
    """What `fetch` does."""

    def __call__(self, model: str, limits: Limits, sha256: str | None = None) -> FetchedModel:
        """Reads a model, and checks it if a checksum is given."""


def fetch(model: str, limits: Limits, sha256: str | None = None) -> FetchedModel:
    """Reads MODEL: a path, a `file:`, `http:` or `https:` address, or `zoo:NAME`.

    External data of the model are not fetched: ingest needs no weights. Raises `ModelError` if the
    file can't be read, if it is larger than `limits.model_bytes`, if the server exceeds the times
    above, or if its SHA-256 (hexadecimal) isn't `sha256`.
    """
    if any(ord(character) < ord(" ") for character in model):
        raise ModelError(f"{model!r} is no path and no address: it holds control characters")
    if model.startswith(PREFIX):
        name, uri = model.removeprefix(PREFIX), model
        content = _read(zoo_path(name), limits)
    elif model.startswith(("http:", "https:")):
        name, uri = _stem(_split(model).path), model
        content = _download(model, limits)
    else:
        path = _path(model)
        name, uri = _stem(str(path)), path.resolve().as_uri()
        content = _read(path, limits)
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256.lower():
        raise ModelError(
            f"{model} has the SHA-256 {found}, not {sha256}: it was changed or cut off on the "
            "way; fetch it again, or publish it with its new checksum"
        )
    return FetchedModel(name=name, uri=uri, content=content, sha256=found)


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


def _read(path: Path, limits: Limits) -> bytes:
    try:
        if path.is_dir():
            raise ModelError(f"{path} is a folder; name the .onnx file in it")
        with path.open("rb") as file:
            # Python allocates as much memory as is requested, however small the file is.
            size = path.stat().st_size if path.is_file() else limits.model_bytes
            content = file.read(min(size, limits.model_bytes) + 1)
    except FileNotFoundError:
        raise ModelError(f"there is no file {path}; `benanza zoo` lists models to try") from None
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror or error}") from error
    return _within(content, str(path), limits)


def _download(address: str, limits: Limits) -> bytes:
    timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    deadline = monotonic() + TOTAL_SECONDS
    try:
        with urllib3.PoolManager() as pool:
            response = pool.request(
                "GET", address, timeout=timeout, retries=2, preload_content=False
            )
            if response.status != 200:
                raise ModelError(f"{address} answers {response.status}; check the address")
            content = bytearray()
            # `read1` returns what has arrived, without waiting for more.
            while chunk := response.read1(_CHUNK_BYTES):
                content += chunk
                if len(content) > limits.model_bytes:
                    break
                if monotonic() > deadline:
                    raise ModelError(
                        f"{address} takes longer than {TOTAL_SECONDS:.0f} s; download the file by "
                        "other means and name its path"
                    )
    except urllib3.exceptions.HTTPError as error:
        reason = getattr(error, "reason", None) or error
        raise ModelError(
            f"{address} can't be fetched ({type(reason).__name__}); "
            "check the address and the network, or download the file and name its path"
        ) from error
    return _within(bytes(content), address, limits)


def _within(content: bytes, where: str, limits: Limits) -> bytes:
    if len(content) > limits.model_bytes:
        raise ModelError(
            f"{where} is larger than {limits.model_bytes:,} bytes; keep its weights as external "
            f"data, or raise {MODEL_BYTES_SETTING}"
        )
    return content
