"""The seal of an embedded store: what its files were when it was closed.

The engine goes on without the parts that it can't read, and says nothing; some files it can't
start with at all. But no file changes while the store is closed. So a store whose files aren't as
they were is damaged. It holds nothing but what follows from the event log: it is set aside, and the
new one gets everything from the log.

While a process is at work in the folder its seal says so. If that process dies, the engine has to
say itself whether the tables are whole (`FolderSeal.doubtful`), and the store gets again what came
after the seal.
"""

import logging
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from crc32c import crc32c

from benanza_backbone.checksums import file_crc32c
from benanza_backbone.event_log.sqlite_log import LogMark

log = logging.getLogger(__name__)

SEAL = "benanza.seal"
OWN = "benanza."
"""How names of files begin that aren't the engine's: the seal, and the lock."""


class Seal(msgspec.Struct):
    """What is written. `files` has a digest for each path below the folder, `log` a mark for each
    topic that the store has something of."""

    at_work: bool
    files: dict[str, str]
    log: dict[str, LogMark]


class FolderSeal:
    """The seal of a folder in which this process is at work, from `unseal` to `close`.

    If `doubtful`, what came after `log` may be missing in the store. Whoever puts it there says so
    with `settle`.
    """

    def __init__(self, folder: Path, seal: Seal, digests: dict[str, tuple[str, str]]) -> None:
        self.folder = folder
        self.doubtful = seal.at_work
        self.log = seal.log
        self._files = seal.files
        self._digests = digests

    @classmethod
    def unseal(cls, folder: Path) -> "FolderSeal":
        """Compares the files with the seal, and marks that somebody is at work.

        A damaged store is set aside. Raises `OSError` if the folder can't be written.
        """
        digests = _digests(folder, {})
        seal = read_seal(folder)
        if seal is None and not digests:
            seal = Seal(at_work=False, files={}, log={})
        elif seal is None and not (folder / SEAL).exists():
            # An older version left it.
            seal = Seal(at_work=True, files={}, log={})
        elif seal is None:
            set_aside(folder, SEAL)
            return cls.unseal(folder)
        elif changed := _changed(seal, digests):
            set_aside(folder, changed)
            return cls.unseal(folder)
        if seal.at_work and not digests.keys() >= seal.files.keys():
            seal.log = {}  # Merged, or lost with the process: all is read again.
        own = cls(folder, seal, digests)
        own._write(at_work=True)
        return own

    def settle(self, marks: dict[str, LogMark]) -> None:
        """Says that the store has all up to these records."""
        self.log = marks
        self.doubtful = False

    def renew(self, damage: str) -> None:
        """Sets the store aside, before anything but the engine has used it."""
        set_aside(self.folder, damage)
        self.doubtful, self.log, self._files, self._digests = False, {}, {}, {}
        self._write(at_work=True)

    def close(self) -> None:
        """Seals the folder. If the disk refuses that, the next process takes it for unfinished."""
        try:
            if not self.doubtful:
                self._digests = _digests(self.folder, self._digests)
                self._files = {path: digest for path, (_, digest) in self._digests.items()}
            self._write(at_work=self.doubtful)
        except OSError as error:
            log.debug("can't seal %s: %s", self.folder, error)

    def _write(self, at_work: bool) -> None:
        content = msgspec.json.encode(Seal(at_work=at_work, files=self._files, log=self.log))
        new = self.folder / f"{SEAL}.new"
        new.write_bytes(b"%08x\n" % crc32c(content) + content)
        new.replace(self.folder / SEAL)


def read_seal(folder: Path) -> Seal | None:
    """The seal of a folder; None if there is none, or none that can be read."""
    try:
        checksum, _, content = (folder / SEAL).read_bytes().partition(b"\n")
        if checksum != b"%08x" % crc32c(content):
            return None
        return msgspec.json.decode(content, type=Seal)
    except (OSError, msgspec.MsgspecError):
        return None


def set_aside(folder: Path, damage: str) -> None:
    """Moves all that is in the folder, but the lock, to a new folder beside it, and says so."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    target = folder.with_name(f"{folder.name}.damaged-{now}")
    target.mkdir(mode=0o700)
    for path in folder.iterdir():
        if not path.name.endswith(".lock"):
            path.rename(target / path.name)
    log.error(
        "the store in %s was damaged (%s): it is made anew from the event log; what was there is "
        "in %s, which you may delete",
        *(folder, damage, target),
    )


def _digests(folder: Path, known: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """For each path below the folder, when it was changed and a digest of what it is.

    A file that has the time and size that are `known` isn't read again.
    """
    digests = {}
    for name, entry in _below(folder):
        status = entry.stat(follow_symlinks=False)
        times = f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"
        if name in known and known[name][0] == times:
            digests[name] = known[name]
        else:
            digests[name] = (times, _digest(entry, status.st_size))
    return digests


def _digest(entry: os.DirEntry[str], size: int) -> str:
    if entry.is_symlink():
        return f"link to {Path(entry.path).readlink()}"
    if entry.is_dir():
        return "folder"
    try:
        return f"{size} {file_crc32c(Path(entry.path)):08x}"
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _below(folder: str | Path, name: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All entries but the folder's own. `Path.rglob` would take longer than to read the files."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not name and entry.name.startswith(OWN):
                continue
            yield f"{name}{entry.name}", entry
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry.path, f"{name}{entry.name}/")


def _changed(seal: Seal, digests: dict[str, tuple[str, str]]) -> str:
    """A path that isn't what it was; empty if there is none.

    Where a process died at work, parts may be new, or gone after a merge. Those that are still
    there don't change.
    """
    for path in sorted({*seal.files, *digests}):
        before, now = seal.files.get(path), digests.get(path, ("", None))[1]
        is_part = path.startswith("store/") and path.count("/") > 3
        if before != now and not (seal.at_work and (None in (before, now) or not is_part)):
            return path
    return ""
