"""The port to a data set: where samples come from, and what their results mean.

What a sample is before it is pre-processed, only its source knows.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benanza.profiling.whole_model import Arrays
from benanza_runner.arrays import Array


class SampleSource(ABC):
    """Samples by their indices, from 0 on.

    `load` runs before the clock does, as LoadGen loads samples into memory; `preprocess` and
    `postprocess` run for each request, and their time is part of its latency. They are called from
    one thread.
    """

    scores = False
    """Whether `metrics` has something to say, so that all samples are run once for it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the samples are, for people, with a version where there is one."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many there are."""

    @abstractmethod
    def load(self, indices: Sequence[int]) -> list[Any]:
        """The samples with these indices, in memory."""

    def preprocess(self, sample: Any) -> Arrays:
        """What a loaded sample is to the model: its inputs at batch size 1, by name."""
        arrays: Arrays = sample
        return arrays

    def postprocess(self, outputs: Sequence[Array]) -> Any:
        """What is made of the model's outputs for one sample, in the order of its graph."""
        return outputs

    def metrics(self, results: Mapping[int, Any]) -> Mapping[str, float]:
        """What the results of `postprocess` of all samples, by index, say of the model, such as the
        share that is right.
        """
        return {}


class MadeUpSamples(SampleSource):
    """The inputs that a model's layers are measured with; floats are shifted from sample to sample.
    Inputs of integers, such as tokens, are the same in all samples.
    """

    def __init__(self, inputs: Arrays, count: int = 64) -> None:
        self._inputs = inputs
        self._count = count

    @property
    def name(self) -> str:
        """That nobody gave any."""
        return "made up"

    @property
    def count(self) -> int:
        """As many as were asked for."""
        return self._count

    def load(self, indices: Sequence[int]) -> list[Arrays]:
        """A model's inputs."""
        return [
            {name: _shifted(array, index) for name, array in self._inputs.items()}
            for index in indices
        ]


def _shifted(array: Array, by: int) -> Array:
    return np.roll(array, by) if array.dtype.kind == "f" else array
