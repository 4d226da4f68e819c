"""How much more load do two analyzers take than one, over a real broker?

Each analyzer is a process of its own. It shares out the architectures with the other by the
partitions of `graphs`, and reads all results. The load is a measurement of each layer of synthetic
architectures. What counts is the CPU time of the busiest process: a machine may lack cores.

    python -m benchmarks.scale_out
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from uuid import uuid4

from rich.console import Console
from rich.table import Table

from benanza_analyzer.step import analyzer_step
from benanza_backbone.clock import now
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.processor import as_message
from benanza_schemas.topics import BOUNDS
from benchmarks.analyzer import fingerprint_of, measured, residual_model
from tests.kafka_broker import KafkaBroker, lacking

ARCHITECTURES = 160
FAMILY = 16
"""So many architectures have the same layers."""

LAYERS = 100
AT_ONCE = 200
RUNS = 3
AIM = 1.7


def main() -> None:
    """Prints the CPU time of one analyzer, and of the busier one of two, and their ratio."""
    if reason := lacking():
        raise SystemExit(reason)
    table = Table(title=f"{ARCHITECTURES} architectures, {_results():,} measurements")
    for column in ("analyzers", "bounds", "CPU s of the busiest", "spread"):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory(prefix="benanza-bench-") as folder:
        broker = KafkaBroker(Path(folder))
        broker.start()
        try:
            runs_of = {
                copies: [_busiest_s(broker.bootstrap, copies) for _ in range(RUNS)]
                for copies in (1, 2)
            }
        finally:
            broker.stop()
    for copies, runs in runs_of.items():
        seconds = [s for s, _ in runs]
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
        table.add_row(str(copies), f"{runs[0][1]:,}", f"{median(seconds):.1f}", spread)
    Console().print(table)
    one, two = (median(s for s, _ in runs) for runs in runs_of.values())
    print(f"two take {one / two:.2f} times the load of one; the aim is {AIM}")


def _results() -> int:
    return ARCHITECTURES // FAMILY * LAYERS


def _busiest_s(bootstrap: str, copies: int) -> tuple[float, int]:
    """The CPU seconds of the busiest of so many analyzers, and how many bounds they made."""
    kafka = KafkaConnection(bootstrap=(bootstrap,), prefix=f"{uuid4().hex}-")
    create_topics(kafka)
    families = range(ARCHITECTURES // FAMILY)
    with KafkaEventLog(kafka) as log, _analyzers(kafka, copies) as analyzers:
        log.append(
            [
                as_message(residual_model(index, LAYERS, f"family {index // FAMILY}"))
                for index in range(ARCHITECTURES)
            ]
        )
        _settled(analyzers)
        before = [_asked(analyzer, "cpu") for analyzer in analyzers]
        results = [
            measured(fingerprint_of(f"family {family}", layer), 10.0 + layer % 13)
            for layer in range(LAYERS)
            for family in families
        ]
        log.append([as_message(result) for result in results])
        _settled(analyzers)
        used = [
            _asked(analyzer, "cpu") - was for analyzer, was in zip(analyzers, before, strict=True)
        ]
        return max(used), sum(1 for _ in log.records(BOUNDS))


@contextmanager
def _analyzers(kafka: KafkaConnection, copies: int) -> Iterator[list[Connection]]:
    """So many processes, once each has its share of the partitions."""
    spawn = multiprocessing.get_context("spawn")
    pipes = [spawn.Pipe() for _ in range(copies)]
    processes = [spawn.Process(target=_analyze, args=(kafka, theirs)) for _, theirs in pipes]
    for process in processes:
        process.start()
    analyzers = [ours for ours, _ in pipes]
    try:
        while True:
            shares = [_asked(analyzer, "held") for analyzer in analyzers]
            if all(shares) and len(set(shares)) == 1:
                break
            time.sleep(0.5)
        yield analyzers
    finally:
        for analyzer in analyzers:
            analyzer.send("end")
        for process in processes:
            process.join()


def _settled(analyzers: list[Connection]) -> None:
    """Waits until all have read everything."""
    quiet = 0
    while quiet < 3:
        time.sleep(0.3)
        quiet = 0 if any(_asked(analyzer, "waiting") for analyzer in analyzers) else quiet + 1


def _asked(analyzer: Connection, what: str) -> float:
    analyzer.send(what)
    answer: float = analyzer.recv()
    return answer


def _analyze(kafka: KafkaConnection, asked: Connection) -> None:
    """Runs an analyzer, and answers questions between two turns."""
    with KafkaEventLog(kafka) as log, analyzer_step(log, now) as step:
        while True:
            step.turn(AT_ONCE, 0.1)
            if not asked.poll():
                continue
            match asked.recv():
                case "held":
                    asked.send((step.held() or 0) - 1)  # without that of the results
                case "waiting":
                    asked.send(step.waiting())
                case "cpu":
                    asked.send(time.process_time())
                case _:
                    return


if __name__ == "__main__":
    main()
