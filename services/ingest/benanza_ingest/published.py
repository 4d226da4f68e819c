"""Ingests a published model, from its event or its address."""

import hashlib
from collections.abc import Callable

from benanza_ingest.core import Ingested, ingest
from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import Fetch, fetch
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


def content_of(published: ModelPublished, limits: Limits, fetch: Fetch = fetch) -> bytes:
    """The bytes of the model's file, from the event or by `fetch`, checked.

    Raises `ModelError` if the file can't be fetched, or if its SHA-256 is another one.
    """
    if published.content is None:
        try:
            return fetch(published.uri, limits, published.sha256).content
        except UnfetchedError as error:
            # Who reads this looks at a deployment, and ingest may run in a container.
            raise ModelError(
                f"where ingest runs, {error.problem}; make it reachable from there (a file under "
                "the same path) and replay this, or drop this and publish the model from elsewhere"
            ) from error
    found = hashlib.sha256(published.content).hexdigest()
    if found != published.sha256:
        raise ModelError(
            f"the content of {published.name} has the SHA-256 {found}, not {published.sha256}; "
            "publish it again"
        )
    return published.content
