"""Times models by many copies of them in one call."""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import Load, busy_between
from benanza_runner.measuring.sampling import Samples, Timing, collect
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.copies import copies_for, replicated
from benanza_runner.onnxruntime.session import Provider, Session, empty_call_us
from benanza_schemas.vocabulary import StoppedBy

MOST_TRIES = 4
MOST_US = 80_000.0
"""How often, and until when, a model is timed while the machine is busy: where others have as many
processors as there are, all threads of a call seldom have one at a time. In so short a time hardly
anything but their waiting is seen (`TICKS_S`).
"""

HALVES = 2
"""So many samples are taken of all tries if the machine was busy during each of them; the median of
two is their mean.
"""

PROBES = 3
"""Calls of one copy, of which the fastest says how many copies a call should have."""


class TimedCopies(NamedTuple):
    """Times of a model in microseconds, in the order taken, and what ended the sampling.

    Each is of the least of a few calls. `copies` went into each call, and `dropped` calls were
    disturbed.
    """

    samples_us: tuple[float, ...]
    stopped_by: StoppedBy
    copies: int
    dropped: int


def least_of_each(calls_us: Sequence[float], samples: int) -> list[float]:
    """Up to so many samples, each the least of about as many calls in a row, of two or more where
    there are.

    What else a machine does makes calls longer, never shorter; a bound wants what they can take.
    """
    count = max(1, min(samples, len(calls_us) // 2))
    ends = [len(calls_us) * number // count for number in range(count + 1)]
    return [min(calls_us[begin:end]) for begin, end in pairwise(ends)]


def _us(tries: Sequence[Samples]) -> float:
    return sum(sum(attempt.calls_us) for attempt in tries)


def timed_calls(
    call: Callable[[], Timing],
    copies: int,
    empty_call_us: float,
    rule: Rule,
    load: Callable[[], Load],
) -> TimedCopies:
    """Times so many copies in a call as the rule says, less what a call takes that does nothing.

    `load` reads how busy the machine is: the copies are timed until it isn't for once. Raises what
    the call raises.
    """
    tries: list[Samples] = []
    busy = True
    while busy and len(tries) < MOST_TRIES and _us(tries) < MOST_US:
        before = load()
        tries.append(collect(call, rule))
        busy = bool(busy_between(before, load()).by)
    calls_us, few = tries[-1].calls_us, rule.few_samples
    if busy:
        calls_us, few = tuple(chain.from_iterable(attempt.calls_us for attempt in tries)), HALVES
    times = (max(us - empty_call_us, 0.0) / copies for us in least_of_each(calls_us, few))
    dropped = sum(attempt.dropped for attempt in tries)
    stopped_by = StoppedBy.CAP if busy else tries[-1].stopped_by
    return TimedCopies(tuple(times), stopped_by, copies, dropped)


class CopiesTimer:
    """Times models on so many threads, less what a call takes that does nothing.

    There is one session at a time: the threads of another one would wait for work on the same
    cores. Its methods raise whatever ONNX Runtime raises when it refuses a model.
    """

    def __init__(
        self, provider: Provider, threads: int, load: Callable[[], Load] = machine_load
    ) -> None:
        self._threads = threads
        self._load = load
        self._empty_call_us = empty_call_us(provider, threads)

    def copies(self, model: LayerModel, provider: Provider) -> int:
        """How many copies a call should have."""
        session = self._session(model, 1, provider)
        us = min(session.call().us for _ in range(PROBES)) - self._empty_call_us
        weights = [*model.constants.values()]
        integers = [array for array in weights if "int" in array.dtype.name]
        return copies_for(
            us, *(sum(array.nbytes for array in some) for some in (weights, integers))
        )

    def timed(self, model: LayerModel, provider: Provider, copies: int, rule: Rule) -> TimedCopies:
        """Times the model as the rule says."""
        session = self._session(model, copies, provider)
        return timed_calls(session.call, copies, self._empty_call_us, rule, self._load)

    def _session(self, model: LayerModel, copies: int, provider: Provider) -> Session:
        proto = replicated(model.proto, copies)
        return Session(proto, model.constants, model.inputs, provider, self._threads)
