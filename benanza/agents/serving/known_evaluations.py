"""Which evaluations a system has done, and which agents have begun with the others."""

from collections import defaultdict

from benanza_backbone.event_log.event_log import READ_AT_ONCE, EventLog, Partition
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.events import EvaluationTaken, ModelEvaluated
from benanza_schemas.topics import EVALUATED


class KnownEvaluations:
    """What the topic `evaluated` has of one system. Raises `BenanzaError` as the log does."""

    def __init__(self, log: EventLog, system_id: str) -> None:
        self._log = log
        self._system_id = system_id
        self._offsets: dict[Partition, int] = defaultdict(int)  # a topic may get more partitions
        self._done: set[str] = set()
        self._takers: dict[str, dict[str, str]] = {}

    def catch_up(self) -> None:
        """Reads what came since the last call, from any agent of the system."""
        for partition, end in self._log.end_offsets(EVALUATED).items():
            while (offset := self._offsets[partition]) < end:
                records = self._log.read(partition, offset, READ_AT_ONCE)
                for record in records:
                    self._take(record.value)
                self._offsets[partition] = records[-1].offset + 1 if records else end

    def has_done(self, evaluation_id: str) -> bool:
        """Whether there is a result."""
        return evaluation_id in self._done

    def takers(self, evaluation_id: str) -> dict[str, str]:
        """The names of the agents that have begun with it and have no result, by their ids."""
        return self._takers.get(evaluation_id, {})

    def _take(self, value: bytes) -> None:
        if self._system_id.encode() not in value:
            return
        try:
            event = decode(value)
        except DecodeError:
            return  # The sink sends it to the dead letters.
        if isinstance(event, EvaluationTaken) and event.system_id == self._system_id:
            if event.evaluation_id not in self._done:
                self._takers.setdefault(event.evaluation_id, {})[event.agent_id] = event.agent
        elif isinstance(event, ModelEvaluated) and event.system.system_id == self._system_id:
            self._done.add(event.evaluation_id)
            self._takers.pop(event.evaluation_id, None)
