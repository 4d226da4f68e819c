"""Damages that disks, people and backups do to a data folder."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.damage.folders import Folders

LOG = "events.sqlite"
STORE = "clickhouse"


def flip(random: Random, folder: Path, _: Folders) -> str:
    """One to eight bits of a file."""
    path = _file(random, folder, least=1)
    content = bytearray(path.read_bytes())
    for _bit in range(random.choice((1, 1, 8))):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    return str(path.relative_to(folder))


def zero(random: Random, folder: Path, _: Folders) -> str:
    """A block of a file reads as zeros."""
    path = _file(random, folder, least=1)
    content = bytearray(path.read_bytes())
    begin = random.randrange(len(content)) // 512 * 512
    part = content[begin : begin + 512]
    content[begin : begin + 512] = bytes(len(part))
    path.write_bytes(content)
    return str(path.relative_to(folder))


def cut(random: Random, folder: Path, _: Folders) -> str:
    """A file ends early; half of the time where it is empty."""
    path = _file(random, folder, least=1)
    content = path.read_bytes()
    path.write_bytes(content[: random.choice((0, random.randrange(len(content))))])
    return str(path.relative_to(folder))


def remove_file(random: Random, folder: Path, _: Folders) -> str:
    """A file or a link is gone."""
    path = random.choice([path for path in _below(folder) if not _is_folder(path)])
    path.unlink()
    return str(path.relative_to(folder))


def remove_folder(random: Random, folder: Path, _: Folders) -> str:
    """A folder is gone, with all that is in it."""
    path = random.choice([path for path in _below(folder) if _is_folder(path)])
    shutil.rmtree(path)
    return str(path.relative_to(folder))


def older_file(random: Random, folder: Path, folders: Folders) -> str:
    """A file that changed since is as it was in an older copy."""
    names = [path.relative_to(folder) for path in _below(folder)]
    both = [name for name in names if (folders.older / name).is_file()]
    name = random.choice([n for n in both if not _same(folder / n, folders.older / n)])
    shutil.copy2(folders.older / name, folder / name)
    return str(name)


def older_log(_: Random, folder: Path, folders: Folders) -> str:
    """The log was restored from an older backup, the store was not."""
    return _swap(folder, folders.older, f"{LOG}*")


def older_store(_: Random, folder: Path, folders: Folders) -> str:
    """The store was restored from an older backup, the log was not."""
    return _swap(folder, folders.older, STORE)


def other_log(_: Random, folder: Path, folders: Folders) -> str:
    """The log is that of another folder."""
    return _swap(folder, folders.other, f"{LOG}*")


def other_store(_: Random, folder: Path, folders: Folders) -> str:
    """The store is that of another folder."""
    return _swap(folder, folders.other, STORE)


def bare_log(random: Random, folder: Path, folders: Folders) -> str:
    """The log's file alone comes from elsewhere."""
    return _swap(folder, random.choice((folders.older, folders.other)), LOG)


DAMAGES: tuple[Callable[[Random, Path, Folders], str], ...] = (
    *(flip, zero, cut, remove_file, remove_folder, older_file),
    *(older_log, older_store, other_log, other_store, bare_log),
)

WEIGHTS = (6, 3, 4, 4, 4, 3, 1, 1, 1, 1, 1)
"""How often each comes: some can hit any of hundreds of files, others are always the same."""


def _file(random: Random, folder: Path, least: int) -> Path:
    """A file of at least so many bytes; in half of the cases one of the few outside the store."""
    files = [path for path in _below(folder) if path.is_file() and not path.is_symlink()]
    files = [path for path in files if path.stat().st_size >= least]
    few = [path for path in files if path.parent == folder]
    return random.choice(few if few and random.random() < 0.3 else files)


def _below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _same(one: Path, other: Path) -> bool:
    return one.read_bytes() == other.read_bytes()


def _swap(folder: Path, source: Path, pattern: str) -> str:
    for path in folder.glob(pattern):
        if _is_folder(path):
            shutil.rmtree(path)
        else:
            path.unlink()
    for path in source.glob(pattern):
        if _is_folder(path):
            shutil.copytree(path, folder / path.name, symlinks=True)
        else:
            shutil.copy2(path, folder / path.name)
    return f"from {source.name}"
