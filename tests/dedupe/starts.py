"""Several copies of dedupe that start while events wait: `python -m tests.dedupe.starts`.

Each time is over topics of its own on one broker. It passes when nothing waits any more and each
layer has its job; how long that took is printed.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Partition
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.group import GroupProgress
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_schemas.codec import decode
from benanza_schemas.events import BenchmarkRequested
from benanza_schemas.topics import JOBS, LAYERS, PARTITIONS
from tests.benanza.processes import Installation, ServiceProcess
from tests.dedupe.layer_events import layers, written
from tests.kafka_broker import KafkaBroker

PATIENCE_S = 90.0
"""Two cores take some ten seconds to start three copies."""

EVENTS = 120
LOOK_S = 0.2


class Outcome(NamedTuple):
    """`seconds` from the first start until nothing waited. `wrong` says what is not as it should
    be, empty if all is well.
    """

    seconds: float
    wrong: str


class Copies:
    """Some copies of dedupe over one group, and the events that are published to them."""

    def __init__(self, kafka: KafkaConnection, folder: Path, log: EventLog) -> None:
        self.published = 0
        self._kafka = kafka
        self._folder = folder
        self._log = log
        self._running: dict[int, ServiceProcess] = {}

    def publish(self, count: int) -> None:
        """So many events, of layers that were not there before."""
        self._log.append(layers(range(self.published, self.published + count), "a"))
        self.published += count

    def start(self, *numbers: int) -> None:
        """Starts these copies at the same moment; returns when all have begun."""
        with ThreadPoolExecutor(len(numbers)) as pool:
            for number, service in zip(numbers, pool.map(self._started, numbers), strict=True):
                self._running[number] = service

    def restart(self, number: int) -> None:
        """Ends a copy in order, and starts it again."""
        self._end(number, ServiceProcess.stop)
        self.start(number)

    def kill(self) -> None:
        """Ends all of them without warning."""
        for number in list(self._running):
            self._end(number, ServiceProcess.kill)

    def outcome(self, began: float) -> Outcome:
        """Waits until nothing waits."""
        wrong = self._waited()
        seconds = time.monotonic() - began
        self.kill()
        events = [decode(value) for value in written(self._log, JOBS)]
        jobs = {each.fingerprint for each in events if isinstance(each, BenchmarkRequested)}
        if not wrong and len(jobs) != self.published:
            wrong = f"{self.published - len(jobs)} of {self.published} layers have no job"
        return Outcome(seconds, wrong)

    def _started(self, number: int) -> ServiceProcess:
        folder = self._folder / f"copy-{number}"
        folder.mkdir(exist_ok=True)
        return Installation(self._kafka, folder).start("dedupe")

    def _end(self, number: int, how: Callable[[ServiceProcess], object]) -> None:
        with self._running.pop(number) as service:
            how(service)

    def _waited(self) -> str:
        deadline = time.monotonic() + PATIENCE_S
        partitions = [Partition(LAYERS, number) for number in range(PARTITIONS[LAYERS])]
        with GroupProgress(self._kafka, "dedupe") as group:
            while True:
                left = _left(group, partitions)
                if not left:
                    return ""
                if time.monotonic() > deadline:
                    return f"stands still: {left}"
                if ended := [n for n, each in self._running.items() if each.status() is not None]:
                    return f"copies {ended} have ended: {self._running[ended[0]].errors()}"
                time.sleep(LOOK_S)


def _left(group: GroupProgress, partitions: Sequence[Partition]) -> str:
    """What waits in these partitions, or why nobody knows yet; empty where nothing waits."""
    try:
        progress = group.of(partitions)
    except BenanzaError as error:
        return str(error)  # of a new broker, which takes its time to choose a coordinator
    waiting = {p.number: at.waiting() for p, at in progress.items() if at.waiting()}
    return f"{waiting} wait in their partitions" if waiting else ""


Scenario = Callable[[Copies], None]


def together(copies: Copies, count: int) -> None:
    """That many copies start at the same moment over events that wait, and nothing comes after."""
    copies.publish(EVENTS)
    copies.start(*range(count))


def joined(copies: Copies) -> None:
    """Events are published while a first and a second copy join."""
    enough = Event()

    def publish() -> None:
        while not enough.wait(0.05):
            copies.publish(3)

    publisher = Thread(target=publish)
    publisher.start()
    copies.start(0)
    copies.start(1)
    time.sleep(3)
    enough.set()
    publisher.join()


def rolling(copies: Copies) -> None:
    """Each of two copies is restarted in turn, with events published between and none after."""
    copies.publish(EVENTS)
    copies.start(0, 1)
    for number in (0, 1):
        copies.publish(EVENTS // 2)
        copies.restart(number)


SCENARIOS: dict[str, Scenario] = {
    "two together": lambda copies: together(copies, 2),
    "three together": lambda copies: together(copies, 3),
    "joined": joined,
    "rolling": rolling,
}


def run(scenario: Scenario, kafka: KafkaConnection, folder: Path) -> Outcome:
    """Runs it once, over topics that nothing is in, and in an empty folder."""
    began = time.monotonic()
    with ExitStack() as held:
        log = held.enter_context(KafkaEventLog(kafka))
        log.end_offsets(LAYERS)  # The topic is there, with nothing in it.
        copies = Copies(kafka, folder, log)
        held.callback(copies.kill)
        try:
            scenario(copies)
            return copies.outcome(began)
        except (AssertionError, BenanzaError) as error:
            return Outcome(time.monotonic() - began, f"{type(error).__name__}: {error}")


def main() -> int:
    """Prints what happened; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.dedupe.starts", description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    names = ", ".join(SCENARIOS)
    parser.add_argument("scenarios", nargs="*", help=f"of {names}; all of them if none is named")
    options = parser.parse_args()
    if unknown := set(options.scenarios) - SCENARIOS.keys():
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}; there are {names}")
    failed = False
    with tempfile.TemporaryDirectory(prefix="benanza-starts-") as temporary:
        folder = Path(temporary)
        broker = KafkaBroker(folder / "kafka")
        broker.start()
        try:
            for name in options.scenarios or SCENARIOS:
                outcomes = list(_times(name, options.times, broker, folder))
                failed |= any(each.wrong for each in outcomes)
                print(_line(name, outcomes), flush=True)
        finally:
            broker.stop()
    return 1 if failed else 0


def _times(name: str, times: int, broker: KafkaBroker, folder: Path) -> Iterator[Outcome]:
    for number in range(times):
        own = folder / f"{name} {number}"
        own.mkdir()
        prefix = f"{name.replace(' ', '-')}-{number}-"
        outcome = run(
            SCENARIOS[name], KafkaConnection(bootstrap=(broker.bootstrap,), prefix=prefix), own
        )
        if outcome.wrong:
            print(f"{name}, time {number + 1}: {outcome.wrong}", flush=True)
        yield outcome


def _line(name: str, outcomes: Sequence[Outcome]) -> str:
    seconds = sorted(each.seconds for each in outcomes)
    return (
        f"{name}: {sum(not each.wrong for each in outcomes)} of {len(outcomes)} well; "
        f"{statistics.median(seconds):.1f} s ({seconds[0]:.1f} to {seconds[-1]:.1f})"
    )


if __name__ == "__main__":
    sys.exit(main())
