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
from tests.chaos.faults import Fault, How, schedule
from tests.chaos.machine import disks_refused
from tests.chaos.models import write_models
from tests.chaos.oracle import expected
from tests.chaos.progress import Gap, Progress
from tests.chaos.publisher import Publisher, plan
from tests.chaos.snapshot import differences, snapshot

PATIENCE_S = 600.0
"""How long it may take until all run, and until nothing waits any more: several long faults of one
process may come one after the other at the end."""

LOOK_S = 0.5


class Report(NamedTuple):
    """What happened.

    `published` counts how often models were published. `faults` have the seconds at which each
    happened. `repeats` counts the events of each topic that came again under their ids, and
    `benchmarks` the layers that were benchmarked once, twice, and so on. `gaps` has the longest
    standstill of each service. `own_endings` counts under which kind of fault which process ended
    by itself, as it may. `cut_off` says how often a service could not end in order, since what it
    needed was away. `left_out` says which kind of fault could not be had, and why. `wrong` is what
    is not as without faults.
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
    own_endings: Mapping[tuple[str, str], int]
    cut_off: int
    left_out: str
    wrong: Sequence[str]


def campaign(
    folder: Path, models: int, faults: int, seed: int, over_s: float | None = None
) -> Report:
    """Runs one in an empty folder, and prints what happens when. The faults happen within about
    `over_s` seconds.
    """
    refused = disks_refused()
    left_out = f"no {How.DISK_FULL}, since {refused}" if refused else ""
    if left_out:
        print(left_out)
    files = write_models(folder / "models", models, seed)
    wanted = expected(files, folder / "embedded")
    planned_faults = schedule(faults, seed, over_s, without=[How.DISK_FULL] if refused else [])
    planned = plan(files, planned_faults[-1].at_s, seed)
    for fault in planned_faults:
        print(f"planned: {fault.at_s:7.1f} s  {fault}")
    began = time.monotonic()

    def now_s() -> float:
        return time.monotonic() - began

    def happened(what: str) -> None:
        print(f"{now_s():7.1f} s  {what}", flush=True)

    with Cluster(folder, happened, disks=not refused) as cluster:
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
        own_endings, cut_off, struck = cluster.own_endings(), cluster.cut_off(), cluster.struck()
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
        own_endings=own_endings,
        cut_off=cut_off,
        left_out=left_out,
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
