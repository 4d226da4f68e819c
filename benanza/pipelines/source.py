"""The samples of a specification, as what answers requests asks for them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benanza.evaluating.samples import SampleSource
from benanza.pipelines.data.data_set import DataSet, Sample, chosen
from benanza.pipelines.failing import FailedSampleError
from benanza.pipelines.images.preparing import prepared
from benanza.pipelines.scoring import NamedScores, named
from benanza.pipelines.specification import PipelineSpecification, top
from benanza.profiling.whole_model import Arrays
from benanza_backbone.errors import BenanzaError
from benanza_runner.arrays import Array

NO_NUMBER = "none of its scores is a number"


class LoadedFile(NamedTuple):
    """A sample by its number among the chosen, with the bytes of its file or why it has none."""

    number: int
    sample: Sample
    content: bytes
    reason: str


class SpecifiedSamples(SampleSource):
    """The data set's files, prepared by the specification's steps for a model that takes `inputs`
    at batch size 1, and the names of its highest scores.

    A sample that fails is run as zeros, so that a run under load goes on, and is never right.
    `failed` has the reasons, by index. `taken` is the shape that the model takes, `made` another
    that the steps made, if they did. Raises `BenanzaError` for a model of several inputs, and if
    the specification doesn't say which of several `outputs` has the scores.
    """

    def __init__(
        self,
        specified: PipelineSpecification,
        data: DataSet,
        inputs: Arrays,
        outputs: Sequence[str],
    ) -> None:
        if len(inputs) != 1:
            raise BenanzaError(
                f"the model has the inputs {', '.join(inputs)}; a pipeline of images has one"
            )
        ((self._input, self._like),) = inputs.items()
        self._output = _place(specified.output.name, outputs)
        self._specified = specified
        self._data = data
        self._most = max(map(top, specified.metrics))
        self.samples = chosen(data, specified.data.samples, specified.data.seed)
        self.taken = self._like.shape[1:]
        self.made = self.taken
        self.failed: dict[int, str] = {}

    @property
    def name(self) -> str:
        """Where they come from."""
        return self._specified.data.source

    @property
    def count(self) -> int:
        """As many as are specified."""
        return len(self.samples)

    def load(self, indices: Sequence[int]) -> list[LoadedFile]:
        """The files."""
        return [self._read(index) for index in indices]

    def preprocess(self, sample: LoadedFile) -> Arrays:
        """What the steps make of a file, or zeros."""
        try:
            array = self._prepared(sample)
        except FailedSampleError as error:
            self.failed[sample.number] = str(error)
            array = np.zeros_like(self._like)
        return {self._input: array}

    def postprocess(self, outputs: Sequence[Array]) -> NamedScores:
        """The names of the highest scores."""
        return named(self.scores_in(outputs), self._specified.output, self._most)

    def scores_in(self, outputs: Sequence[Array]) -> Array:
        """The output that has the scores."""
        return outputs[self._output]

    def found(self, results: Mapping[int, NamedScores]) -> list[NamedScores | None]:
        """Of all samples the results by ascending index, `None` for what failed. A sample without
        a score that is a number has failed as well.
        """
        for index, result in results.items():
            if not result.positions:
                self.failed.setdefault(index, NO_NUMBER)
        return [None if index in self.failed else results[index] for index in sorted(results)]

    def _read(self, index: int) -> LoadedFile:
        sample = self.samples[index]
        try:
            return LoadedFile(index, sample, self._data.content(sample), "")
        except FailedSampleError as error:
            return LoadedFile(index, sample, b"", str(error))

    def _prepared(self, loaded: LoadedFile) -> Array:
        if loaded.reason:
            raise FailedSampleError(loaded.reason)
        array = prepared(loaded.content, self._specified.steps)[np.newaxis]
        if (array.shape, array.dtype) != (self._like.shape, self._like.dtype):
            self.made = array.shape[1:]
            raise FailedSampleError(
                f"the steps make {array.dtype} of {_shape(array)}, and the model takes "
                f"{self._like.dtype} of {_shape(self._like)}"
            )
        return array


def _place(name: str, outputs: Sequence[str]) -> int:
    """The position of the output of this name, or of the only one if that is empty."""
    if name in outputs:
        return outputs.index(name)
    if not name and len(outputs) == 1:
        return 0
    said = f"no output {name!r}, but" if name else "several outputs,"
    raise BenanzaError(
        f"the model has {said} {', '.join(outputs)}; set name in [output] to that of the scores"
    )


def _shape(array: Array) -> str:
    return " x ".join(map(str, array.shape[1:]))
