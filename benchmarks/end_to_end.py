"""Is the sequential bound near what a whole model takes?

For each model of the zoo the sum of its layers' latencies, each measured alone, is divided by
ONNX Runtime's latency for the whole model with graph optimisations off, at the same thread
count, measured right after. DLBricks (ICPE 2020) reached a geometric mean of 0.92 with a
worst of 0.83 in this way, at the granularity of layers.
"""

import math
import multiprocessing
import statistics
import tempfile

import benanza
from benanza_ingest.limits import Limits
from benanza_ingest.source import fetch
from benanza_ingest.zoo import zoo_names
from benanza_runner.cpu import available_cores
from benanza_runner.onnxruntime_session import CPU, Session
from benanza_runner.sampling import collect
from benanza_runner.stopping import Rule, summary
from benchmarks.whole_model import whole_model

PUBLISHED_MEAN, PUBLISHED_WORST = 0.92, 0.83


def end_to_end_us(name: str) -> tuple[float, float]:
    """Median and interquartile range of one call of the whole model, in microseconds."""
    proto, weights, inputs = whole_model(fetch(f"zoo:{name}", Limits()).content)
    session = Session(proto, weights, inputs, CPU, available_cores())
    found = summary(sorted(collect(session.call, Rule()).calls_us))
    return found.median, found.iqr


def main() -> None:
    """Prints a row per model, and the geometric mean and the worst of the ratios."""
    ratios = []
    print(f"{'model':<14}{'bound ms':>10}{'±':>7}{'end to end ms':>15}{'±':>7}{'ratio':>8}")
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="benanza-bench-") as data:
        for name in zoo_names():
            bounds = benanza.lower_bound(f"zoo:{name}", fusion=False, data=data)
            (bound,) = bounds.bounds
            if bound.partial:
                raise SystemExit(f"the bound of {name} is partial: {bound.coverage.missing}")
            with spawn.Pool(1) as pool:  # a process of its own: threads and memory are given back
                whole, spread = pool.apply(end_to_end_us, (name,))
            ratio = bound.sequential_us / whole
            ratios.append(ratio)
            print(
                f"{name:<14}{bound.sequential_us / 1e3:>10.2f}"
                f"{bound.sequential_spread_us / 1e3:>7.2f}{whole / 1e3:>15.2f}"
                f"{spread / 1e3:>7.2f}{ratio:>8.3f}",
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
