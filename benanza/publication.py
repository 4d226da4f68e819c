"""A model file as the event that publishes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benanza.request import RunRequest
from benanza_ingest.bind import bind
from benanza_ingest.core import ingested_id, model_id
from benanza_ingest.limits import Limits
from benanza_ingest.parse import parse
from benanza_ingest.source import FetchedModel, fetch
from benanza_ingest.zoo import PREFIX
from benanza_schemas.events import MAX_INLINE_MODEL_BYTES, ModelPublished, event_id

ONNX_ZOO = "onnx"
"""The zoo whose models are named `zoo:NAME`."""


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


def model_published(
    *,
    name: str,
    sha256: str,
    uri: str,
    zoo: str,
    batch_sizes: Sequence[int],
    dims: Mapping[str, int],
    content: bytes | None = None,
) -> ModelPublished:
    """The event for a model file, which has the same id wherever the file is.

    `content` travels in the event if it is small enough; what reads the event fetches a larger
    file from `uri`.
    """
    bound = ",".join(f"{dim}={number}" for dim, number in sorted(dims.items()))
    batches = ",".join(map(str, batch_sizes))
    inline = content is not None and len(content) <= MAX_INLINE_MODEL_BYTES
    return ModelPublished(
        event_id=event_id("ModelPublished", name, zoo, sha256, batches, bound),
        name=name,
        zoo=zoo,
        uri=uri,
        sha256=sha256,
        content=content if inline else None,
        batch_sizes=tuple(batch_sizes),
        dims=dict(dims),
    )


def zoo_of(fetched: FetchedModel) -> str:
    """The zoo that a model says it comes from; empty for a file or an address."""
    return ONNX_ZOO if fetched.uri.startswith(PREFIX) else ""


def _publication(
    fetched: FetchedModel, batch: int | None, request: RunRequest, limits: Limits
) -> Publication:
    binding = bind(parse(fetched.content, limits), batch, request.dims)
    identity = model_id(fetched.sha256, binding.batch, binding.dims)
    event = model_published(
        name=fetched.name,
        sha256=fetched.sha256,
        uri=fetched.uri,
        zoo=zoo_of(fetched),
        batch_sizes=() if batch is None else (batch,),
        dims=request.dims,
        content=fetched.content,
    )
    return Publication(event, identity, ingested_id(event.name, event.zoo, identity))
