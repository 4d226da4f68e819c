"""Times models by many copies of them in one call."""

from collections.abc import Sequence
from typing import NamedTuple

from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.copies import copies_for, replicated
from benanza_runner.onnxruntime.session import Provider, Session, empty_call_us
from benanza_schemas.vocabulary import StoppedBy

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
    """So many samples, each the least of as many calls in a row; of fewer calls, each call.

    What else a machine does makes calls longer, never shorter; a bound wants what they can take.
    """
    size = max(1, len(calls_us) // samples)
    return [min(calls_us[at : at + size]) for at in range(0, len(calls_us) - size + 1, size)]


class CopiesTimer:
    """Times models on so many threads, less what a call takes that does nothing.

    There is one session at a time: the threads of another one would wait for work on the same
    cores. Its methods raise whatever ONNX Runtime raises when it refuses a model.
    """

    def __init__(self, provider: Provider, threads: int) -> None:
        self._threads = threads
        self._empty_call_us = empty_call_us(provider, threads)

    def copies(self, model: LayerModel, provider: Provider) -> int:
        """How many copies a call should have."""
        session = self._session(model, 1, provider)
        us = min(session.call().us for _ in range(PROBES)) - self._empty_call_us
        weights = [*model.constants.values()]
        integers = [array for array in weights if "int" in array.dtype.name]
        return copies_for(us, *(sum(each.nbytes for each in some) for some in (weights, integers)))

    def timed(self, model: LayerModel, provider: Provider, copies: int, rule: Rule) -> TimedCopies:
        """Times the model as the rule says."""
        session = self._session(model, copies, provider)
        samples = collect(session.call, rule)
        calls_us = least_of_each(samples.calls_us, rule.few_samples)
        times = (max(us - self._empty_call_us, 0.0) / copies for us in calls_us)
        return TimedCopies(tuple(times), samples.stopped_by, copies, samples.dropped)

    def _session(self, model: LayerModel, copies: int, provider: Provider) -> Session:
        proto = replicated(model.proto, copies)
        return Session(proto, model.constants, model.inputs, provider, self._threads)
