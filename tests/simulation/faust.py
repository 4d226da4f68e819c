"""Dedupe as a process of the simulation: its own agent, in a Faust that the simulation plays.

What Faust does, and how it fails, is as `benanza_dedupe` describes it: records are fetched, taken,
written in the background, acknowledged and committed at some later time; what was fetched is
dropped as partitions change hands. The table is on the disk of the process, and in the changelog.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

from faust.types import TP, ConsumerMessage

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message, Partition, Record
from benanza_dedupe.agent import GROUP, DedupeAgent
from benanza_schemas.topics import DEDUPE_OWNERS, LAYERS
from tests.simulation.log import SimulatedConsumer, SimulatedLog
from tests.simulation.world import Process, World

MOST_FETCHED = 6


class Write:
    """A record on its way to the brokers: what of a `Future` the agent uses."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self._then: list[Callable[[Any], object]] = []

    def arrived(self) -> None:
        """It is durable."""
        for each in self._then:
            each(self)

    def add_done_callback(self, then: Callable[[Any], object]) -> None:
        self._then.append(then)


class Table:
    """The owners: `data` is on the disk of the process; changes go to the changelog."""

    def __init__(self, data: dict[bytes, bytes], send: Callable[[Message], Write]) -> None:
        self.data = data
        self._send = send
        self._changes: list[Message] = []

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.data[key] = value
        self._changes.append(Message(DEDUPE_OWNERS, key, value))

    async def publish(self) -> None:
        """See `OwnersTable`."""
        changes, self._changes = self._changes, []
        for change in changes:
            self._send(change)


class Dedupe(Process):
    """One process of dedupe."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self._disk: dict[bytes, bytes] = {}

    def start(self, log: SimulatedLog) -> None:
        self._consumer: SimulatedConsumer = log.consumer(GROUP, [LAYERS])
        self._rebalances = 0
        self._lost = self.world.losses
        self._events: deque[ConsumerMessage] = deque()
        self._writes: list[Write] = []
        self._acked: dict[Partition, int] = {}
        self._failure: BaseException | None = None
        self._on_assigned: list[Callable[..., Coroutine[Any, Any, None]]] = []
        self._held: set[TP] = set()
        connection: Any = SimpleNamespace(topic=lambda name: name)
        self._agent = DedupeAgent(self._app(), connection, self.clock, self.failed)

    def work(self) -> None:
        fetched = self._consumer.poll(MOST_FETCHED, 0.0)
        if self._consumer.rebalances() != self._rebalances:
            self._assigned()
        if self._lost != self.world.losses:
            self._lost = self.world.losses
            self._drop()
        else:
            self._events += map(_message, fetched)
        for _ in range(self.world.rng.randint(0, len(self._events))):
            _finish(self._take(self._events.popleft()))
        if self._failure:
            raise BenanzaError(str(self._failure)) from self._failure
        self._write(self.world.rng.randint(0, len(self._writes)))
        if self._acked and self.world.rng.random() < 0.5:
            self._commit()

    def waits(self) -> bool:
        return super().waits() or bool(self._events or self._writes or self._acked)

    def drain(self) -> None:
        self._write(len(self._writes))
        self._commit()

    def failed(self, error: BaseException) -> None:
        """The agent has to stop."""
        self._failure = error

    def _assigned(self) -> None:
        """Partitions have changed hands: what was fetched goes, and the table is completed."""
        self._rebalances = self._consumer.rebalances()
        self._events.clear()
        held = self._consumer.position()
        self._held = {TP(LAYERS, at.number) for at in held}
        self._acked = {}
        for record in self.world.cluster.records(DEDUPE_OWNERS):
            if TP(LAYERS, record.partition.number) in self._held:
                self._disk[record.key] = record.value
        for each in self._on_assigned:
            _finish(each())

    def _drop(self) -> None:
        """What was taken is finished; what was fetched goes, and comes again."""
        self.drain()
        self._events.clear()
        for at in self._consumer.position():
            self._consumer.seek(at, self.world.cluster.committed(GROUP, at))

    async def _take(self, message: ConsumerMessage) -> None:
        """As the loop of the agent does it, which ends the service at an error."""
        event: Any = SimpleNamespace(message=message, ack=lambda: self._acknowledge(message))
        try:
            if not self._agent._failed:
                await self._agent._take(event)
        except Exception as error:  # noqa: BLE001  # as in the agent
            self._agent._fail(error)

    def _acknowledge(self, message: ConsumerMessage) -> None:
        at = Partition(LAYERS, message.partition)
        if message.tp in self._held:
            self._acked[at] = max(self._acked.get(at, 0), message.offset + 1)

    def _send(self, message: Message) -> Write:
        self._writes.append(Write(message))
        return self._writes[-1]

    def _write(self, count: int) -> None:
        """Some of the records on their way arrive."""
        if not count:
            return
        arriving = self._writes[:count]
        assert self.log is not None, "it was started"
        self.log.append([each.message for each in arriving])
        del self._writes[:count]
        for each in arriving:
            each.arrived()

    def _commit(self) -> None:
        self._write(len(self._writes))  # as Faust does, which waits for all that was sent
        acked, self._acked = self._acked, {}
        # `Consumer._should_commit` of Faust: what comes again doesn't set the group back.
        committed = self.world.cluster.committed
        ahead = {at: offset for at, offset in acked.items() if offset > committed(GROUP, at)}
        if ahead:
            self._consumer.commit_at(ahead)

    def _app(self) -> Any:
        async def send(topic: str, key: bytes, value: bytes, *_: object) -> Write:
            return self._send(Message(topic, key, value))

        def connect(then: Callable[..., Coroutine[Any, Any, None]], weak: bool) -> None:
            self._on_assigned.append(then)

        return SimpleNamespace(
            topic=lambda name, **_: name,
            Table=lambda *_, **__: Table(self._disk, self._send),
            on_partitions_assigned=SimpleNamespace(connect=connect),
            agent=lambda *_, **__: lambda function: function,
            producer=SimpleNamespace(send=send),
        )


def _message(record: Record) -> ConsumerMessage:
    """A record as Faust fetches it."""
    at = TP(record.partition.topic, record.partition.number)
    return ConsumerMessage(
        topic=at.topic,
        partition=at.partition,
        offset=record.offset,
        timestamp=record.timestamp.timestamp(),
        timestamp_type=0,
        headers=None,
        key=record.key,
        value=record.value,
        checksum=None,
        tp=at,
    )


def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Runs what waits for nothing."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("nothing is to be waited for here")
