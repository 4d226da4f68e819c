"""The port to a data set.

`tests/benanza/pipelines/data_set_contract.py` is the suite that every adapter passes.
"""

import hashlib
from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from benanza.pipelines.failing import FailedSampleError
from benanza_backbone.errors import BenanzaError


class Sample(NamedTuple):
    """A sample by its position in the data set, its name there, and the name of its class."""

    position: int
    name: str
    label: str


class DataSet(ABC):
    """Image files with the names of their classes, in an order that is always the same."""

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:
        """The names of all classes, in the data set's order."""

    @property
    @abstractmethod
    def samples(self) -> tuple[Sample, ...]:
        """All samples. None is left out: what can't be read fails when it is."""

    @abstractmethod
    def content(self, sample: Sample) -> bytes:
        """The file of a sample. Raises `FailedSampleError`."""

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of a line for each sample in their order: that of its file, two spaces, its
        class, a slash, its name. A sample that can't be read has dashes instead.
        """
        all_lines = hashlib.sha256()
        for sample in self.samples:
            line = f"{self._digest(sample)}  {sample.label}/{sample.name}\n"
            all_lines.update(line.encode("utf-8", "surrogateescape"))  # file names are bytes
        return all_lines.hexdigest()

    def _digest(self, sample: Sample) -> str:
        try:
            return hashlib.sha256(self.content(sample)).hexdigest()
        except FailedSampleError:
            return "-" * 64


def chosen(data: DataSet, count: int, seed: int) -> tuple[Sample, ...]:
    """So many of all samples, in the data set's order: by NumPy's PCG64 with this seed where that
    are not all of them. Raises `BenanzaError` if there are fewer.
    """
    samples = data.samples
    if count > len(samples):
        raise BenanzaError(
            f"the data set has {len(samples)} samples, fewer than {count}; lower samples in [data]"
        )
    if count == len(samples):
        return samples
    positions = np.random.Generator(np.random.PCG64(seed)).permutation(len(samples))[:count]
    return tuple(samples[position] for position in sorted(positions))
