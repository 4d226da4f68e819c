"""Copies on disk: within the limit, checked, and nothing left of a store that was killed."""

import os
import stat
from pathlib import Path

import pytest

from benanza.weights.disk import DiskTier
from benanza.weights.memory import SealedMemory
from benanza_backbone.errors import BenanzaError


def memory(content: bytes) -> SealedMemory:
    return SealedMemory.filled(lambda write: write(content))


def test_what_is_saved_is_there_for_the_next_store(tmp_path: Path) -> None:
    with DiskTier(tmp_path, 100) as disk, memory(b"weights") as saved:
        disk.save("key", saved, 1.0)
        sha256 = saved.sha256
    with DiskTier(tmp_path, 100) as disk:
        parts: list[bytes] = []
        assert disk.load("key", lambda part: parts.append(bytes(part))) == sha256
        assert b"".join(parts) == b"weights"
        assert disk.used_bytes == 7
        disk.drop("key")
        assert disk.load("key", print) is None
        assert disk.used_bytes == 0


def test_the_cheapest_to_bring_back_goes_when_room_lacks(tmp_path: Path) -> None:
    with DiskTier(tmp_path, 25) as disk, memory(bytes(10)) as one, memory(b"1" * 10) as other:
        disk.save("dear", one, 5.0)
        disk.save("cheap", other, 1.0)
        with memory(b"2" * 10) as third, memory(bytes(26)) as too_large:
            disk.save("third", third, 1.0)
            disk.save("too-large", too_large, 9.0)
        assert disk.load("cheap", print) is None
        assert disk.used_bytes == 20
    assert sorted(path.name.split("-")[0] for path in tmp_path.glob("*.weights")) == [
        "dear",
        "third",
    ]


def test_what_a_killed_store_was_writing_goes(tmp_path: Path) -> None:
    (tmp_path / "key-0.part").write_bytes(b"half")
    with DiskTier(tmp_path, 100):
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_folder_belongs_to_one_store(tmp_path: Path) -> None:
    with DiskTier(tmp_path, 100), pytest.raises(BenanzaError, match="another store uses"):
        DiskTier(tmp_path, 100)
    with pytest.raises(BenanzaError, match="can't be used"):
        DiskTier(tmp_path / "lock" / "folder", 100)


def test_only_its_user_can_read_what_it_keeps(tmp_path: Path) -> None:
    """A tenant's private file was copied for all users."""
    before = os.umask(0)
    try:
        with DiskTier(tmp_path / "disk", 100) as disk, memory(b"weights") as saved:
            disk.save("key", saved, 1.0)
    finally:
        os.umask(before)
    (copy,) = (tmp_path / "disk").glob("*.weights")
    assert mode(copy.parent) == 0o700
    assert mode(copy) == 0o600
    copy.chmod(0o644)  # as earlier versions have it
    with DiskTier(tmp_path / "disk", 100):
        assert mode(copy) == 0o600


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_smaller_limit_holds_from_the_start(tmp_path: Path) -> None:
    sizes = {"first": 30, "second": 7, "third": 13}
    with DiskTier(tmp_path, 100) as disk:
        for age, (key, size) in enumerate(sizes.items()):
            with memory(key[:1].encode() * size) as saved:
                disk.save(key, saved, 1.0)
                path = tmp_path / f"{key}-{saved.sha256}.weights"
            os.utime(path, (age, age))
    with DiskTier(tmp_path, 20) as disk:
        assert disk.used_bytes == 20
        assert disk.load("first", print) is None
    with DiskTier(tmp_path, 5):
        assert not list(tmp_path.glob("*.weights"))
