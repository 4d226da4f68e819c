"""What is damage to a closed store, and what isn't."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from benanza_backbone.clickhouse.folder_seal import SEAL, FolderSeal, read_seal
from benanza_backbone.event_log.sqlite_log import LogMark

PART = "store/422/4225/all_1_1_0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as the engine has it, sealed."""
    folder = tmp_path / "clickhouse"
    folder.mkdir()
    seal = FolderSeal.unseal(folder)
    (folder / PART).mkdir(parents=True)
    (folder / PART / "data.bin").write_bytes(b"rows")
    (folder / PART / "count.txt").write_bytes(b"4")
    (folder / "metadata").mkdir()
    (folder / "metadata" / "benanza").symlink_to("../store/422/4225")
    (folder / "metadata" / "benanza.sql").write_bytes(b"ATTACH")
    (folder / "benanza.lock").write_text("1")
    seal.settle({"results": LogMark(7, 1234)})
    seal.close()
    return folder


def aside(folder: Path) -> list[Path]:
    return list(folder.parent.glob("clickhouse.damaged-*"))


def test_what_was_closed_is_opened_again(folder: Path) -> None:
    (folder / "benanza.lock").write_text("2")
    for _ in range(2):
        seal = FolderSeal.unseal(folder)
        assert not seal.doubtful
        assert seal.log == {"results": LogMark(7, 1234)}
        seal.close()
    assert not aside(folder)


def changed_link(folder: Path) -> None:
    (folder / "metadata" / "benanza").unlink()
    (folder / "metadata" / "benanza").symlink_to("../store/422/4226")


def changed_seal(folder: Path) -> None:
    content = bytearray((folder / SEAL).read_bytes())
    content[20] ^= 1
    (folder / SEAL).write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "changed": lambda folder: (folder / PART / "data.bin").write_bytes(b"rowS"),
    "cut": lambda folder: (folder / PART / "data.bin").write_bytes(b"row"),
    "empty": lambda folder: (folder / PART / "data.bin").write_bytes(b""),
    "gone": lambda folder: (folder / PART / "count.txt").unlink(),
    "more": lambda folder: (folder / PART / "more.bin").touch(),
    "another link": changed_link,
    "changed table": lambda folder: (folder / "metadata" / "benanza.sql").write_bytes(b"DETACH"),
    "empty seal": lambda folder: (folder / SEAL).write_bytes(b""),
    "changed seal": changed_seal,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_changed_is_set_aside(
    damage: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    DAMAGES[damage](folder)
    seal = FolderSeal.unseal(folder)
    assert (seal.log, seal.doubtful) == ({}, False)
    assert sorted(path.name for path in folder.iterdir()) == ["benanza.lock", SEAL]
    (other,) = aside(folder)
    assert (other / PART).is_dir()
    (said,) = caplog.records
    assert said.levelno == logging.ERROR
    assert said.getMessage().startswith(f"the store in {folder} was damaged (")
    assert "\n" not in said.getMessage()


def test_a_process_that_died_leaves_doubts_but_no_damage(folder: Path) -> None:
    FolderSeal.unseal(folder)
    (folder / "store/422/4225/all_2_2_0").mkdir()
    (folder / "metadata" / "benanza.sql").write_bytes(b"ATTACH more")
    for _ in range(2):
        seal = FolderSeal.unseal(folder)
        assert seal.doubtful
        assert seal.log == {"results": LogMark(7, 1234)}
        seal.close()  # Nobody has settled the doubts.
    seal = FolderSeal.unseal(folder)
    seal.settle({})
    seal.close()
    assert not FolderSeal.unseal(folder).doubtful
    assert not aside(folder)


def test_after_a_merge_all_is_read_again(folder: Path) -> None:
    FolderSeal.unseal(folder)
    (folder / PART / "count.txt").unlink()
    seal = FolderSeal.unseal(folder)
    assert (seal.doubtful, seal.log) == (True, {})


def test_parts_do_not_change_even_if_the_process_died(folder: Path) -> None:
    FolderSeal.unseal(folder)
    (folder / PART / "data.bin").write_bytes(b"rowS")
    assert not FolderSeal.unseal(folder).doubtful
    assert aside(folder)


def test_an_older_version_leaves_no_seal(folder: Path) -> None:
    (folder / SEAL).unlink()
    seal = FolderSeal.unseal(folder)
    assert (seal.doubtful, seal.log) == (True, {})
    assert not aside(folder)


def test_a_full_disk_leaves_it_unfinished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = FolderSeal.unseal(folder)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        seal.close()
    found = read_seal(folder)
    assert found is not None
    assert found.at_work
