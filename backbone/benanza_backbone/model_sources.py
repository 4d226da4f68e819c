"""From where a deployment's ingest may fetch models: how that is written in a setting."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_HOST = re.compile(r"\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:]+")


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


ModelSource = WebSource | FolderSource


def parse_sources(text: str) -> tuple[ModelSource, ...]:
    """Sources that are separated by commas. Raises `ValueError` that says what is allowed."""
    return tuple(_source(part.strip()) for part in text.split(",") if part.strip())


def _source(text: str) -> ModelSource:
    try:
        found = urlsplit(text)
        port = found.port
    except ValueError as error:
        raise ValueError(f"{text!r} is no address: {error}") from None
    if found.scheme == "file":
        return _folder(text, found)
    host = (found.hostname or "").rstrip(".")
    rest = found.path.rstrip("/") or found.query or found.fragment or found.username
    if found.scheme not in DEFAULT_PORTS or not _HOST.fullmatch(host) or rest:
        raise ValueError(
            f"{text!r} must be https://HOST, https://*.DOMAIN, http://HOST:PORT or file:///FOLDER; "
            "separate several by commas"
        )
    return WebSource(found.scheme, host, port or DEFAULT_PORTS[found.scheme])


def _folder(text: str, found: SplitResult) -> FolderSource:
    folder = Path(unquote(found.path))
    if found.netloc or not folder.is_absolute() or ".." in folder.parts:
        raise ValueError(f"{text!r} must be file:///FOLDER, with all folders from the root on")
    return FolderSource(folder)
