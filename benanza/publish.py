"""From what a user names to events: models published, each at one batch size."""

from dataclasses import dataclass

from benanza.request import RunRequest
from benanza_ingest.bind import bind
from benanza_ingest.core import INGEST_VERSION, model_id
from benanza_ingest.limits import Limits
from benanza_ingest.parse import parse
from benanza_ingest.source import FetchedModel, fetch
from benanza_ingest.zoo import PREFIX
from benanza_schemas.events import MAX_INLINE_MODEL_BYTES, ModelPublished, event_id

ONNX_ZOO = "onnx"


@dataclass(frozen=True)
class Publication:
    """A model at one batch size, and what will become of it.

    `model_id` and `ingested_id` are those of the `ModelIngested` that ingest makes of it.
    """

    event: ModelPublished
    model_id: str
    ingested_id: str


def publications_of(model: str, request: RunRequest, limits: Limits) -> list[Publication]:
    """What to publish for MODEL: one event for each batch size asked for.

    Raises `BenanzaError` if it can't be fetched, is no model, or lacks a dimension that the
    request binds.
    """
    fetched = fetch(model, limits)
    return [
        _publication(fetched, batch, request, limits) for batch in request.batch_sizes or (None,)
    ]


def _publication(
    fetched: FetchedModel, batch: int | None, request: RunRequest, limits: Limits
) -> Publication:
    binding = bind(parse(fetched.content, limits), batch, request.dims)
    identity = model_id(fetched.sha256, binding.batch, binding.dims)
    zoo = ONNX_ZOO if fetched.uri.startswith(PREFIX) else ""
    inline = len(fetched.content) <= MAX_INLINE_MODEL_BYTES
    return Publication(
        event=ModelPublished(
            event_id=event_id("ModelPublished", fetched.name, zoo, identity, INGEST_VERSION),
            name=fetched.name,
            zoo=zoo,
            uri=fetched.uri,
            sha256=fetched.sha256,
            content=fetched.content if inline else None,
            batch_sizes=() if batch is None else (batch,),
            dims=dict(request.dims),
        ),
        model_id=identity,
        ingested_id=event_id("ModelIngested", fetched.name, zoo, identity, INGEST_VERSION),
    )
