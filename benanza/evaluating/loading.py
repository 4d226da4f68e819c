"""A model, loaded in a framework at several batch sizes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.profiling.framework import Configuration, Framework
from benanza.profiling.whole_model import whole_model
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_schemas.layer import Precision


class LoadedSizes(NamedTuple):
    """A model at as many of the batch sizes as it can be had at; of the rest, `not_batched` says
    why not.
    """

    model: BatchedModel
    not_batched: str


def batch_sizes(most: int) -> tuple[int, ...]:
    """The powers of two up to this, and this."""
    powers = (2**exponent for exponent in range(most.bit_length()))
    return tuple(sorted({*(size for size in powers if size <= most), most}))


def load_sizes(
    framework: Framework,
    configuration: Configuration,
    content: bytes,
    precision: Precision,
    sizes: Sequence[int],
    dims: Mapping[str, int],
    limits: Limits,
) -> LoadedSizes:
    """The model in a file, of which `content` has all bytes, with a configuration of the framework,
    at ascending batch sizes from 1.

    Raises `BenanzaError` where it can't be run at batch size 1.
    """
    loaded: list[LoadedModel] = []
    not_batched = ""
    for size in sizes:
        try:
            model = whole_model(content, size, dims, limits)
            session = framework.load(model, precision, configuration)
        except BenanzaError as error:
            if not loaded:
                raise
            not_batched = f"not at batch size {size}: {error}"
            break
        loaded.append(LoadedModel(size, session, model.inputs))
    return LoadedSizes(BatchedModel(loaded, framework.memory_like), not_batched)
