"""The rungs of the ladder over the zoo, from the recordings of GPUs:

    python -m study.ladder > docs/results/ladder.md

It needs no GPU, and takes about five minutes of the processor.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benanza.publishing.zoo_models import zoo
from benanza_schemas.layer import Precision
from study.ladder_of_estimates import ESTIMATES, estimates, estimates_known, estimates_off
from study.ladder_of_models import Rung, TimedCall, models, recorded, rungs
from study.ladder_of_steps import OF_STEPS, DecoderStep, finding, steps, table

RECORDINGS = Path(__file__).parents[1] / "recordings"
GPUS = {
    "H200": tuple(f"nvidia-h200{of}" for of in ("", "-ceilings", "-zoo", "-zoo-b32", "-zoo-tf32")),
    "H100": ("nvidia-h100", "nvidia-h100-ceilings", "nvidia-h100-zoo"),
}
"""The recordings of each GPU."""

BATCHES = (1, 32)

NEAR = 3
"""A bound that is at most so many times its speed of light is near."""


class Case(NamedTuple):
    """Models on a GPU at a precision and a batch size."""

    gpu: str
    precision: Precision
    batch: int

    @property
    def title(self) -> str:
        """As it stands in tables."""
        return f"{self.gpu}, {self.precision}, batch {self.batch}"


Found = dict[Case, list[Rung]]

LARGE = Case("H200", "fp16", 32)
CASES = (
    LARGE,
    Case("H200", "fp16", 1),
    Case("H200", "tf32", 1),
    Case("H200", "tf32", 32),
    Case("H200", "fp32", 1),
    Case("H200", "fp32", 32),
    Case("H200", "bf16", 1),
    Case("H200", "bf16", 32),
    Case("H100", "fp16", 1),
    Case("H100", "fp32", 1),
)
WHOLE_ZOO = CASES[:3]
"""The cases of which more than the models of `onnx` were recorded on an H200."""

KINDS = {
    "convolutions": "convolutions",
    "matrices": "products of matrices",
    "both": "both",
}

BEGIN = """
`python -m study.ladder > docs/results/ladder.md` writes this page from the
[recordings](../../recordings/README.md). Models are those of `benanza zoo --all` whose layers were
all measured there; bounds are sequential, of all layers, with fusion. The
[speed of light](../method.md#the-speed-of-light) and the
[attainable estimate](../gpu.md#bound-attainable-estimate-witness) are explained elsewhere.

## Bounds above their speeds of light

A model is one of *convolutions* or *products of matrices* if these have two thirds of its
operations. *Bound / light* is how many times the speed of light the bound is, as the median and,
in brackets, from the least to the most. Three columns say where the rest comes from: how many
times something else the bound is.

- *in full*: the speed of light, if a convolution took all the operations of its definition. It
  counts the fewest that are known, those of a map as one tile, though no library computes it so.
- *in steps*: the sum of those of the products in full, one after the other. The speed of light of a
  model adds up reads, operations and starts apart, since a chip may read what a later product needs
  while it computes.
- *calls apart*: the sum of the calls' own speeds of light, each of which reads and writes all that
  passes between calls, starts once, and has the fewest operations. What is left is what better
  kernels could save without more fusion.
"""

WHY = """
An aim was a median of 3 at batch 32 for models of convolutions and for encoders. Plain encoders and
decoders reach it: their products are large. Others don't, and what would lift their limit can't be
proven:

- **Convolutions** are counted as Winograd's minimal algorithm does them with one tile for each map.
  Its transforms count nothing: they are additions, of which no least number is known. Nor is it
  known that no such algorithm is exact enough. VGG is at 1.5 times its speed of light in full, and
  at 12.7 so. But with all operations it would be no limit: cuDNN has kernels with fewer.
- **Values between layers** may stay on the chip. {passed}
  An H200 has 64 MB of registers and shared memory, and 63 MB in its last cache. So a batch can be
  computed image by image, and what any order has to move (Huang and others, "Mind the Gap", 2024)
  is nothing.
- **Steps** may overlap: images don't depend on each other, so that a product of one is computed, or
  its weights are read, while another one waits. What is left is the longest chain of one image,
  which the limit has, at the shortest start that was measured.
- **What is no product** works on values that may be on the chip, and other units than those of
  products may do it meanwhile: their rate was not measured by itself. Where such layers take most
  of the time, as in mamba2-small, the speed of light is far away.
- **Windows by channel**, and products of few channels, fill no Tensor Core as they are computed.
  That no way of writing them does isn't proven, so they count at the full rate."""

KIND_OF_CALL = """
## Calls above their speeds of light

The calls of these bounds: how many times its own speed of light a call takes, as the median, and in
brackets how many times all of a kind together do.
"""


def main() -> None:
    """Prints the page."""
    print(page(_found(), list(steps())))


def page(found: Found, of_steps: Sequence[DecoderStep]) -> str:
    """The page of these cases, and of these steps of decoders."""
    return "\n".join(
        (
            "# The ladder over the zoo\n",
            *_findings(found),
            *finding(of_steps),
            *estimates_known({case.title: found[case] for case in WHOLE_ZOO if case in found}),
            estimates_off([rung for of in found.values() for rung in of]),
            BEGIN,
            *_bounds(found),
            WHY.format(passed=_passed(found)),
            OF_STEPS,
            *table(of_steps),
            KIND_OF_CALL,
            *_calls(found),
            ESTIMATES,
            *estimates({case.title: of for case, of in found.items()}),
        )
    )


def _found() -> Found:
    known = {gpu: recorded(RECORDINGS / f"{of}.xz" for of in names) for gpu, names in GPUS.items()}
    found: Found = {case: [] for case in CASES}
    names = [entry.model for entry in zoo(exported=True).models]
    for batch in BATCHES:
        for model in models(names, (batch,)):
            for gpu, of in known.items():
                for rung in rungs(of, model):
                    case = Case(gpu, rung.bound.precision, batch)
                    if case in found:
                        found[case].append(rung)
    return found


def _findings(found: Found) -> Iterator[str]:
    everything = [rung for of in found.values() for rung in of]
    below = sum(_light_us(rung) > _bound_us(rung) for rung in everything)
    said = f"{below or 'none'} {'are' if below > 1 else 'is'} below the speed of light"
    yield f"- Of {len(everything):,} bounds, {said}."
    large = found.get(LARGE, [])
    matrices = [rung for rung in large if rung.kind == "matrices"]
    convolutions = [rung for rung in large if rung.kind == "convolutions"]
    if matrices and convolutions:
        yield (
            f"- At batch {LARGE.batch} in fp16 on an H200, bounds of models of products of "
            f"matrices are {_median(matrices, _ratio)} times their speeds of light in the median, "
            f"and those of models of convolutions {_median(convolutions, _ratio)} times; "
            f"{_median(convolutions, _in_full)} if convolutions took all of their operations. "
            f"{sum(_ratio(rung) <= NEAR for rung in matrices)} of {len(matrices)} and "
            f"{sum(_ratio(rung) <= NEAR for rung in convolutions)} of {len(convolutions)} are at "
            f"most {NEAR} times as long."
        )


def _bounds(found: Found) -> Iterator[str]:
    yield (
        "| on | models of | models | bound / light | in full | in steps | calls apart | held by |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for case, rungs_there in found.items():
        for kind, called in KINDS.items():
            of = [rung for rung in rungs_there if rung.kind == kind]
            if not of:
                continue
            ratios = [_ratio(rung) for rung in of]
            held = Counter(rung.bound.limited_by for rung in of)
            yield (
                f"| {case.title} | {called} | {len(of)} | {median(ratios):.1f} "
                f"({min(ratios):.1f} to {max(ratios):.1f}) | {_median(of, _in_full)} | "
                f"{_median(of, _in_steps)} | {_median(of, _apart)} | "
                f"{', '.join(f'{name} {count}' for name, count in held.most_common())} |"
            )


def _passed(found: Found) -> str:
    """How much a product reads and writes besides its constants, for one of the batch."""
    passed = [rung.passed_bytes / 1e6 for rung in found.get(LARGE, [])]
    return (
        f"For one of a batch of {LARGE.batch}, no product\n  of these {len(passed)} models reads "
        f"and writes more than {max(passed, default=0):.0f} MB in fp16 besides its weights."
    )


def _calls(found: Found) -> Iterator[str]:
    yield f"| on | {' | '.join(_CALLS)} |"
    yield "|---" * (len(_CALLS) + 1) + "|"
    for case, rungs_there in found.items():
        calls = [call for rung in rungs_there for call in rung.calls if call.light_us]
        kinds = [[call for call in calls if _kind(call) == kind] for kind in _CALLS]
        yield f"| {case.title} | {' | '.join(map(_ratios, kinds))} |"


_CALLS = {
    "with a convolution": ("Conv",),
    "with a product of matrices": ("MatMul", "Gemm", "Attention", "Einsum"),
    "with a pooling": ("Pool",),
    "others": ("",),
}
"""What the name of an operator contains that puts a call into each; the first one counts."""


def _kind(call: TimedCall) -> str:
    return next(
        kind
        for kind, parts in _CALLS.items()
        if any(part in op for part in parts for op in call.ops)
    )


def _ratios(calls: Sequence[TimedCall]) -> str:
    if not calls:
        return ""
    whole = math.fsum(call.us for call in calls) / math.fsum(call.light_us for call in calls)
    return f"{median(call.us / call.light_us for call in calls):.1f} ({whole:.1f})"


def _bound_us(rung: Rung) -> float:
    return rung.bound.sequential_us or 0.0


def _light_us(rung: Rung) -> float:
    return rung.bound.roofline_us or 0.0


def _ratio(rung: Rung) -> float:
    return _bound_us(rung) / (_light_us(rung) or math.inf)


def _in_full(rung: Rung) -> float:
    return _bound_us(rung) / (rung.in_full_us or math.inf)


def _in_steps(rung: Rung) -> float:
    return _bound_us(rung) / (rung.in_steps_us or math.inf)


def _apart(rung: Rung) -> float:
    return _bound_us(rung) / (rung.apart_us or math.inf)


def _median(of: Iterable[Rung], ratio: Callable[[Rung], float]) -> str:
    return f"{median(map(ratio, of)):.1f}"


if __name__ == "__main__":
    main()
