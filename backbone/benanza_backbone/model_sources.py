"""From where a deployment's ingest may fetch models: how that is written in a setting."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_HOST = re.compile(r"\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:]+")

_BUCKET = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]*)(/(?P<prefix>[^/,?#]+(/[^/,?#]+)*))?/?")


@dataclass(frozen=True)
class WebSource:
    """A server: `scheme` is http or https. `host` is a name in lower case or an address, `*` before
    a domain stands for all names below it, and `*` alone for all hosts.
    """

    scheme: str
    host: str
    port: int

    @property
    def exact(self) -> bool:
        """Whether it names one host."""
        return not self.host.startswith("*")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


@dataclass(frozen=True)
class FolderSource:
    """A folder, with all that is below it."""

    folder: Path

    def __str__(self) -> str:
        return self.folder.as_uri()


@dataclass(frozen=True)
class BucketSource:
    """A bucket of an object store with the S3 API, or those of its objects whose keys begin with
    `prefix` and a slash.
    """

    bucket: str
    prefix: str = ""

    def holds(self, bucket: str, key: str) -> bool:
        """Whether it has, or would have, an object with this key."""
        return bucket == self.bucket and (not self.prefix or key.startswith(f"{self.prefix}/"))

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".removesuffix("/")


ModelSource = WebSource | FolderSource | BucketSource


def parse_sources(text: str) -> tuple[ModelSource, ...]:
    """Sources that are separated by commas. Raises `ValueError` that says what is allowed."""
    return tuple(_source(part.strip()) for part in text.split(",") if part.strip())


def parse_bucket(text: str) -> BucketSource | None:
    """One bucket, none if the text is empty. Raises `ValueError` that says what is allowed."""
    return _bucket(text) if text else None


def _source(text: str) -> ModelSource:
    if text.startswith("s3:"):
        return _bucket(text)
    try:
        address = urlsplit(text)
        port = address.port
    except ValueError as error:
        raise ValueError(f"{text!r} is no address: {error}") from None
    if address.scheme == "file":
        return _folder(text, address)
    host = (address.hostname or "").rstrip(".")
    rest = address.path.rstrip("/") or address.query or address.fragment or address.username
    if address.scheme not in DEFAULT_PORTS or not _HOST.fullmatch(host) or rest:
        raise ValueError(
            f"{text!r} must be https://HOST, https://*.DOMAIN, http://HOST:PORT, s3://BUCKET or "
            "file:///FOLDER; separate several by commas"
        )
    return WebSource(address.scheme, host, port or DEFAULT_PORTS[address.scheme])


def _bucket(text: str) -> BucketSource:
    match = _BUCKET.fullmatch(text)
    if match is None or {".", ".."} & set(text.split("/")):
        raise ValueError(f"{text!r} must be s3://BUCKET or s3://BUCKET/PREFIX")
    return BucketSource(match["bucket"], match["prefix"] or "")


def _folder(text: str, address: SplitResult) -> FolderSource:
    folder = Path(unquote(address.path))
    if address.netloc or not folder.is_absolute() or ".." in folder.parts:
        raise ValueError(f"{text!r} must be file:///FOLDER, with all folders from the root on")
    return FolderSource(folder)
