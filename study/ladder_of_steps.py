"""The rungs of decoders' steps, from the recording of them: a part of `study.ladder`'s page."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benanza_schemas.events.derivation import Quantised
from study.ladder_of_models import Rung, models, recorded, rungs

RECORDING = Path(__file__).parents[1] / "recordings" / "nvidia-h200-decoders.xz"

SEQUENCES = (1, 8, 32, 128)
PASTS: dict[Quantised, tuple[int, ...]] = {"": (1023, 4095, 16383), "int4": (1023,), "fp8": (1023,)}
"""Behind how many tokens steps with these weights were measured."""

DECODERS = (
    "deepseek-r1-distill-qwen-1.5b",
    "falcon3-1b",
    "granite-3.1-2b",
    "llama-3.1-8b",
    "llama-3.2-1b",
    "llama-3.2-3b",
    "mistral-7b-v0.3",
    "nemotron-mini-4b",
    "phi-4",
    "qwen2.5-7b",
    "qwen3-8b",
    "smollm2-1.7b",
)
SWEPT = "qwen2.5-0.5b"
SWEPT_PASTS = (1024, 2048, 4096, 8192)

UP_TO = (1024, 4096, 16384)
"""The columns: steps behind so many tokens, and more than those of the column before."""


StepPoint = tuple[str, Quantised, int]
"""A decoder, its weights, and behind how many tokens."""


OF_STEPS = """
## Decoders' steps

One new token of each sequence, of decoders of the zoo with four blocks, behind so many tokens on an
H200, from `nvidia-h200-decoders.xz`; and of one of them over a sweep of lengths. Each cell is how
many times the speed of light the bound is, as the median and from the least to the most. A step has
to read weights and caches, so it is nearer than other models. Attention to long caches is near the
memory's rate; products of few rows are far from the cache's: one row with 4,096 × 4,096 weights in
fp16 [took cuBLAS 15.9 µs](decoders.md#weights-of-4-and-8-bits), and 4.5 at that rate. Weights of 4
bits are unpacked on the way, for 128 sequences into memory.
"""


class DecoderStep(NamedTuple):
    """A decoder's step with these weights, for so many sequences behind so many tokens."""

    weights: Quantised
    sequences: int
    past: int
    rung: Rung


POINTS: tuple[StepPoint, ...] = (
    *((of, weights, past) for weights, pasts in PASTS.items() for past in pasts for of in DECODERS),
    *((SWEPT, "", past) for past in SWEPT_PASTS),
)


def steps(
    points: Iterable[StepPoint] = POINTS, sequences: tuple[int, ...] = SEQUENCES
) -> Iterator[DecoderStep]:
    """Those of these steps that the recording has whole, for so many sequences. Raises
    `BenanzaError` as `recorded` does.
    """
    known = recorded([RECORDING])
    for name, weights, past in points:
        address = f"zoo:decoder:{name}-step"
        for model in models([address], sequences, {"past": past}, weights):
            for rung in rungs(known, model):
                yield DecoderStep(weights, model.batch, past, rung)


def finding(found: Sequence[DecoderStep]) -> Iterator[str]:
    """What holds of all of them."""
    in_floats = [_ratio(step) for step in found if not step.weights]
    of_few_bits = [_ratio(step) for step in found if step.weights]
    below = sum(ratio < 1 for ratio in (*in_floats, *of_few_bits))
    if found:
        yield (
            f"- Of {len(found)} steps of decoders on an H200, {below or 'none'} is below its speed "
            f"of light. In fp16, bounds are {_range(in_floats)} times as long, and with weights in "
            f"fp8 or int4 {_range(of_few_bits)} times."
        )


def table(found: Iterable[DecoderStep]) -> Iterator[str]:
    """A row for each kind of weights and number of sequences."""
    yield (
        "| weights | sequences | steps | past of up to 1,024 | up to 4,096 | up to 16,384 | "
        "calls apart | held by |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    rows: dict[tuple[Quantised, int], list[DecoderStep]] = defaultdict(list)
    for step in found:
        rows[step.weights, step.sequences].append(step)
    for (weights, sequences), of in rows.items():
        held = Counter(step.rung.bound.limited_by for step in of)
        columns = [
            _range([_ratio(step) for step in of if least < step.past <= most])
            for least, most in pairwise((0, *UP_TO))
        ]
        apart = median((s.rung.bound.sequential_us or 0.0) / s.rung.apart_us for s in of)
        yield (
            f"| {weights or 'fp16'} | {sequences} | {len(of)} | {' | '.join(columns)} | "
            f"{apart:.1f} | {', '.join(f'{name} {count}' for name, count in held.most_common())} |"
        )


def _ratio(step: DecoderStep) -> float:
    bound = step.rung.bound
    return (bound.sequential_us or 0.0) / (bound.roofline_us or float("inf"))


def _range(ratios: Sequence[float]) -> str:
    if not ratios:
        return "–"
    return f"{median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
