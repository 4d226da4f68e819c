"""The event that publishes a model file."""

from collections.abc import Mapping, Sequence

from benanza_ingest.reading.source import FetchedModel
from benanza_ingest.reading.zoo import PREFIX
from benanza_schemas.events import ModelPublished, event_id
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation

ONNX_ZOO = "onnx"
"""The zoo whose models are named `zoo:NAME`."""


def model_published(
    *,
    name: str,
    sha256: str,
    uri: str,
    zoo: str,
    batch_sizes: Sequence[int],
    dims: Mapping[str, int],
    content: bytes | None = None,
    granularity: int | None = None,
    derivation: Derivation = AS_WRITTEN,
) -> ModelPublished:
    """The event for a model file, which has the same id wherever the file is.

    `content` is the file, as `publishing.inline` compresses it; without it, what reads the event
    fetches the file from `uri`. `name` is that of the model as it is written.
    """
    bound = ",".join(f"{dim}={number}" for dim, number in sorted(dims.items()))
    batches = ",".join(map(str, batch_sizes))
    name = derivation.name_of(name)
    split = () if granularity is None else (str(granularity),)
    return ModelPublished(
        event_id=event_id(
            "ModelPublished", name, zoo, sha256, batches, bound, *split, *derivation.causes()
        ),
        name=name,
        zoo=zoo,
        uri=uri,
        sha256=sha256,
        content=content,
        content_encoding="" if content is None else "xz",
        batch_sizes=tuple(batch_sizes),
        dims=dict(dims),
        granularity=granularity,
        quantised=derivation.quantised,
        tensor_parallel=derivation.tensor_parallel,
    )


def zoo_of(fetched: FetchedModel) -> str:
    """The zoo that a model says it comes from: the package. Empty for a file or an address."""
    if not fetched.uri.startswith(PREFIX):
        return ""
    package, colon, _ = fetched.uri.removeprefix(PREFIX).partition(":")
    return package if colon else ONNX_ZOO
