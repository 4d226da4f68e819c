"""What is expensive to make, and what all of pytest's processes therefore share."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

_FOLDER = "TESTS_SHARED"
"""The environment variable by which processes of pytest-xdist know the folder of the first."""


_PART = re.compile(r"\w+_\d+_\d+_\d+(_\d+)?")
"""A part's folder: partition, first and last block, merges, mutations."""


def make_shared_folder(config: pytest.Config) -> None:
    """Makes the folder of this run, which is removed at the end of the run."""
    if _FOLDER not in os.environ:
        os.environ[_FOLDER] = folder = tempfile.mkdtemp(prefix="benanza-tests-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(_FOLDER, folder)))


def is_shared() -> bool:
    """Whether this process is one of pytest's, which have such a folder."""
    return _FOLDER in os.environ


def shared_folder() -> Path:
    """The folder of this run."""
    return Path(os.environ[_FOLDER])


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` fills, in whichever process needs it first. Tests that change what
    it holds make a copy.
    """
    folder = shared_folder() / name
    made = folder.with_suffix(".made")
    with FileLock(folder.with_suffix(".lock")):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # left by one that failed
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


def copied(folder: Path, to: Path) -> Path:
    """A copy of a data folder, or of a store alone, for one test to change.

    The engine writes the files of a part once; itself it links them. To copy these hundreds of
    small files would take longer than most tests.
    """
    return Path(shutil.copytree(folder, to, symlinks=True, copy_function=_copied))


def _copied(file: str, to: str) -> None:
    copy = os.link if _PART.fullmatch(Path(file).parent.name) else shutil.copy2
    copy(file, to)
