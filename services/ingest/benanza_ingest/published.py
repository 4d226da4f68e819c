"""Ingests a published model, from its event or its address."""

from collections.abc import Callable
from io import BytesIO

from benanza_ingest.core import Ingested, ingest
from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.decompress import decompressed
from benanza_ingest.reading.download import Read
from benanza_ingest.reading.source import Fetch, copied, fetch, read_model
from benanza_schemas.events import ModelPublished

Ingest = Callable[[ModelPublished, Limits], list[Ingested]]
"""The type of `ingest_published`: returns the layers of a published model, as events."""


def ingest_published(
    published: ModelPublished, limits: Limits, fetch: Fetch = fetch
) -> list[Ingested]:
    """The model's graph and layers as events. Reads the file from the event, or by `fetch`.

    Raises `ModelError` if the file can't be fetched, if its SHA-256 is another one, or if it can't
    be ingested.
    """
    return ingest(published, content_of(published, limits, fetch), limits)


def content_of(
    published: ModelPublished,
    limits: Limits,
    fetch: Fetch = fetch,
    copy: Callable[[bytes], object] | None = None,
) -> bytes:
    """The model's file, from the event or by `fetch`, checked: as in `FetchedModel`. `copy` is
    given each part of a file that is in the event as it is read.

    Raises `ModelError` if the file can't be fetched or decompressed, if it is larger than the
    limits allow, or if its SHA-256 is another one.
    """
    if published.content is None:
        if not published.uri:
            raise ModelError(
                f"{published.name} was published without its file; publish it again with the "
                "file's address (uri), or the file itself (content)"
            )
        try:
            return fetch(published.uri, limits, published.sha256).content
        except UnfetchedError as error:
            # Who reads this looks at a deployment, and ingest may run in a container.
            raise ModelError(
                f"where ingest runs, {error.problem}; make it reachable from there (a file under "
                "the same path) and replay this, or drop this and publish the model from elsewhere"
            ) from error
    where = f"the content of {published.name}"
    read: Read = BytesIO(published.content).read
    if published.content_encoding == "xz":
        read = decompressed(read, where)
    if copy is not None:
        read = copied(read, copy)
    changed = "it was changed on the way; publish it again"
    return read_model(read, where, limits, published.sha256, changed).content
