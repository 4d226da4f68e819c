"""Is the sequential bound near what a whole model takes?

For each model of the zoo the sum of its layers' latencies, each measured alone, is divided by
ONNX Runtime's latency for the whole model with graph optimisations off, at the same thread
count, measured before and after. Where these two differ, something else was at work on the
machine, and the model has another round. DLBricks (ICPE 2020) reached a geometric mean of 0.92
with a worst of 0.83 in this way, at the granularity of layers.
"""

import math
import multiprocessing
import statistics
import tempfile
from typing import NamedTuple

import benanza
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import zoo_names
from benanza_runner.cpu import available_cores
from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnxruntime.session import CPU, Session
from benchmarks.whole_model import whole_model

PUBLISHED_MEAN, PUBLISHED_WORST = 0.92, 0.83
ROUNDS = 4
QUIET = 0.05
"""The end-to-end latencies around a quiet round differ by no more than this part."""


class Round(NamedTuple):
    """A bound and its spread, and the end-to-end latencies around it, in microseconds."""

    bound_us: float
    spread_us: float
    before_us: float
    after_us: float

    def whole_us(self) -> float:
        """The end-to-end latency, the mean of the two."""
        return (self.before_us + self.after_us) / 2

    def drift(self) -> float:
        """By what part the end-to-end latencies differ."""
        return abs(self.after_us - self.before_us) / self.whole_us()


def end_to_end_us(name: str) -> float:
    """The median of calls of the whole model, in microseconds."""
    proto, weights, inputs = whole_model(fetch(f"zoo:{name}", Limits()).content)
    session = Session(proto, weights, inputs, CPU, available_cores())
    return summary(sorted(collect(session.call, Rule()).calls_us)).median


def measured(name: str) -> Round:
    """One round: the whole model, its layers afresh, the whole model."""
    before = _apart(name)
    with tempfile.TemporaryDirectory(prefix="benanza-bench-") as data:
        (bound,) = benanza.lower_bound(f"zoo:{name}", fusion=False, data=data).bounds
    if bound.partial or bound.sequential_us is None or bound.sequential_spread_us is None:
        raise SystemExit(f"the bound of {name} is partial: {bound.coverage.missing}")
    return Round(bound.sequential_us, bound.sequential_spread_us, before, _apart(name))


def _apart(name: str) -> float:
    # In a process of its own, so that threads and memory are given back.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(end_to_end_us, (name,))


def quietest(name: str) -> Round:
    """The first quiet round, or, if there is none, the quietest."""
    rounds: list[Round] = []
    while len(rounds) < ROUNDS:
        rounds.append(measured(name))
        if rounds[-1].drift() <= QUIET:
            break
    return min(rounds, key=Round.drift)


def main() -> None:
    """Prints a row per model, and the geometric mean and the worst of the ratios."""
    ratios = []
    print(f"{'model':<14}{'bound ms':>10}{'±':>7}{'end to end ms':>15}{'drift':>8}{'ratio':>8}")
    for name in zoo_names():
        found = quietest(name)
        ratios.append(found.bound_us / found.whole_us())
        print(
            f"{name:<14}{found.bound_us / 1e3:>10.2f}{found.spread_us / 1e3:>7.2f}"
            f"{found.whole_us() / 1e3:>15.2f}{found.drift():>8.1%}{ratios[-1]:>8.3f}",
            flush=True,
        )
    mean = statistics.geometric_mean(ratios)
    worst = max(ratios, key=lambda ratio: abs(math.log(ratio)))
    near = abs(math.log(mean)) <= -math.log(PUBLISHED_MEAN)
    close = abs(math.log(worst)) <= -math.log(PUBLISHED_WORST)
    print(
        f"geometric mean {mean:.3f} (published {PUBLISHED_MEAN}), worst {worst:.3f} "
        f"(published {PUBLISHED_WORST}): {'as close' if near and close else 'NOT as close'}"
    )
