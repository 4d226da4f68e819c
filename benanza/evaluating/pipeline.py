"""What answers requests: samples are pre-processed, run as one batch, and post-processed."""

import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from benanza.evaluating.batches import BatchedModel
from benanza.evaluating.results import ServiceTimes
from benanza.evaluating.samples import SampleSource
from benanza.profiling.whole_model import Arrays
from benanza_backbone.errors import BenanzaError
from benanza_runner.arrays import Array
from benanza_runner.reasons import short_reason

FIRST_CALLS = 2
FIRST_S = 0.02
"""For so long caches and a GPU's clocks get used to a batch size."""

LEAST_CALLS = 11
ROUNDS = 4
SAMPLES = 64
PAUSE_S = 0.005
"""After so long, frameworks' threads have given up waiting for work."""


class Answered(NamedTuple):
    """What came of a batch, of each sample, and when each of its steps ended, in nanoseconds of
    `time.perf_counter_ns`. `ran_as` is the batch size that it ran at.
    """

    results: list[Any]
    ran_as: int
    started_ns: int
    prepared_ns: int
    ran_ns: int
    finished_ns: int


class Pipeline:
    """A model, and the samples that were loaded."""

    def __init__(self, model: BatchedModel, source: SampleSource) -> None:
        self.model = model
        self.source = source
        self._loaded: dict[int, Any] = {}

    def load(self, indices: Sequence[int]) -> None:
        """Keeps the samples with these indices in memory."""
        self._loaded |= dict(zip(indices, self.source.load(indices), strict=True))

    def unload(self, indices: Sequence[int]) -> None:
        """Forgets them."""
        for index in indices:
            self._loaded.pop(index, None)

    def answer(self, indices: Sequence[int]) -> Answered:
        """Runs loaded samples as one batch, of at most the model's largest size. Raises
        `BenanzaError` if the framework can't run it.
        """
        started = time.perf_counter_ns()
        inputs = [self.source.preprocess(self._loaded[index]) for index in indices]
        prepared = time.perf_counter_ns()
        outputs = run_batch(self.model, inputs)
        ran = time.perf_counter_ns()
        results = [self.source.postprocess(each) for each in outputs]
        finished = time.perf_counter_ns()
        size = self.model.at(len(indices)).batch
        return Answered(results, size, started, prepared, ran, finished)


def run_batch(model: BatchedModel, samples: Sequence[Arrays]) -> list[list[Array]]:
    """The outputs of each sample. Raises `BenanzaError` if the framework can't run them."""
    try:
        return model.run(samples)
    except BenanzaError:
        raise
    except Exception as error:  # what frameworks raise shares no narrower base
        raise BenanzaError(f"the model can't be run: {short_reason(str(error))}") from error


def service_times(pipeline: Pipeline, least_s: float) -> tuple[ServiceTimes, ...]:
    """How long batches take at each batch size: one after the other for so many seconds, and at
    least `LEAST_CALLS` times after the first ones, which don't count, and then as long and as often
    after pauses.

    Batches are of other samples each time, as under load: one sample over and over would be in the
    processor's caches. Sizes take turns, `ROUNDS` times, so that while the machine is slow it is so
    for all of them.
    """
    sizes = pipeline.model.sizes
    samples_in_turn = range(min(pipeline.source.count, SAMPLES))
    pipeline.load(samples_in_turn)
    indices = cycle(samples_in_turn)
    samples: dict[int, list[float]] = {size: [] for size in sizes}
    after_idle: dict[int, list[float]] = {size: [] for size in sizes}
    least = ceil(LEAST_CALLS / ROUNDS)
    for _ in range(ROUNDS):
        for size in sizes:
            _times_us(pipeline, size, indices, FIRST_CALLS, FIRST_S)
            samples[size] += _times_us(pipeline, size, indices, least, least_s / ROUNDS)
            after_idle[size] += _times_us(pipeline, size, indices, least, least_s / ROUNDS, PAUSE_S)
    return tuple(
        ServiceTimes(
            batch=size,
            median_us=float(np.median(samples[size])),
            samples_us=tuple(samples[size]),
            after_idle_us=tuple(after_idle[size]),
        )
        for size in sizes
    )


def _times_us(
    pipeline: Pipeline,
    size: int,
    indices: Iterator[int],
    least: int,
    least_s: float,
    pause_s: float = 0.0,
) -> list[float]:
    times: list[float] = []
    until = time.perf_counter() + least_s
    while len(times) < least or time.perf_counter() < until:
        if pause_s:
            time.sleep(pause_s)
        answered = pipeline.answer(list(islice(indices, size)))
        times.append((answered.finished_ns - answered.started_ns) / 1_000)
        del answered  # As under load, results are gone before the next batch needs memory.
    return times
