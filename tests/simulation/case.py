"""A case: what is published, and what befalls whom; and what came of it."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from random import Random
from typing import NamedTuple

from benanza_backbone.event_log.event_log import Message
from benanza_schemas.topics import JOBS
from tests.simulation.defects import Defect
from tests.simulation.faust import Dedupe
from tests.simulation.inputs import POISON, publications
from tests.simulation.outcome import Outcome, differences, outcome
from tests.simulation.services import CountingRuntime, analyzer, ingest, runner, sink
from tests.simulation.world import KINDS, Fault, Publisher, World

COPIES = 2
"""Of each service."""

MOST_FAULTS = 12
MOST_PUBLISHED = 4
HORIZON = 160
"""Of this many effects one may meet a fault. An undisturbed case has about as many."""


class Case(NamedTuple):
    """`published` are places in `publications()`."""

    seed: int
    published: tuple[int, ...]
    faults: tuple[Fault, ...]


class Result(NamedTuple):
    """`wrong` says, a line each, what is not as without faults; `trace` what happened, in order."""

    wrong: Sequence[str]
    trace: Sequence[str]


def case_of(seed: int) -> Case:
    """The case of a seed."""
    rng = Random(seed)
    everything = range(len(publications()))
    published = rng.sample(everything, rng.randint(2, MOST_PUBLISHED))
    faults = [
        Fault(rng.randrange(HORIZON), rng.choice(KINDS), rng.randrange(1000))
        for _ in range(rng.randint(1, MOST_FAULTS))
    ]
    return Case(seed, tuple(published), tuple(sorted(faults)))


def run(case: Case, defect: Defect = nullcontext) -> Result:
    """Runs a case, and compares its end with that of the same publications without faults, and
    without this defect.
    """
    with _unlogged():
        wanted = _undisturbed(tuple(sorted(case.published)))
    with _unlogged(), defect():
        world, runtime = _world(case.seed, case.published, case.faults, calm=False)
        failure = _failure(world)
    if failure:
        wrong = [failure]
    else:
        found = outcome(world)
        wrong = differences(found, wanted)
        hurt = sum(n for name, n in world.hurt.items() if name.startswith("runner"))
        jobs = len(wanted.facts[f"topic {JOBS}"])
        if runtime.measured > jobs + 2 * hurt:
            wrong.append(f"{runtime.measured} benchmarks for {jobs} jobs")
    return Result(wrong, world.trace)


def wrong_with(seed: int) -> tuple[int, Sequence[str]]:
    """A seed with what is wrong at its end."""
    return seed, run(case_of(seed)).wrong


def _failure(world: World) -> str:
    try:
        world.run()
    except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
        return f"{type(error).__name__}: {error}"
    return ""


@contextmanager
def _unlogged() -> Iterator[None]:
    """Failures are wanted here, and many."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@cache
def _undisturbed(published: tuple[int, ...]) -> Outcome:
    world, _ = _world(0, published, (), calm=True)
    world.run()
    return outcome(world)


def _world(
    seed: int, published: Sequence[int], faults: Sequence[Fault], *, calm: bool
) -> tuple[World, CountingRuntime]:
    world, runtime = World(seed, faults, calm=calm), CountingRuntime()
    messages = [publications()[each] for each in published]
    publisher = Publisher(world, messages)
    again: list[Message] = [each for each in messages if each not in POISON]
    if again:
        world.again = lambda amount: publisher.add(again[amount % len(again)])
    world.processes = [publisher]
    for copy in range(COPIES):
        world.processes += [
            ingest(world, f"ingest-{copy}"),
            Dedupe(world, f"dedupe-{copy}"),
            runner(world, f"runner-{copy}", runtime),
            analyzer(world, f"analyzer-{copy}"),
            sink(world, f"sink-{copy}"),
        ]
    return world, runtime
