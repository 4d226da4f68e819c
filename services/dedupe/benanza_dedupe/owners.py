"""Who owns which layer, in a Faust table: on this machine's disk, and in a changelog topic."""

import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import faust
from faust.types import TP, EventT
from faust.types.tuples import FutureMessage

from benanza_backbone.errors import BenanzaError

_HASH = re.compile(b"[0-9a-f]{32}")


class OwnersTableError(BenanzaError):
    """The table can't be read or written: this machine's fault, not that of the event in work."""


class OwnersTable(faust.Table[bytes, bytes]):
    """A Faust table whose changelog is published by its user.

    Faust itself publishes it in the background, one record after another, and a commit waits
    until none is left to publish: under load that takes seconds.

    `on_failure` is called where Faust would drop the error: what others have written to the
    changelog can't be stored, or not how far it is. From then on none of it is stored, since a
    later record on disk would say that those before it are there too: RocksDB takes writes again
    some seconds after the disk has space.
    """

    on_failure: Callable[[OwnersTableError], None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unpublished: list[FutureMessage] = []
        self._failed = False

    def send_changelog(
        self, partition: int | None, key: Any, value: Any, *_: Any, **__: Any
    ) -> FutureMessage:
        """Called by Faust for each change."""
        change: FutureMessage = self.changelog_topic.as_future_message(
            key=key, value=value, partition=partition, callback=self._on_changelog_sent
        )
        self._unpublished.append(change)
        return change

    async def publish(self) -> None:
        """Sends the changes since the last call."""
        changes, self._unpublished = self._unpublished, []
        for change in changes:
            await self.changelog_topic.publish_message(change)

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]]) -> None:
        """Called by Faust, with what others have written. What no dedupe writes is passed over."""
        self._attempt(partial(super().apply_changelog_batch, filter(_is_of_owners, batch)))

    def _on_changelog_sent(self, change: FutureMessage) -> None:
        self._attempt(partial(super()._on_changelog_sent, change))

    def _verify_source_topic_partitions(self, source_topic: str) -> None:
        """Called by Faust with each change. Raises `PartitionsMismatch` where the topic has another
        number of partitions than the changelog.

        Of a topic that was made a moment ago the client knows none yet, and that is no other number
        (aiokafka 0.14.0 counts them as 0): the next change looks again.
        """
        count = self.app.consumer.topic_partitions
        if all(count(name) != 0 for name in (source_topic, self.changelog_topic_name)):
            super()._verify_source_topic_partitions(source_topic)

    def persisted_offset(self, tp: TP) -> int | None:
        """Called by Faust as it gets a partition. Raises `OwnersTableError`."""
        with _typed():
            return super().persisted_offset(tp)

    async def on_rebalance(self, *args: Any, **kwargs: Any) -> None:
        """Called by Faust as partitions change hands. Raises `OwnersTableError`."""
        with _typed():
            await super().on_rebalance(*args, **kwargs)

    def _attempt(self, store: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            with _typed():
                store()
        except OwnersTableError as error:
            self._failed = True
            self.on_failure(error)


class Owners(MutableMapping[str, str]):
    """The table as the mapping that `core.Dedupe` works on: fingerprint to event id.

    To be used in an agent only: Faust takes the partition from the event in work. Raises
    `OwnersTableError` where the disk fails, is full for instance.
    """

    def __init__(self, table: OwnersTable) -> None:
        self._table = table

    def __getitem__(self, fingerprint: str) -> str:
        with _typed():
            # Past the table, which would look twice.
            owner: bytes = self._table.data[fingerprint.encode()]
        return owner.decode()

    def __setitem__(self, fingerprint: str, owner: str) -> None:
        with _typed():
            self._table[fingerprint.encode()] = owner.encode()

    def __delitem__(self, fingerprint: str) -> None:
        del self._table[fingerprint.encode()]

    def __iter__(self) -> Iterator[str]:
        return (key.decode() for key in self._table)

    def __len__(self) -> int:
        return len(self._table)


def _is_of_owners(event: EventT[Any]) -> bool:
    """Whether it is a fingerprint with its owner, or with none any more."""
    key, owner = event.message.key, event.message.value
    return bool(_HASH.fullmatch(key or b"") and (owner is None or _HASH.fullmatch(owner)))


@contextmanager
def _typed() -> Iterator[None]:
    """Raises all errors of the table but a lacking key as `OwnersTableError`.

    RocksDB's have no type of their own, and none is the fault of the event in work.
    """
    try:
        yield
    except KeyError:
        raise
    except Exception as error:
        raise OwnersTableError(
            f"dedupe's table can't be used ({error}); see whether the disk with the data folder "
            "has space, then start dedupe again: it goes on with the same event"
        ) from error
