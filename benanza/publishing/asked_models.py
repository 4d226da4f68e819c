"""The models that a run is asked for, each as the event that publishes it."""

from dataclasses import dataclass

from benanza.publishing.event import model_published, zoo_of
from benanza.publishing.inline import inline_content
from benanza.request import RunRequest
from benanza_ingest.core import checkpoint_id, model_id
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import parse
from benanza_ingest.reading.source import Fetch, FetchedModel, fetch
from benanza_ingest.resolving.bind import bind
from benanza_schemas.events import ModelPublished


@dataclass(frozen=True)
class AskedModel:
    """A model at one batch size, and what will become of it.

    `model` is how the user named it, `batch` the batch size bound. `model_id` and
    `checkpoint_id` are those of the `CheckpointIngested` that ingest makes of it.
    """

    model: str
    event: ModelPublished
    batch: int
    model_id: str
    checkpoint_id: str


def asked_models(
    model: str, request: RunRequest, limits: Limits, fetch: Fetch = fetch
) -> list[AskedModel]:
    """MODEL at each batch size asked for.

    Raises `BenanzaError` if it can't be fetched, is no model, or lacks a dimension that the
    request binds.
    """
    fetched = fetch(model, limits)
    batches = request.batch_sizes or (None,)
    content = inline_content(fetched.content) if fetched.whole else None
    return [_asked_model(model, fetched, content, batch, request, limits) for batch in batches]


def _asked_model(
    model: str,
    fetched: FetchedModel,
    content: bytes | None,
    batch: int | None,
    request: RunRequest,
    limits: Limits,
) -> AskedModel:
    binding = bind(parse(fetched.content, limits), batch, request.dims)
    identity = model_id(fetched.sha256, binding.batch, binding.dims)
    event = model_published(
        name=fetched.name,
        sha256=fetched.sha256,
        uri=fetched.uri,
        zoo=zoo_of(fetched),
        batch_sizes=() if batch is None else (batch,),
        dims=request.dims,
        content=content,
    )
    checkpoint = checkpoint_id(event.name, event.zoo, identity)
    return AskedModel(model, event, binding.batch, identity, checkpoint)
