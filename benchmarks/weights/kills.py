"""Loads at random, while tenants, the store, and both are killed: what is read is right, and
nothing is left.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.weights.models import make_model
from benchmarks.weights.processes import (
    StoreProcess,
    TenantProcess,
    holding,
    shared_bytes,
)

EVENTS = ("none", "tenant", "tenant late", "store", "store late", "both")
"""What is killed in a load: nothing; the tenant soon after it has asked, or once it holds its
lease; the store likewise; or the store and the tenant, soon after that has asked.
"""

MOST_DELAY_S = 0.1
"""About what a load takes on a busy machine."""

PATIENCE_S = 20.0


class Outcome(NamedTuple):
    """How many loads had which end, and what is wrong; `left_bytes` of shared memory that there
    weren't before.
    """

    ends: Counter[str]
    wrong: list[str]
    left_bytes: int


def kill_at_random(
    folder: Path, loads: int, seed: int, weights: int = 8, models: int = 5
) -> Outcome:
    """Loads one of the models after the other, with a kill in most. Each has so many weights of
    2²⁰ bytes; the store's memory has room for three of the models, its disk for four.
    """
    chosen = random.Random(seed)
    expected = {}
    for number in range(models):
        path = folder / f"model{number}.onnx"
        expected[path] = make_model(path, weights, seed + number, external=number % 2 == 1)
    before_bytes = shared_bytes()
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    started = set[int]()
    room = [f"{3 * weights * 1.06 + 0.1:.2f}MB", f"{4 * weights * 1.06 + 0.1:.2f}MB"]
    options = ("--memory", room[0], "--disk", str(folder / "disk"), "--disk-limit", room[1])
    store = StoreProcess(folder, *options)
    started.add(store.pid)
    for _ in range(loads):
        path = chosen.choice(list(expected))
        event = chosen.choice(EVENTS)
        with TenantProcess("read", path, store.socket) as tenant:
            started.add(tenant.pid)
            tenant.asks()
            if event in ("tenant", "store", "both"):
                time.sleep(chosen.uniform(0, MOST_DELAY_S))
            if event in ("store", "both"):
                store.kill()
            if event in ("tenant", "both"):
                tenant.kill()
            try:
                ran = tenant.ran()
                read = [ran["sha256"]]
                if event == "store late":
                    store.kill()
                    read.append(tenant.read_again()["sha256"])
            except RuntimeError as error:
                ends[f"{event}: no answer"] += 1
                if event.endswith(("none", "late")) or (
                    event == "store" and "LeaseError" not in str(error)
                ):
                    wrong.append(f"{path.name}: {error}")
            else:
                ends[f"{event}: from {ran['tier']}"] += 1
                if set(read) != {expected[path]}:
                    wrong.append(f"{path.name}: other weights")
            if event == "tenant late":
                tenant.kill()
        if event in ("store", "store late", "both"):
            store.close()
            store = StoreProcess(folder, *options)
            started.add(store.pid)
    if store.stop() != 0:
        wrong.append("the store didn't end well")
    store.close()
    if not until(lambda: not holding(started)):
        wrong.append(f"processes that still have weights: {holding(started)}")
    wrong += [f"left: {path}" for path in folder.rglob("*") if path.suffix in (".part", ".sock")]
    until(lambda: shared_bytes() <= before_bytes, 2.0)
    return Outcome(ends, wrong, shared_bytes() - before_bytes)


def until(so: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Waits until it is so; whether it became so in time."""
    deadline = time.monotonic() + patience_s
    while not so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
