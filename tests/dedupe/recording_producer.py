"""A producer that keeps what it is given, for tests of the agent without a broker."""

from asyncio import Future

from faust.types.tuples import TP, RecordMetadata

from benanza_backbone.event_log.event_log import Message


class RecordingProducer:
    """Stands where a Faust app has its producer. Writes are durable at once, unless `held`."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.held = False
        self.open: list[Future[RecordMetadata]] = []

    async def maybe_start(self) -> bool:
        """Called by Faust before each record."""
        return False

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes,
        partition: int | None,
        timestamp: float | None,
        headers: object,
    ) -> Future[RecordMetadata]:
        """As Faust's own: the future is done when the record is durable."""
        self.sent.append(Message(topic, key, value))
        self.open.append(Future())
        if not self.held:
            self.release()
        return self.open[-1] if self.held else _durable(topic)

    def release(self) -> None:
        """All that was sent is durable now."""
        self.held = False
        for write in self.open:
            write.set_result(_metadata("any"))
        self.open = []

    def fail(self, error: Exception) -> None:
        """What was sent can't be written."""
        for write in self.open:
            write.set_exception(error)
        self.open = []


def _durable(topic: str) -> Future[RecordMetadata]:
    write: Future[RecordMetadata] = Future()
    write.set_result(_metadata(topic))
    return write


def _metadata(topic: str) -> RecordMetadata:
    return RecordMetadata(topic, 0, TP(topic, 0), 0)
