"""A published model's file, on this machine."""

from pathlib import Path

from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_ingest.reading.allowed import Allowed
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import ModelPublished


def write_model(published: ModelPublished, path: Path, limits: Limits, allowed: Allowed) -> None:
    """Writes all of the model's file there, from the event or from where it is `allowed` to be.

    Raises `ModelError` if it can't be had from here, or if its SHA-256 is another one.
    """
    with path.open("wb") as file:
        if published.content is not None:
            content_of(published, limits, copy=file.write)
            return
        try:
            fetch(published.uri, limits, published.sha256, allowed, copy=file.write)
        except UnfetchedError as error:
            raise ModelError(
                f"where the agent runs, {error.problem}; make it reachable from there"
            ) from error
