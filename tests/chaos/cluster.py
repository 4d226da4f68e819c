"""Everything that runs: broker, ClickHouse, and two of each service."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from signal import SIGTERM, Signals

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.closing import Closing
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from tests.benanza.processes import Installation, ServiceProcess
from tests.chaos.faults import ALL, BROKER, CLICKHOUSE, ENDS, SERVICES, Fault, How, may_end
from tests.chaos.faults import MACHINES as MACHINE_NAMES
from tests.chaos.injector import Ailment, Injector, Struck
from tests.chaos.machine import Clock, Disk
from tests.chaos.supervisor import Ending, Running, Supervisor
from tests.kafka_broker import KafkaBroker

AFTERMATH_S = 30.0
"""So long after the broker or ClickHouse came back, a service may still be waiting for it."""


class Cluster(Closing):
    """All processes, each under a supervisor of its own, with disks of their own where `disks`.

    `happened` is told what befalls them. What they say is kept in the folder `said`.
    """

    def __init__(self, folder: Path, happened: Callable[[str], None], *, disks: bool) -> None:
        self._said = folder / "said"
        self._said.mkdir()
        self._happened = happened
        self._disks = disks
        self._held = ExitStack()
        self._supervisors: dict[str, Supervisor] = {}
        self._ailments: dict[tuple[str, How], Ailment] = {}
        try:
            self._start(folder)
        except BaseException:
            self._held.close()
            raise

    def _start(self, folder: Path) -> None:
        (folder / "kafka").mkdir()
        # Without what the broker says: that is to be seen afterwards.
        self._add_disk(BROKER, folder / "kafka" / "log")
        broker = KafkaBroker(folder / "kafka")
        self.kafka = KafkaConnection(bootstrap=(broker.bootstrap,))
        first = Installation(self.kafka, folder)
        self._add_disk(CLICKHOUSE, folder / "clickhouse")
        with _Broker(broker), first.start_clickhouse():
            create_topics(self.kafka)
            # Who dies while it makes the tables leaves a lock on them behind for minutes.
            Store.open(first.clickhouse).close()
        self.clickhouse = first.clickhouse
        self._add(BROKER, lambda: _Broker(broker))
        self._add(CLICKHOUSE, first.start_clickhouse, ends_with=-SIGTERM)
        for name in MACHINE_NAMES:
            own = folder / name  # Each dedupe keeps its table in a folder of its own.
            own.mkdir()
            self._add_disk(name, own / "data")
            machine = _WithClock(self.kafka, own, self._add_clock(name, own))
            machine.clickhouse_port = first.clickhouse_port
            for service in SERVICES:
                self._add(f"{service}-{name[-1]}", _start_of(machine, service))

    def suffer(self, fault: Fault) -> None:
        """The fault happens to its target."""
        if ailment := self._ailments.get((fault.target, fault.how)):
            ailment.suffer(fault)
            return
        hit = self._supervisors.values()
        for supervisor in hit if fault.target == ALL else [self._supervisors[fault.target]]:
            supervisor.suffer(fault)

    def settled(self) -> bool:
        """Whether all runs, and no fault lasts or is still to come."""
        return all(injector.settled() for injector in self._injectors())

    def struck(self) -> list[tuple[float, Fault]]:
        """The faults in the order in which they happened, each with when it first did."""
        first: dict[Fault, float] = {}
        for began, _, fault in sorted(self._struck()):
            first.setdefault(fault, began)
        return [(when, fault) for fault, when in first.items()]

    def findings(self) -> list[str]:
        """What ended by itself, or would not end in order, although nothing was amiss that may
        make it do so.
        """
        found = [ending for ending in self._own_endings() if not self._why(ending)]
        found += [e for e in self._refusals() if not self._was_disturbed(e)]
        return [f"{ending.name} {ending.what}" for ending in found]

    def own_endings(self) -> Counter[tuple[str, str]]:
        """Under which kind of fault, or after it, which process ended by itself or could not
        start, and how often.
        """
        whys = ((self._why(ending), ending.name) for ending in self._own_endings())
        return Counter((why.kind(), name) for why, name in whys if why)

    def cut_off(self) -> int:
        """How often a service could not end in order, since what it needed was away."""
        return sum(self._was_disturbed(ending) for ending in self._refusals())

    def close(self) -> None:
        self._held.close()

    def _add(self, name: str, start: Callable[[], Running], ends_with: int = 0) -> None:
        supervisor = Supervisor(name, start, self._happened, self._said / name, ends_with=ends_with)
        self._supervisors[name] = self._held.enter_context(supervisor)

    def _add_disk(self, target: str, folder: Path) -> None:
        if not self._disks:
            return
        disk = self._held.enter_context(Disk(folder))
        self._add_ailment(target, How.DISK_FULL, lambda _: disk.fill(), disk.free)

    def _add_clock(self, target: str, folder: Path) -> Clock:
        clock = self._held.enter_context(Clock(folder))
        self._add_ailment(
            target,
            How.CLOCK_JUMPS,
            lambda fault: clock.set_ahead(fault.shift_s),
            lambda: clock.set_ahead(0.0),
        )
        return clock

    def _add_ailment(
        self, target: str, how: How, begin: Callable[[Fault], None], end: Callable[[], None]
    ) -> None:
        ailment = Ailment(target, begin, end, self._happened)
        self._ailments[target, how] = self._held.enter_context(ailment)

    def _injectors(self) -> Iterable[Injector]:
        return (*self._supervisors.values(), *self._ailments.values())

    def _struck(self) -> Iterator[Struck]:
        return (struck for injector in self._injectors() for struck in injector.struck)

    def _own_endings(self) -> list[Ending]:
        return [ending for each in self._supervisors.values() for ending in each.own_endings]

    def _refusals(self) -> list[Ending]:
        return [ending for each in self._supervisors.values() for ending in each.refusals]

    def _why(self, ending: Ending) -> Fault | None:
        """The last fault that may have made it end by itself."""
        whys = [
            struck
            for struck in self._struck()
            if struck.began <= ending.ended <= struck.ended + AFTERMATH_S
            and may_end(struck.fault, ending.name)
        ]
        return max(whys).fault if whys else None

    def _was_disturbed(self, ending: Ending) -> bool:
        """Whether shortly before, or meanwhile, the broker or ClickHouse was away or could not do
        its work, or the process's own disk was full.
        """
        amiss = [away for each in (BROKER, CLICKHOUSE) for away in self._supervisors[each].away]
        amiss += [
            (began, ended)
            for began, ended, fault in self._struck()
            if fault.how not in ENDS
            and (fault.target in (BROKER, CLICKHOUSE) or may_end(fault, ending.name))
        ]
        return any(
            gone <= ending.ended and back + AFTERMATH_S >= ending.began for gone, back in amiss
        )


class _WithClock(Installation):
    """Services with a clock of their own."""

    def __init__(self, kafka: KafkaConnection, folder: Path, clock: Clock) -> None:
        super().__init__(kafka, folder)
        self._clock = clock

    def environment(self) -> dict[str, str]:
        return super().environment() | self._clock.environment


class _Broker(Closing):
    """A run of the broker, from its start to its end."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        try:
            broker.start()
        except BaseException:
            broker.kill()
            raise

    def status(self) -> int | None:
        return self._broker.status()

    def send_signal(self, number: Signals) -> None:
        self._broker.send_signal(number)

    def kill(self) -> None:
        self._broker.kill()

    def stop(self) -> int:
        self._broker.stop()
        return 0

    def errors(self) -> str:
        """Nothing: it has a log of its own, `kafka/broker.log`."""
        return ""

    def close(self) -> None:
        self._broker.stop()


def _start_of(installation: Installation, service: str) -> Callable[[], ServiceProcess]:
    if service == "runner":
        return installation.start_runner
    return lambda: installation.start(service)
