"""Is the sequential bound below what ONNX Runtime takes for a whole model, and near it?

For each model of the zoo, and for models exported by PyTorch, two bounds are divided by ONNX
Runtime's latency at the same thread count: the bound with fusion by that with default options,
and the bound without fusion by that with graph optimisations off. The latter two differ in more
than their overhead: only the bound has convolutions in blocks of channels. Latencies are measured
before and after the layers. Where these two differ, something else was at work on the machine, and
the model has another round. DLBricks (ICPE 2020) reached a geometric mean of 0.92 with a worst of
0.83 for layers as the framework runs them.

`python -m benchmarks.end_to_end MODEL ...` takes other models.
"""

import gzip
import multiprocessing
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import benanza
from benanza.profiling.whole_model import whole_model
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import zoo_names
from benanza_runner.cpu import available_cores
from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnxruntime.session import CPU, Session

PUBLISHED_MEAN, PUBLISHED_WORST = 0.92, 0.83
ROUNDS = 4
QUIET = 0.05
"""The end-to-end latencies around a quiet round differ by no more than this part."""

EXPORTS = Path(__file__).parents[1] / "tests/data/exported"
EXPORTED = (
    "timm-convnext_atto",
    "timm-mixer_s32_224",
    "timm-regnety_002",
    "timm-vit_tiny_patch16_224",
    "torchvision-efficientnet_b0",
    "torchvision-mobilenet_v3_small",
    "torchvision-resnet18",
    "torchvision-shufflenet_v2_x1_0",
    "torchvision-swin_t",
    "transformers-bert",
    "transformers-gpt2",
    "transformers-whisper-encoder",
)


class Latencies(NamedTuple):
    """Of a whole model, in microseconds: with ONNX Runtime's default options, and with graph
    optimisations off.
    """

    default_us: float
    unoptimised_us: float


class Round(NamedTuple):
    """Bounds with fusion and without it in microseconds, and the latencies around them."""

    fused_us: float
    layers_us: float
    before: Latencies
    after: Latencies

    def default_us(self) -> float:
        """The latency with default options, the mean of the two."""
        return (self.before.default_us + self.after.default_us) / 2

    def unoptimised_us(self) -> float:
        """The latency with optimisations off, the mean of the two."""
        return (self.before.unoptimised_us + self.after.unoptimised_us) / 2

    def drift(self) -> float:
        """By what part the latencies with default options differ."""
        return abs(self.after.default_us - self.before.default_us) / self.default_us()


def latencies(model: str) -> Latencies:
    """The medians of calls of the whole model."""
    whole = whole_model(fetch(model, Limits()).content)
    medians_us = []
    for optimised in (True, False):
        session = Session(
            whole.proto, whole.weights, whole.inputs, CPU, available_cores(), optimised=optimised
        )
        medians_us.append(summary(sorted(collect(session.call, Rule()).calls_us)).median)
        del session
    return Latencies(*medians_us)


def measured(model: str) -> Round:
    """One round: the whole model, its layers afresh, the whole model."""
    before = _apart(model)
    with tempfile.TemporaryDirectory(prefix="benanza-bench-") as data:
        fused_us, layers_us = (_bound_us(model, fusion, data) for fusion in (True, False))
    return Round(fused_us, layers_us, before, _apart(model))


def _bound_us(model: str, fusion: bool, data: str) -> float:
    (bound,) = benanza.lower_bound(model, fusion=fusion, data=data).bounds
    if bound.partial or bound.sequential_us is None:
        raise SystemExit(f"the bound of {model} is partial: {bound.coverage.missing}")
    return bound.sequential_us


def _apart(model: str) -> Latencies:
    # In a process of its own, so that threads and memory are given back.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(latencies, (model,))


def quietest(model: str) -> Round:
    """The first quiet round, or, if there is none, the quietest."""
    rounds: list[Round] = []
    while len(rounds) < ROUNDS:
        rounds.append(measured(model))
        if rounds[-1].drift() <= QUIET:
            break
    return min(rounds, key=Round.drift)


def main(models: Sequence[str] = ()) -> None:
    """Prints a row per model, and the geometric mean and the extremes of the ratios."""
    with tempfile.TemporaryDirectory(prefix="benanza-bench-") as folder:
        paths = [*models] or [f"zoo:{name}" for name in zoo_names()] + [
            _unpacked(EXPORTS / f"{name}.onnx.gz", Path(folder)) for name in EXPORTED
        ]
        print(
            f"{'':<32}{'with fusion':>12}{'default':>10}{'':>8}"
            f"{'without':>12}{'not optimised':>15}{'':>8}{'drift':>8}"
        )
        ratios = [_row(path) for path in paths]
    mean = statistics.geometric_mean(ratios)
    print(
        f"bound / default options: geometric mean {mean:.3f}, {min(ratios):.3f} to "
        f"{max(ratios):.3f} (published: mean {PUBLISHED_MEAN}, worst {PUBLISHED_WORST}): "
        f"{'no bound is above' if max(ratios) <= 1 else 'SOME BOUND IS ABOVE'} ONNX Runtime"
    )


def _unpacked(path: Path, folder: Path) -> str:
    file = folder / path.stem
    file.write_bytes(gzip.decompress(path.read_bytes()))
    return str(file)


def _row(model: str) -> float:
    best = quietest(model)
    fused, layers = best.fused_us / best.default_us(), best.layers_us / best.unoptimised_us()
    print(
        f"{Path(model).stem:<32}{best.fused_us / 1e3:>9.2f} ms{best.default_us() / 1e3:>10.2f}"
        f"{fused:>8.3f}{best.layers_us / 1e3:>9.2f} ms{best.unoptimised_us() / 1e3:>15.2f}"
        f"{layers:>8.3f}{best.drift():>8.1%}",
        flush=True,
    )
    return fused


if __name__ == "__main__":
    main(sys.argv[1:])
