"""A zoo's listing: the names, addresses and checksums of its models, one object for each.

A file or address that ends in `.jsonl` has an object a line, one that ends in `.json` a list of
them. `docs/publishing.md` describes the format.
"""

import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

import msgspec

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import read_whole
from benanza_schemas.events import Name, Sha256

ENDINGS = (".jsonl", ".json")


class ListedModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of a zoo. `sha256` is that of the file at `uri`, which nobody has checked yet."""

    name: Annotated[Name, msgspec.Meta(min_length=1)]
    uri: Annotated[Name, msgspec.Meta(pattern="^(https?|s3|file|zoo):")]
    sha256: Sha256


class Entry(NamedTuple):
    """An object of a listing: where it stands, and the model, or why it isn't one."""

    where: str
    model: ListedModel | ModelError


def is_listing(address: str) -> bool:
    """Whether a path or an address names a listing and not a model."""
    path = urlsplit(address).path if re.match("https?:", address) else address
    return path.endswith(ENDINGS)


def read_listing(address: str, limits: Limits) -> Iterator[Entry]:
    """The entries of the listing at a path or an address, in order.

    An entry that is wrong doesn't hide the others. Raises `ModelError` if there is no listing
    to read there, if it is larger than a model may be, or if it has no entries.
    """
    content = read_whole(address, limits)
    entries = _objects(address, content)
    if not entries:
        raise ModelError(f"{address} lists no model")
    for where, raw in entries:
        yield Entry(where, _model(where, raw))


def _objects(address: str, content: bytes) -> list[tuple[str, bytes]]:
    """Each object of a listing, not decoded yet, with where it stands."""
    if content.lstrip().startswith(b"["):
        try:
            raws = msgspec.json.decode(content, type=list[msgspec.Raw])
        except msgspec.DecodeError as error:
            raise ModelError(f"{address} is no list in JSON: {error}") from error
        return [(f"{address}, model {number}", bytes(raw)) for number, raw in enumerate(raws, 1)]
    lines = content.splitlines()
    return [(f"{address}, line {n}", line) for n, line in enumerate(lines, 1) if line.strip()]


def _model(where: str, raw: bytes) -> ListedModel | ModelError:
    try:
        return msgspec.json.decode(raw, type=ListedModel)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return ModelError(
            f'{where}: {error}; a model is {{"name": "…", "uri": "https://…", "sha256": "…"}}'
        )
