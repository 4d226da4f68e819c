"""Everything that runs: broker, ClickHouse, and two of each service."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from signal import SIGTERM

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.closing import Closing
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from tests.benanza.processes import Installation, ServiceProcess
from tests.chaos.faults import ALL, BROKER, CLICKHOUSE, COPIES, SERVICES, Fault
from tests.chaos.supervisor import Ending, Running, Supervisor
from tests.kafka_broker import KafkaBroker

AFTERMATH_S = 30.0
"""So long after the broker or ClickHouse came back, a service may still be waiting for it."""


class Cluster(Closing):
    """All processes, each under a supervisor of its own.

    `happened` is told what befalls them. What they say is kept in the folder `said`.
    """

    def __init__(self, folder: Path, happened: Callable[[str], None]) -> None:
        said = folder / "said"
        said.mkdir()
        self._held = ExitStack()
        self._supervisors: dict[str, Supervisor] = {}

        def add(name: str, start: Callable[[], Running], ends_with: int = 0) -> None:
            supervisor = Supervisor(name, start, happened, said / name, ends_with=ends_with)
            self._supervisors[name] = self._held.enter_context(supervisor)

        (folder / "kafka").mkdir()
        broker = KafkaBroker(folder / "kafka")
        self.kafka = KafkaConnection(bootstrap=(broker.bootstrap,))
        first = Installation(self.kafka, folder)
        with _Broker(broker), first.start_clickhouse():
            create_topics(self.kafka)
            # Who dies while it makes the tables leaves a lock on them behind for minutes.
            Store.open(first.clickhouse).close()
        self.clickhouse = first.clickhouse
        add(BROKER, lambda: _Broker(broker))
        add(CLICKHOUSE, first.start_clickhouse, ends_with=-SIGTERM)
        for copy in range(1, COPIES + 1):
            own = folder / f"copy-{copy}"  # Each dedupe keeps its table in a folder of its own.
            own.mkdir()
            installation = Installation(self.kafka, own)
            installation.clickhouse_port = first.clickhouse_port
            for service in SERVICES:
                add(f"{service}-{copy}", _start_of(installation, service))

    def suffer(self, fault: Fault) -> None:
        """The fault happens to its target."""
        hit = self._supervisors.values()
        for supervisor in hit if fault.target == ALL else [self._supervisors[fault.target]]:
            supervisor.suffer(fault)

    def settled(self) -> bool:
        """Whether all runs, and no fault is still to come."""
        return all(supervisor.settled() for supervisor in self._supervisors.values())

    def struck(self) -> list[tuple[float, Fault]]:
        """The faults in the order in which they happened, each with when it first did."""
        first: dict[Fault, float] = {}
        for when, fault in sorted(
            one for each in self._supervisors.values() for one in each.struck
        ):
            first.setdefault(fault, when)
        return [(when, fault) for fault, when in first.items()]

    def findings(self) -> list[str]:
        """What ended by itself, or would not end in order although nothing else was amiss."""
        found = [e for each in self._supervisors.values() for e in each.findings]
        found += [e for e in self._refusals() if not self._was_disturbed(e)]
        return [f"{ending.name} {ending.what}" for ending in found]

    def cut_off(self) -> int:
        """How often a service could not end in order, since what it needed was away."""
        return sum(self._was_disturbed(ending) for ending in self._refusals())

    def close(self) -> None:
        self._held.close()

    def _refusals(self) -> list[Ending]:
        return [ending for each in self._supervisors.values() for ending in each.refusals]

    def _was_disturbed(self, ending: Ending) -> bool:
        """Whether the broker or ClickHouse was away shortly before, or meanwhile."""
        return any(
            gone <= ending.ended and back + AFTERMATH_S >= ending.began
            for name in (BROKER, CLICKHOUSE)
            for gone, back in self._supervisors[name].away
        )


class _Broker(Closing):
    """A run of the broker, from its start to its end."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker
        broker.start()

    def status(self) -> None:
        """It doesn't end by itself."""

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
