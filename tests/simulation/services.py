"""The services as processes of the simulation: their own steps, over its log, store and clocks."""

from collections.abc import Callable

from benanza_analyzer.sink import sink_step
from benanza_analyzer.step import analyzer_step
from benanza_backbone.service.step import Step
from benanza_ingest.step import ingest_step
from benanza_runner.runtime import Outcome
from benanza_runner.step import runner_step
from benanza_runner.system_description import describe_system
from benanza_schemas.layer import Layer, Precision
from tests.benanza.hashed_runtime import HashedRuntime
from tests.simulation.inputs import LIMITS, replayed
from tests.simulation.log import SimulatedLog
from tests.simulation.store import SimulatedStore
from tests.simulation.world import Process, World

PRECISION: Precision = "fp32"


class CountingRuntime(HashedRuntime):
    """Counts what it measures."""

    def __init__(self) -> None:
        super().__init__()
        self.measured = 0
        self._system = super().system()

    def system(self):  # type: ignore[no-untyped-def]  # as above
        return self._system

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.measured += 1
        return super().measure(layer, precision)


class StepProcess(Process):
    """A process that turns a step, `limit` records at a time."""

    def __init__(
        self,
        world: World,
        name: str,
        make: Callable[[SimulatedLog, "StepProcess"], Step],
        limit: int,
        *,
        beside_store: bool = False,
    ) -> None:
        super().__init__(world, name)
        self.beside_store = beside_store
        self._make = make
        self._limit = limit
        self._step: Step | None = None

    def start(self, log: SimulatedLog) -> None:
        self._step = self._make(log, self)

    def work(self) -> None:
        assert self._step is not None, "it was started"
        self._step.turn(self._limit)


def ingest(world: World, name: str) -> Process:
    """As `benanza serve ingest` turns it, with models that were taken apart before."""
    return StepProcess(
        world, name, lambda log, me: ingest_step(log, LIMITS, me.clock, replayed), limit=1
    )


def runner(world: World, name: str, runtime: CountingRuntime) -> Process:
    """As `benanza serve runner` does it: the system first, then its jobs."""

    def make(log: SimulatedLog, me: StepProcess) -> Step:
        describe_system(log, runtime, [PRECISION], me.clock)
        return runner_step(log, runtime, PRECISION, me.clock)

    return StepProcess(world, name, make, limit=2)


def analyzer(world: World, name: str) -> Process:
    """The analyzer's own step."""
    return StepProcess(
        world, name, lambda log, me: analyzer_step(log, me.clock), limit=8, beside_store=True
    )


def sink(world: World, name: str) -> Process:
    """The step beside it that fills the store."""

    def make(log: SimulatedLog, me: StepProcess) -> Step:
        store = SimulatedStore(world.journal, me)
        return sink_step(log, store, me.clock)  # type: ignore[arg-type]  # it has what is used

    return StepProcess(world, name, make, limit=20, beside_store=True)
