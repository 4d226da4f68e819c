"""The processes of an installation, the schedule by which they take turns, and what befalls them.

Services are synchronous code. Whatever one does outside of itself passes through `World.effect`: it
is there that a process crashes, is refused, or waits while others go on. Waits are nested: what
began to wait last goes on first.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.service.circuit_breaker import CircuitOpenError
from benanza_schemas.topics import TOPICS
from tests.simulation.log import Cluster, SimulatedLog
from tests.simulation.store import Journal

BEGAN = datetime(2026, 11, 21, tzinfo=UTC)
MOST_TURNS = 3000
"""An installation that has not come to rest by then never will."""

TURN = timedelta(milliseconds=200)
"""How long one takes at least."""

INTERLEAVED = 0.1
"""How often others take a turn in the midst of an effect, without a fault."""

DOWN_TURNS = 15
LATER_TURNS = 25
DEEPEST = 3
"""So many processes may be in the midst of an effect."""

JUMPS_S = (-50_000.0, -3_600.0, -1.0, 1.0, 3_600.0, 50_000.0)


class Fault(NamedTuple):
    """Befalls the process whose effect has this number. `amount` says how much of it, by kind."""

    at: int
    kind: str
    amount: int


KINDS = (
    *("crash", "refuse", "pause", "stop", "power", "jump"),
    *("again", "delay", "compact", "lose"),
)
"""`crash` and `refuse` cut an effect off after some of its parts; `refuse` is the `BenanzaError` of
a log or store that is away. `pause` is a process that is taken for dead while others take over, and
goes on. `stop` ends it in order. `power` fails for all processes with the store, and what that has
not synced is lost. `jump` sets its clock. `again` publishes something again. `delay` keeps a
partition from all readers for a while. `compact` compacts the log. `lose` gives dedupe its
partitions anew: what it has fetched goes.
"""


class Crash(BaseException):
    """A process dies. No `except Exception` of the services must get hold of it."""


class NotAtRestError(Exception):
    """The installation goes on and on, or stands still with work left."""


class Process(ABC):
    """A process of an installation. `skew_s` is how far its clock is ahead."""

    beside_store = False
    """Whether it is on the machine of the store."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.skew_s = 0.0
        self.down_until = 0
        self.at_work = False
        self.doomed = False
        self.stopping = False
        self.log: SimulatedLog | None = None

    def clock(self) -> datetime:
        """The time, as this process has it."""
        return self.world.now() + timedelta(seconds=self.skew_s)

    def effect(self, what: str, parts: Sequence[Callable[[], None]]) -> None:
        """See `Effects`."""
        self.world.effect(self, what, parts)

    def busy(self) -> bool:
        """See `Effects`."""
        return self.at_work

    def turn(self) -> None:
        """Starts, where it is not there, or does the next piece of its work."""
        if self.log is None:
            self.log = SimulatedLog(self.world.cluster, self)
            self.start(self.log)
        else:
            self.work()

    def end(self) -> None:
        """Is gone, at once: its memory, its share in the groups, what it had not written."""
        if self.log is not None:
            for consumer in self.log.consumers:
                consumer.close()
        self.log = None
        self.doomed = self.stopping = False

    def leave(self) -> None:
        """Is taken for dead by its groups."""
        for consumer in self.log.consumers if self.log else ():
            consumer.close()

    def waits(self) -> bool:
        """Whether there is something for it to do."""
        if self.log is None:
            return True
        return any(not c.joined() or c.is_behind() for c in self.log.consumers)

    def drain(self) -> None:  # noqa: B027
        """Finishes what it is at before it ends in order."""

    @abstractmethod
    def start(self, log: SimulatedLog) -> None:
        """Begins, or goes on after a restart."""

    @abstractmethod
    def work(self) -> None:
        """Does something."""


class World:
    """Everything. The same seed and faults do the same things."""

    def __init__(self, seed: int, faults: Sequence[Fault], *, calm: bool = False) -> None:
        self.rng = Random(seed)
        self.cluster = Cluster(self.rng, self.now)
        self.journal = Journal()
        self.processes: list[Process] = []
        self.trace: list[str] = []
        self.effects = 0
        self.losses = 0
        self.turns = 0
        self.hurt: dict[str, int] = {}
        self.again: Callable[[int], None] = lambda amount: None
        self._later = sorted(faults, reverse=True)
        self._calm = calm
        self._now = BEGAN
        self._hidden_until = 0

    def now(self) -> datetime:
        """The right time."""
        return self._now

    def run(self) -> None:
        """Until nothing is left to do. Raises `NotAtRestError`, or what a service raises that it
        must not.
        """
        while not self._at_rest():
            self._turn_one()

    def effect(self, process: Process, what: str, parts: Sequence[Callable[[], None]]) -> None:
        """What a process does; whatever befalls it does so here."""
        number, self.effects = self.effects, self.effects + 1
        self._now += timedelta(milliseconds=self.rng.randint(1, 500))
        self.trace.append(f"{number:4} {process.name} {what}")
        if not self._calm and self.rng.random() < INTERLEAVED:
            self._let_others_go_on(process, 1)
        if self._later and self._later[-1].at <= number:
            fault = self._later.pop()
            self.trace.append(f"     {process.name}: {fault.kind} {fault.amount}")
            self._befall(process, fault, parts)
        else:
            self._do(process, parts)

    def _do(self, process: Process, parts: Sequence[Callable[[], None]]) -> None:
        if process.doomed:
            raise Crash
        for part in parts:
            part()

    def _befall(self, process: Process, fault: Fault, parts: Sequence[Callable[[], None]]) -> None:
        amount = fault.amount
        self.hurt[process.name] = self.hurt.get(process.name, 0) + 1
        match fault.kind:
            case "crash" | "refuse":
                self._do(process, parts[: amount % (len(parts) + 1)])
                raise Crash if fault.kind == "crash" else BenanzaError("it is away; try again")
            case "pause":
                process.leave()
                self._let_others_go_on(process, 1 + amount % LATER_TURNS)
            case "stop":
                process.stopping = True
            case "power":
                self.journal.lose(amount % 20)
                for each in self.processes:
                    if each.beside_store:
                        self._kill(each)
            case "jump":
                process.skew_s = JUMPS_S[amount % len(JUMPS_S)]
            case "again":
                self.again(amount)
            case "delay":
                places = [at for topic in TOPICS for at in self.cluster.partitions(topic)]
                self.cluster.hidden = {places[amount % len(places)]}
                self._hidden_until = self.turns + amount % LATER_TURNS
            case "compact":
                self.cluster.compact()
            case "lose":
                self.losses += 1
        self._do(process, parts)

    def _kill(self, process: Process) -> None:
        if process.at_work:
            process.doomed = True
        else:
            self._ended(process, DOWN_TURNS)

    def _ended(self, process: Process, turns: int) -> None:
        process.end()
        process.down_until = self.turns + self.rng.randint(0, turns)

    def _let_others_go_on(self, process: Process, turns: int) -> None:
        if sum(each.at_work for each in self.processes) >= DEEPEST:
            return
        self.trace.append(f"     {process.name} waits")
        for _ in range(turns):
            self._turn_one()
        self.trace.append(f"     {process.name} goes on")

    def _turn_one(self) -> None:
        self.turns += 1
        self._now += TURN
        if self.turns > MOST_TURNS:
            raise NotAtRestError(f"{MOST_TURNS} turns, and there is still something to do")
        if self.turns >= self._hidden_until:
            self.cluster.hidden = set()
        free = [p for p in self.processes if not p.at_work and p.down_until <= self.turns]
        wanted = [p for p in free if p.waits()]
        if not free:
            return
        process = self.rng.choice(wanted or free)
        process.at_work = True
        try:
            process.turn()
            if process.stopping:
                process.drain()
                self._ended(process, DOWN_TURNS)
        except Crash:
            self.trace.append(f"     {process.name} is dead")
            self._ended(process, DOWN_TURNS)
        except CircuitOpenError:
            raise
        except BenanzaError:
            self.trace.append(f"     {process.name} tries again later")
            self._ended(process, 3)
        finally:
            process.at_work = False

    def _at_rest(self) -> bool:
        return not any(p.waits() for p in self.processes) and not self.cluster.waiting()


class Publisher(Process):
    """Publishes messages one after another, each until it knows that it is in the log."""

    def __init__(self, world: World, messages: Sequence[Message]) -> None:
        super().__init__(world, "publisher")
        self._left = list(messages)

    def add(self, message: Message) -> None:
        """One more."""
        self._left.append(message)

    def start(self, log: SimulatedLog) -> None:
        """Has nothing to begin with."""

    def work(self) -> None:
        if self._left and self.log:
            self.log.append(self._left[:1])
            del self._left[0]

    def waits(self) -> bool:
        return bool(self._left)
