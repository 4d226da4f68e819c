"""A model, loaded in a framework at several batch sizes."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.profiling.framework import Configuration, Framework
from benanza.profiling.whole_model import whole_model
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_schemas.layer import Precision


class LoadedSizes(NamedTuple):
    """A model at as many of the batch sizes as it can be had at; of the rest, `not_batched` says
    why not. One without a batch size of 1 is there `as_in_file`, and all that it takes is a sample.
    """

    model: BatchedModel
    not_batched: str
    as_in_file: bool


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

    Raises `BenanzaError` where it can be run neither at batch size 1 nor as its file has it.
    """

    def load(size: int, batch: int | None) -> LoadedModel:
        model = whole_model(content, batch, dims, limits)
        return LoadedModel(size, framework.load(model, precision, configuration), model.inputs)

    loaded: list[LoadedModel] = []
    not_batched, as_in_file = "", False
    for size in sizes:
        try:
            loaded.append(load(size, size))
        except BenanzaError as error:
            not_batched = f"not at batch size {size}: {error}"
            if not loaded:
                loaded.append(_unless_worse(load, error))
                not_batched = f"what its file takes at once is one sample: {not_batched}"
                as_in_file = True
            break
    return LoadedSizes(BatchedModel(loaded, framework.memory_like), not_batched, as_in_file)


def _unless_worse(load: Callable[[int, int | None], LoadedModel], why: BenanzaError) -> LoadedModel:
    """The model as its file has it. Raises `why` it isn't at batch size 1 if it can't be run so
    either.
    """
    try:
        return load(1, None)
    except BenanzaError:
        raise why from None
