"""One campaign: models are published while faults happen; then all must be as without them."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_schemas.topics import JOBS, MODELS
from tests.chaos.cluster import Cluster
from tests.chaos.dead_letters import wrong_dead_letters
from tests.chaos.faults import Fault, schedule
from tests.chaos.models import write_models
from tests.chaos.oracle import expected
from tests.chaos.progress import Gap, Progress
from tests.chaos.publisher import Publisher, plan
from tests.chaos.snapshot import differences, snapshot

PATIENCE_S = 300.0
"""How long it may take until all run, and until nothing waits any more."""

LOOK_S = 0.5


class Report(NamedTuple):
    """What happened.

    `published` counts how often models were published. `faults` have the seconds at which each
    happened. `repeats` counts the events of each topic that came again under their ids, and
    `benchmarks` the layers that were benchmarked once, twice, and so on. `gaps` has the longest
    standstill of each service. `cut_off` says how often a service could not end in order, since
    what it needed was away. `wrong` is what is not as without faults.
    """

    seed: int
    models: int
    published: int
    layers: int
    faults: Sequence[tuple[float, Fault]]
    seconds: float
    quiet_after_s: float
    repeats: Mapping[str, int]
    benchmarks: Mapping[int, int]
    gaps: Mapping[str, Gap]
    cut_off: int
    wrong: Sequence[str]


def campaign(folder: Path, models: int, faults: int, seed: int) -> Report:
    """Runs one in an empty folder, and prints what happens when."""
    files = write_models(folder / "models", models, seed)
    wanted = expected(files, folder / "embedded")
    planned_faults = schedule(faults, seed)
    planned = plan(files, planned_faults[-1].at_s, seed)
    for fault in planned_faults:
        print(f"planned: {fault.at_s:7.1f} s  {fault}")
    began = time.monotonic()

    def now_s() -> float:
        return time.monotonic() - began

    def happened(what: str) -> None:
        print(f"{now_s():7.1f} s  {what}", flush=True)

    with Cluster(folder, happened) as cluster:
        wrong = _waited(cluster.settled, "the processes don't all run")
        began = time.monotonic()
        with Progress(cluster.kafka, now_s) as progress:
            publisher = Publisher(cluster.kafka, planned, now_s)
            publisher.start()
            for fault in planned_faults:
                time.sleep(max(0.0, fault.at_s - now_s()))
                cluster.suffer(fault)
            wrong += _waited(cluster.settled, "the processes don't all run")
            all_up_s = now_s()
            wrong += _waited(lambda: not publisher.is_alive(), "not all is published")
            wrong += _waited(progress.quiet, "the services don't come to an end")
            quiet_s = now_s()
            gaps = progress.longest
        with KafkaEventLog(cluster.kafka) as log, Store.open(cluster.clickhouse) as store:
            found = snapshot(log, store)
            wrong += wrong_dead_letters(log)
        wrong += differences(found, wanted)
        wrong += cluster.findings()
        cut_off, struck = cluster.cut_off(), cluster.struck()
    return Report(
        seed=seed,
        models=len(files),
        published=sum(each.message.topic == MODELS for each in planned),
        layers=len(wanted.events[JOBS]),
        faults=[(when - began, fault) for when, fault in struck],
        seconds=quiet_s,
        quiet_after_s=quiet_s - all_up_s,
        repeats=found.repeats,
        benchmarks=Counter(found.benchmarks.values()),
        gaps=gaps,
        cut_off=cut_off,
        wrong=wrong,
    )


def _waited(so: Callable[[], bool], otherwise: str) -> list[str]:
    """Returns when it is so, or else when patience is at its end: what is wrong then."""
    deadline = time.monotonic() + PATIENCE_S
    while not so():
        if time.monotonic() > deadline:
            return [f"{otherwise} within {PATIENCE_S:.0f} s"]
        time.sleep(LOOK_S)
    return []
