"""Everything that runs: broker, ClickHouse, and two of each service."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benanza_backbone.closing import Closing
from benanza_backbone.kafka_connection import KafkaConnection
from benanza_backbone.kafka_topics import create_topics
from benanza_backbone.store import Store
from tests.benanza.processes import Installation, Process, ServiceProcess
from tests.chaos.faults import BROKER, CLICKHOUSE, KILL, Fault
from tests.kafka_broker import KafkaBroker

SERVICES = ("ingest", "dedupe", "runner", "analyzer")
COPIES = 2


class Cluster(Closing):
    """Starts everything, applies faults, and brings back what ended.

    `findings` are the services that ended by themselves, with what they said.
    """

    def __init__(self, folder: Path) -> None:
        self.findings: list[str] = []
        self._held = ExitStack()
        (folder / "kafka").mkdir()
        self._broker = KafkaBroker(folder / "kafka")
        self._broker.start()
        self._held.callback(self._broker.kill)
        self.kafka = KafkaConnection(bootstrap=(self._broker.bootstrap,))
        create_topics(self.kafka)
        self._clickhouse_of = Installation(self.kafka, folder)
        self._clickhouse: Process = self._clickhouse_of.start_clickhouse()
        # Who dies while it makes the tables leaves a lock on them behind for minutes.
        Store.open(self.clickhouse).close()
        self._starts: dict[str, Callable[[], ServiceProcess]] = {}
        self._running: dict[str, ServiceProcess] = {}
        for copy in range(1, COPIES + 1):
            own = folder / str(copy)  # Each dedupe keeps its table in a folder of its own.
            own.mkdir()
            installation = Installation(self.kafka, own)
            installation.clickhouse_port = self._clickhouse_of.clickhouse_port
            for service in SERVICES:
                self._starts[f"{service}-{copy}"] = _start_of(installation, service)
        for name, start in self._starts.items():
            self._running[name] = start()

    @property
    def clickhouse(self) -> str:
        """Its DSN."""
        return self._clickhouse_of.clickhouse

    @property
    def services(self) -> list[str]:
        """The names of the service processes."""
        return list(self._starts)

    def apply(self, fault: Fault) -> None:
        """Lets it happen, and brings back what it took away."""
        time.sleep(fault.after_s)
        self.bring_back()
        if fault.target == BROKER:
            self._broker.kill() if fault.how == KILL else self._broker.stop()
            time.sleep(fault.away_s)
            self._broker.start()
        elif fault.target == CLICKHOUSE:
            if fault.how == KILL:
                self._clickhouse.kill()
            else:
                self._clickhouse.stop()
            self._clickhouse.close()
            time.sleep(fault.away_s)
            self._clickhouse = self._clickhouse_of.start_clickhouse()
        else:
            process = self._running[fault.target]
            if fault.how == KILL:
                process.kill()
            elif status := process.stop():
                self._found(fault.target, status, process)
            process.close()
            time.sleep(fault.away_s)
            self._running[fault.target] = self._starts[fault.target]()

    def bring_back(self) -> None:
        """Starts again what ended by itself, and notes it."""
        for name, process in self._running.items():
            if (status := process.status()) is not None:
                self._found(name, status, process)
                process.close()
                self._running[name] = self._starts[name]()

    def close(self) -> None:
        for process in self._running.values():
            process.close()
        self._clickhouse.close()
        self._held.close()

    def _found(self, name: str, status: int, process: ServiceProcess) -> None:
        self.findings.append(f"{name} ended with status {status}: {process.errors()[-1500:]}")


def _start_of(installation: Installation, service: str) -> Callable[[], ServiceProcess]:
    if service == "runner":
        return installation.start_runner
    return lambda: installation.start(service)
