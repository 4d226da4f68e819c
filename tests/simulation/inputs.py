"""What is published: a few tiny models, and some things that no service can process."""

import hashlib
from functools import cache
from typing import NamedTuple

import onnx

from benanza.publishing.event import model_published
from benanza.publishing.inline import inline_content
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.service.processor import as_message
from benanza_ingest.core import Ingested, batch_sizes, events_of
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_schemas.events import ModelPublished
from benanza_schemas.topics import JOBS, LAYERS, MODELS, RESULTS

LIMITS = Limits()


class _Model(NamedTuple):
    """A model as `onnx.parser` reads it; `name` is in the file, so it changes its SHA-256."""

    name: str
    nodes: str
    batch_sizes: tuple[int, ...] = ()

    def content(self) -> bytes:
        """The ONNX file."""
        text = (
            f'<ir_version: 8, opset_import: ["" : 17]> {self.name} '
            f"(float[N, 8] x, float[8, 8] w, float[8, 4] v) => (float[N, M] y) {{ {self.nodes} }}"
        )
        return onnx.parser.parse_model(text).SerializeToString()


_DENSE = "a = MatMul(x, w) y = Relu(a)"

_MODELS = (
    _Model("dense", _DENSE),
    # The same architecture in another file: only its checkpoint is new.
    _Model("dense_tuned", _DENSE),
    _Model("deeper", "a = MatMul(x, w) b = Relu(a) c = MatMul(b, v) y = Softmax(c)"),
    _Model("residual", "a = Relu(x) y = Add(a, x)"),
    _Model("narrow", "a = Sigmoid(x) y = MatMul(a, v)"),
    _Model("two_sizes", "a = MatMul(x, w) y = Sigmoid(a)", (1, 2)),
)

POISONOUS = b"no event"

POISON = tuple(Message(topic, b"poison", POISONOUS) for topic in (MODELS, LAYERS, JOBS, RESULTS))
"""Bytes that are no event, each of which becomes a dead letter of each service that reads it."""


@cache
def publications() -> tuple[Message, ...]:
    """All that may be published: models, a file that is none, and poison."""
    files = [(model.name, model.content(), model.batch_sizes) for model in _MODELS]
    files.append(("no_model", b"no model", ()))
    return (*(as_message(_published(*file)) for file in files), *POISON)


def _published(name: str, content: bytes, batches: tuple[int, ...]) -> ModelPublished:
    return model_published(
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        uri="",
        zoo="",
        batch_sizes=batches,
        dims={},
        content=inline_content(content),
    )


def replayed(published: ModelPublished, limits: Limits) -> list[Ingested]:
    """As `ingest_published`, but each file is taken apart once only."""
    return events_of(published, (_once(published, batch) for batch in batch_sizes(published)))


_EXTRACTED: dict[tuple[str, int | None], ExtractedModel | ModelError] = {}


def _once(published: ModelPublished, batch: int | None) -> ExtractedModel:
    key = (published.event_id, batch)
    if key not in _EXTRACTED:
        try:
            content = content_of(published, LIMITS)
            _EXTRACTED[key] = extract(content, batch=batch, dims=published.dims, limits=LIMITS)
        except ModelError as error:
            _EXTRACTED[key] = error
    found = _EXTRACTED[key]
    if isinstance(found, ModelError):
        raise found
    return found
