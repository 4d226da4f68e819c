"""The models that a run is asked for, each as the event that publishes it."""

from collections.abc import Mapping
from dataclasses import dataclass

from benanza.publishing.event import model_published, zoo_of
from benanza.publishing.inline import inline_content
from benanza.request import RunRequest
from benanza_ingest.core import model_id
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import parse
from benanza_ingest.reading.source import Fetch, FetchedModel, fetch
from benanza_ingest.resolving.bind import Binding, bind
from benanza_schemas.events import ModelPublished


@dataclass(frozen=True)
class AskedModel:
    """A model at one batch size.

    `model` is how the user named it, `batch` the batch size bound, `dims` the other dimensions,
    `model_id` what others know it by.
    """

    model: str
    event: ModelPublished
    batch: int
    dims: Mapping[str, int]
    model_id: str


def asked_models(
    model: str, request: RunRequest, limits: Limits, fetch: Fetch = fetch
) -> list[AskedModel]:
    """MODEL at each batch size and point of the sweep, and what is to be derived of it.

    Raises `BenanzaError` if it can't be fetched, is no model, or lacks a dimension that the
    request binds.
    """
    fetched = fetch(model, limits)
    found = []
    for event in published_models(fetched, request):
        binding = binding_of(event, fetched.content, limits)
        identity = model_id(fetched.sha256, binding.batch, binding.dims, event.derivation())
        found.append(AskedModel(model, event, binding.batch, binding.dims, identity))
    return found


def published_models(fetched: FetchedModel, request: RunRequest) -> list[ModelPublished]:
    """The events that publish a model, one for each batch size and point of the sweep, and each
    that is to be derived of it there.
    """
    content = inline_content(fetched.content) if fetched.whole else None
    return [
        model_published(
            name=fetched.name,
            sha256=fetched.sha256,
            uri=fetched.uri,
            zoo=zoo_of(fetched),
            batch_sizes=() if batch is None else (batch,),
            dims=dims,
            content=content,
            derivation=derivation,
        )
        for batch in request.batch_sizes or (None,)
        for dims in request.points()
        for derivation in request.derivations
    ]


def binding_of(published: ModelPublished, content: bytes, limits: Limits) -> Binding:
    """What the event binds in its model, at the first batch size. `content` are the bytes of its
    file. Raises `ModelError` if it is no model, or lacks a dimension that is bound.
    """
    batch = next(iter(published.batch_sizes), None)
    return bind(parse(content, limits), batch, published.dims)
