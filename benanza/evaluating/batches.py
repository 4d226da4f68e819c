"""A model that is loaded at several batch sizes, and how samples become batches of it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benanza.profiling.framework import Session
from benanza.profiling.whole_model import Arrays
from benanza_runner.arrays import Array


class LoadedModel(NamedTuple):
    """A model at one batch size: what runs it, and inputs of the shapes that it takes."""

    batch: int
    session: Session
    inputs: Arrays


class BatchedModel:
    """A model at ascending batch sizes, of which the first is of one sample.

    A batch of a size between two runs at the larger one, filled up with its last sample. Batches
    are put together in memory that is used again, of the kind that `memory_like` gives. One runs at
    a time.
    """

    def __init__(
        self,
        loaded: Sequence[LoadedModel],
        memory_like: Callable[[Array], Array] = np.empty_like,
    ) -> None:
        self._loaded = tuple(loaded)
        single = loaded[0].inputs
        self._axes = {
            each.batch: {name: _axis(single[name], array) for name, array in each.inputs.items()}
            for each in loaded
        }
        self._memory = {
            each.batch: {
                name: memory_like(array)
                for name, array in each.inputs.items()
                if self._axes[each.batch][name] is not None
            }
            for each in loaded[1:]
        }

    @property
    def sizes(self) -> tuple[int, ...]:
        """The batch sizes, ascending."""
        return tuple(each.batch for each in self._loaded)

    def at(self, samples: int) -> LoadedModel:
        """What runs so many samples; at most as many as the largest batch size."""
        return next(each for each in self._loaded if each.batch >= samples)

    def run(self, samples: Sequence[Arrays]) -> list[list[Array]]:
        """The outputs of each sample, which are views of those of the batch."""
        loaded = self.at(len(samples))
        if loaded.batch == 1:
            return [list(loaded.session(samples[0]))]
        filled = [*samples, *[samples[-1]] * (loaded.batch - len(samples))]
        memory = self._memory[loaded.batch]
        inputs = {
            name: filled[0][name]
            if axis is None
            else np.concatenate([sample[name] for sample in filled], axis, out=memory[name])
            for name, axis in self._axes[loaded.batch].items()
        }
        outputs = loaded.session(inputs)
        split = [_split(_kept(output, memory), loaded.batch) for output in outputs]
        return [[parts[number] for parts in split] for number in range(len(samples))]


def _axis(single: Array, batch: Array) -> int | None:
    """The axis along which a batch is longer than a sample; `None` if it isn't."""
    differ = (axis for axis, of in enumerate(batch.shape) if of != single.shape[axis])
    return next(differ, None)


def _kept(output: Array, memory: Arrays) -> Array:
    """An output, copied if it may be a view of memory that the next batch is written to."""
    if not isinstance(output, np.ndarray):
        return output
    viewed = any(np.may_share_memory(output, array) for array in memory.values())
    return output.copy() if viewed else output


def _split(output: Array, batch: int) -> list[Array]:
    """An output's parts by sample. One that isn't of samples belongs to each, and so does what is
    no array, such as a sequence.
    """
    if not isinstance(output, np.ndarray) or not output.ndim or output.shape[0] % batch:
        return [output] * batch
    return np.split(output, batch)
