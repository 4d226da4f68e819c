"""How far the services are, and how long each has stood still."""

from collections.abc import Callable, Iterator, Mapping
from threading import Event, Thread
from typing import NamedTuple

from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.group import GroupProgress
from benanza_schemas.consumer_groups import AGENT, CONSUMER_GROUPS, RUNNER, runner_group
from benanza_schemas.topics import PARTITIONS
from tests.benanza.hashed_runtime import HashedRuntime

EVERY_S = 1.0
QUIET_LOOKS = 5
"""So often in a row nothing may wait or move before all counts as quiet."""


class Gap(NamedTuple):
    """A service had work and committed none for this long; seconds after the beginning."""

    began_s: float
    ended_s: float

    def length_s(self) -> float:
        return self.ended_s - self.began_s


class Look(NamedTuple):
    """What each service has committed in all, and how many records wait for it."""

    done: Mapping[str, int]
    waiting: Mapping[str, int]


class Progress(Closing):
    """Looks at every group once a second, in a thread of its own.

    `longest` has the longest gap of each service so far. A look that the broker doesn't answer
    ends no gap.
    """

    def __init__(self, kafka: KafkaConnection, now_s: Callable[[], float]) -> None:
        self.longest: dict[str, Gap] = {}
        self._now_s = now_s
        self._groups = dict(_groups(kafka))
        self._since: dict[str, float] = {}
        self._last: Look | None = None
        self._quiet_looks = 0
        self._closing = Event()
        self._thread = Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def quiet(self) -> bool:
        """Whether nothing waits, and nothing has moved for some looks."""
        return self._quiet_looks >= QUIET_LOOKS

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        for group, _ in self._groups.values():
            group.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._take(self._look())
            except BenanzaError:
                self._quiet_looks = 0
            self._closing.wait(EVERY_S)

    def _look(self) -> Look:
        done, waiting = {}, {}
        for service, (group, partitions) in self._groups.items():
            progress = group.of(partitions).values()
            done[service] = sum(each.following for each in progress)
            waiting[service] = sum(each.waiting() for each in progress)
        return Look(done, waiting)

    def _take(self, look: Look) -> None:
        now_s = self._now_s()
        for service, done in look.done.items():
            gap = Gap(self._since.setdefault(service, now_s), now_s)
            had_work = self._last is not None and self._last.waiting[service] > 0
            longest = self.longest.setdefault(service, Gap(0.0, 0.0))
            if had_work and gap.length_s() > longest.length_s():
                self.longest[service] = gap
            moved = self._last is None or done != self._last.done[service]
            if moved or not look.waiting[service]:
                self._since[service] = now_s
        still = look == self._last and not any(look.waiting.values())
        self._quiet_looks = self._quiet_looks + 1 if still else 0
        self._last = look


def _groups(kafka: KafkaConnection) -> Iterator[tuple[str, tuple[GroupProgress, list[Partition]]]]:
    """For each service its group on the cluster, and the partitions that this reads."""
    for service, (group, topics, whole) in CONSUMER_GROUPS.items():
        if service == AGENT:
            continue  # None is at work.
        if service == RUNNER:
            group = runner_group(HashedRuntime().system().system_id, "fp32").name
        partitions = [
            Partition(topic, number)
            for topic in (*topics, *whole)
            for number in range(PARTITIONS[topic])
        ]
        yield service, (GroupProgress(kafka, group), partitions)
