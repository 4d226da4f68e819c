"""A folder of images as a data set."""

import os
from collections.abc import Iterable
from pathlib import Path

from benanza.pipelines.data.data_set import DataSet, Sample
from benanza.pipelines.failing import FailedSampleError
from benanza_backbone.errors import BenanzaError


class ImageFolder(DataSet):
    """A folder with a folder for each class, named as it, that holds the class's files.

    Both are ordered by name. Every file is a sample, but for those whose names begin with a dot.
    Raises `BenanzaError` for a folder without such, for folders in a folder of a class, and for a
    class whose name isn't UTF-8, as a specification couldn't have it as a label.
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
        for path in classes:
            if not _is_text(path.name):
                raise BenanzaError(f"the name of the folder {path} isn't UTF-8; rename it")
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


def _is_text(name: str) -> bool:
    return os.fsencode(name).decode("utf-8", "replace") == name


def _shown(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if not path.name.startswith("."))
