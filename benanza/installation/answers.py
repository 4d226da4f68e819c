"""What an embedded store has answered since it last changed: to look again needs no engine.

To start the engine and to ask it takes seconds of the processor. All that it can answer follows
from the event log; so an answer holds for as long as the log ends where it ended then. Answers lie
in the store's folder, a file each: they go with the store, and may be deleted at any time.
"""

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import msgspec
from crc32c import crc32c

from benanza_backbone.clickhouse.folder_seal import OWN
from benanza_backbone.clickhouse.migrations import shipped
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.sqlite_seal import marks
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, SINK

Rows = list[dict[str, Any]]

FOLDER = f"{OWN}answers"

MOST_BYTES = 32 << 20
"""A longer answer isn't kept: to read it would take as long as to ask again."""

MOST_KEPT_BYTES = 256 << 20
"""Of all answers together: the oldest make room for a new one."""

_TUPLE = 1
"""The extension of MessagePack for tuples, which it would take for lists."""


class KnownAnswers:
    """The answers of the store in the folder `store`, in the state that `log` brings it into.

    What can't be read is not there. Those of former states are deleted with the first new one.
    `state` changes with what the store holds.
    """

    def __init__(self, store: Path, log: Path) -> None:
        self.state = _state(log)
        self._folder = store / FOLDER / self.state

    def are_there(self) -> bool:
        """Whether there is any."""
        return self._folder.exists()

    def get(self, question: str) -> Rows | None:
        """The answer, if there is one."""
        with suppress(OSError, msgspec.MsgspecError, ValueError):
            checksum, _, content = (self._folder / question).read_bytes().partition(b"\n")
            if checksum == b"%08x" % crc32c(content):
                rows: Rows = _decoded(content)
                return rows
        return None

    def put(self, question: str, rows: Rows) -> None:
        """Keeps an answer, unless it is too long, or the disk refuses."""
        with suppress(OSError, TypeError, OverflowError):
            content = msgspec.msgpack.encode(_sent(rows))
            if len(content) > MOST_BYTES:
                return
            if not self._folder.exists():
                shutil.rmtree(self._folder.parent, ignore_errors=True)
                self._folder.mkdir(mode=0o700, parents=True)
            self._make_room(len(content))
            new = self._folder / f"{question}.new"
            new.write_bytes(b"%08x\n" % crc32c(content) + content)
            new.replace(self._folder / question)

    def _make_room(self, size: int) -> None:
        """Deletes the oldest answers until one of so many bytes fits."""
        kept = sorted(
            ((path, path.stat()) for path in self._folder.iterdir()),
            key=lambda each: each[1].st_mtime_ns,
        )
        excess = sum(status.st_size for _, status in kept) + size - MOST_KEPT_BYTES
        for path, status in kept:
            if excess <= 0:
                break
            path.unlink()
            excess -= status.st_size


def forget_answers(data: Path) -> None:
    """Deletes all that is kept of the store in this folder."""
    shutil.rmtree(data / FOLDER, ignore_errors=True)


class RememberingStore(Store):
    """A store to look at, which is opened for the first question that has no answer yet. What one
    says that may lack something isn't kept, nor anything where `keeps` is false.
    """

    def __init__(
        self, opened: Callable[[], Store], answers: KnownAnswers, *, keeps: bool = True
    ) -> None:
        self._open = opened
        self._answers = answers
        self._keeps = keeps
        self._store: Store | None = None

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> Rows:
        """The rows that a statement returns, as `Store.query` does."""
        question = _digest(msgspec.json.encode([sql, parameters or {}]))
        if (rows := self._answers.get(question)) is None:
            store = self.store()
            rows = store.query(sql, parameters)
            if self._keeps and not (store.seal and store.seal.doubtful):
                self._answers.put(question, rows)
        return rows

    def answer(
        self, sql: str, form: str, most_rows: int | None = None
    ) -> AbstractContextManager[IO[bytes]]:
        """What a statement of a user returns, which isn't kept, as `Store.answer`."""
        return self.store().answer(sql, form, most_rows)

    def store(self) -> Store:
        """The store itself, opened if it wasn't."""
        if self._store is None:
            self._store = self._open()
        return self._store

    def close(self) -> None:
        """Closes the store, if it was opened."""
        if self._store is not None:
            self._store.close()


def _state(log: Path) -> str:
    """Changes with what the store holds, and with its tables and views."""
    ends = marks(log, CONSUMER_GROUPS[SINK].topics)
    made = [migration.checksum() for migration in shipped()]
    return _digest(msgspec.json.encode([ends, made]))


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _sent(value: object) -> object:
    match value:
        case tuple():
            return msgspec.msgpack.Ext(_TUPLE, msgspec.msgpack.encode(list(map(_sent, value))))
        case list():
            return list(map(_sent, value))
        case dict():
            return {key: _sent(each) for key, each in value.items()}
        case _:
            return value


def _extension(code: int, content: memoryview) -> object:
    if code != _TUPLE:
        raise ValueError(f"no extension {code}")
    return tuple(_decoded(content))


_decoded = msgspec.msgpack.Decoder(ext_hook=_extension).decode
