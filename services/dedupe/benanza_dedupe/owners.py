"""Who owns which layer, in a Faust table: on this machine's disk, and in a changelog topic."""

from asyncio import Future
from collections.abc import Iterator, MutableMapping
from typing import Any

import faust
from faust.types.tuples import FutureMessage

from benanza_backbone.errors import BenanzaError


class OwnersTableError(BenanzaError):
    """The table can't be read or written: this machine's fault, not that of the event in work."""


class OwnersTable(faust.Table[bytes, bytes]):
    """A Faust table whose changelog is published by its user, who then knows what is durable.

    Faust itself publishes it in the background, one record after another, and a commit waits
    until none is left to publish: under load that takes seconds.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unpublished: list[FutureMessage] = []

    def send_changelog(
        self, partition: int | None, key: Any, value: Any, *_: Any, **__: Any
    ) -> FutureMessage:
        """Called by Faust for each change."""
        change: FutureMessage = self.changelog_topic.as_future_message(
            key=key, value=value, partition=partition, callback=self._on_changelog_sent
        )
        self._unpublished.append(change)
        return change

    async def publish(self) -> list[Future[Any]]:
        """Publishes the changes since the last call; each is done once it is durable."""
        changes, self._unpublished = self._unpublished, []
        for change in changes:
            await self.changelog_topic.publish_message(change)
        return list(changes)


class Owners(MutableMapping[str, str]):
    """The table as the mapping that `core.Dedupe` works on: fingerprint to event id.

    To be used in an agent only: Faust takes the partition from the event in work. Raises
    `OwnersTableError` where the disk fails, is full for instance.
    """

    def __init__(self, table: OwnersTable) -> None:
        self._table = table

    def __getitem__(self, fingerprint: str) -> str:
        try:
            # Past the table, which would look twice.
            owner: bytes = self._table.data[fingerprint.encode()]
        except KeyError:
            raise
        except Exception as error:
            raise _unusable(error) from error
        return owner.decode()

    def __setitem__(self, fingerprint: str, owner: str) -> None:
        try:
            self._table[fingerprint.encode()] = owner.encode()
        except Exception as error:
            raise _unusable(error) from error

    def __delitem__(self, fingerprint: str) -> None:
        del self._table[fingerprint.encode()]

    def __iter__(self) -> Iterator[str]:
        return (key.decode() for key in self._table)

    def __len__(self) -> int:
        return len(self._table)


def _unusable(error: Exception) -> OwnersTableError:
    # RocksDB's errors have no type of their own.
    return OwnersTableError(
        f"dedupe's table can't be used ({error}); see whether the disk with the data folder has "
        "space, then start dedupe again: it goes on with the same event"
    )
