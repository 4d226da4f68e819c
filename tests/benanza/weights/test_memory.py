"""Shared memory that nobody can change."""

import hashlib
import mmap
import os
from pathlib import Path

import pytest

from benanza.weights.memory import SealedMemory


def test_nobody_can_change_it() -> None:
    with SealedMemory.filled(lambda write: write(b"weights")) as memory:
        assert memory.sha256 == hashlib.sha256(b"weights").hexdigest()
        own = os.open(f"/proc/self/fd/{memory._file}", os.O_RDWR)  # what root could do
        for file in (memory._file, own):
            for change in (
                lambda file=file: os.pwrite(file, b"other", 0),
                lambda file=file: os.ftruncate(file, 1),
                lambda file=file: os.ftruncate(file, 100_000),
                lambda file=file: mmap.mmap(file, 7, mmap.MAP_SHARED, mmap.PROT_WRITE),
            ):
                with pytest.raises(PermissionError):
                    change()
        os.close(own)
        with memory.mapped() as mapped:
            assert mapped[:] == b"weights"


def test_a_reader_has_a_place_of_its_own() -> None:
    with SealedMemory.filled(lambda write: write(b"weights")) as memory:
        one, other = memory.opened(), memory.opened()
        os.lseek(one, 5, os.SEEK_SET)
        assert os.read(other, 7) == b"weights"
        for file in (one, other):
            os.close(file)


def test_a_copy_is_a_new_file(tmp_path: Path) -> None:
    """One that others have opened, or a link to one, would show them what is written."""
    (tmp_path / "theirs").touch()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    with SealedMemory.filled(lambda write: write(b"weights")) as memory:
        memory.copy_to(tmp_path / "copy")
        for name in ("theirs", "link"):
            with pytest.raises(FileExistsError):
                memory.copy_to(tmp_path / name)
    assert (tmp_path / "copy").read_bytes() == b"weights"
    assert (tmp_path / "theirs").read_bytes() == b""


def test_what_fails_to_fill_it_leaves_nothing() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))

    def fill(write: object) -> None:
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        SealedMemory.filled(fill)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_it_goes_with_the_last_who_has_it() -> None:
    memory = SealedMemory.filled(lambda write: write(bytes(1 << 24)))
    mapped = memory.mapped()
    memory.close()
    memory.close()
    assert mapped[0] == 0
    assert "benanza-weights" in Path("/proc/self/maps").read_text("utf-8")
    mapped.close()
    assert "benanza-weights" not in Path("/proc/self/maps").read_text("utf-8")
