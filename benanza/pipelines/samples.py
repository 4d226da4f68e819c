"""The port to a data set, and the adapter for a folder of images.

`tests/benanza/pipelines/data_set_contract.py` is the suite that every adapter passes.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
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
            all_lines.update(f"{self._digest(sample)}  {sample.label}/{sample.name}\n".encode())
        return all_lines.hexdigest()

    def _digest(self, sample: Sample) -> str:
        try:
            return hashlib.sha256(self.content(sample)).hexdigest()
        except FailedSampleError:
            return "-" * 64


class ImageFolder(DataSet):
    """A folder with a folder for each class, named as it, that holds the class's files.

    Both are ordered by name. Every file is a sample, but for those whose names begin with a dot.
    Raises `BenanzaError` for a folder without such, and for folders in a folder of a class.
    """

    def __init__(self, folder: Path) -> None:
        try:
            classes = sorted(path for path in _shown(folder) if path.is_dir())
            files = [(path.name, file) for path in classes for file in sorted(_shown(path))]
        except OSError as error:
            raise BenanzaError(f"{folder} can't be read: {error.strerror}") from error
        for _, file in files:
            if file.is_dir():
                raise BenanzaError(f"{file} is a folder in that of a class; move its files up")
        if not files:
            raise BenanzaError(
                f"{folder} has no images; it needs a folder for each class, with image files in it"
            )
        self._classes = tuple(path.name for path in classes)
        self._files = [file for _, file in files]
        self._samples = tuple(
            Sample(position, file.name, label) for position, (label, file) in enumerate(files)
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the folders."""
        return self._classes

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The files of the first class, then those of the next."""
        return self._samples

    def content(self, sample: Sample) -> bytes:
        """The bytes of the file."""
        try:
            return self._files[sample.position].read_bytes()
        except OSError as error:
            raise FailedSampleError(f"the file can't be read: {error.strerror}") from error


def chosen(data: DataSet, count: int, seed: int) -> tuple[Sample, ...]:
    """So many of all samples, in the data set's order: by NumPy's PCG64 with this seed where that
    are not all of them. Raises `BenanzaError` if there are fewer.
    """
    samples = data.samples
    if count > len(samples):
        raise BenanzaError(f"the data set has {len(samples)} samples, fewer than {count}")
    if count == len(samples):
        return samples
    positions = np.random.Generator(np.random.PCG64(seed)).permutation(len(samples))[:count]
    return tuple(samples[position] for position in sorted(positions))


def _shown(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith("."))
