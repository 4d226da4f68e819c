"""Predicted bounds against measured ones, over the recordings:

    python -m benchmarks.predicted > docs/results/predicted.md

It needs no GPU, and takes five minutes of the processor.
"""

import math
from collections.abc import Sequence
from statistics import median, quantiles

from benanza.predicting.specification import known_sheets
from benanza_analyzer.prediction.error_bars import OTHER_CAPABILITY, SAME_CAPABILITY
from benanza_analyzer.prediction.gpu import GpuSpecification
from benanza_schemas.layer import Precision
from benchmarks.predicted.page import END, HELD, METHOD, OTHER, SAME
from benchmarks.predicted.recorded import (
    H100,
    H200,
    SHORT,
    V100,
    Compared,
    Recorded,
    by_measured_ceilings,
    compared,
    compared_in_common,
    read_recorded,
    with_launches,
)

HELD_OUT = (
    "timm:convnextv2_nano",
    "timm:cspresnet50",
    "timm:levit_192",
    "timm:mixer_s16_224",
    "torchvision:efficientnet_v2_s",
    "torchvision:mobilenet_v2",
    "torchvision:resnet101",
    "torchvision:resnet34",
    "torchvision:shufflenet_v2_x1_0",
    "torchvision:squeezenet1_1",
    "torchvision:vgg11",
    "torchvision:vgg13",
    "torchvision:vgg19",
    "transformers:distilbert-base",
    "transformers:qwen3-small",
)
"""Drawn at random of those that an H100 has all layers of. No figure was chosen by them."""

BY_SHEET, BY_CEILINGS, WITH_LAUNCHES = "data sheet", "measured ceilings", "and shortest call"

Row = tuple[str, str, Precision, str, list[Compared]]
"""From which GPU, to which, at which precision, by which figures; and the models."""


def main() -> None:
    """Prints the page."""
    recorded = read_recorded()
    same = list(_same_capability(recorded))
    other = list(_other_capability(recorded))
    fitted = [(*row[:4], [m for m in row[4] if m.model not in HELD_OUT]) for row in same]
    held = {row[3]: [m for m in row[4] if m.model in HELD_OUT] for row in _to_h100(same)}
    print("# Predicted bounds\n")
    print("\n".join(_findings(fitted, held, other)))
    print(METHOD)
    print(SAME)
    print("\n".join(_summary(fitted, SAME_CAPABILITY.factor)))
    print(f"\nNine of ten are within {_nine_of_ten(fitted):.3f} times of the measured.")
    print(HELD)
    print("\n".join(_models(held)))
    print(OTHER)
    print("\n".join(_summary(other, OTHER_CAPABILITY.factor)))
    known = [row for row in other if row[3] != BY_SHEET]
    print(f"\nWith the shortest call, nine of ten are within {_nine_of_ten(known):.2f} times.\n")
    print("\n".join(_each(known)))
    print(END)


def _same_capability(recorded: Recorded) -> list[Row]:
    precisions: Sequence[Precision] = ("fp16", "fp32")
    return [
        (source, target, precision, figures, compared(recorded, source, gpu, precision))
        for source, target in ((H200, H100), (H100, H200))
        for precision in precisions
        for figures, gpu in (
            (BY_SHEET, known_sheets()[target]),
            (BY_CEILINGS, by_measured_ceilings(recorded, target)),
        )
    ]


def _other_capability(recorded: Recorded) -> list[Row]:
    pairs = ((H200, V100), (V100, H200), (H100, V100), (V100, H100))
    return [
        (source, target, "fp32", figures, compared_in_common(recorded, source, gpu))
        for source, target in pairs
        for figures, gpu in _with_and_without(recorded, target)
    ]


def _with_and_without(recorded: Recorded, target: str) -> list[tuple[str, GpuSpecification]]:
    return [
        (BY_SHEET, known_sheets()[target]),
        (f"{BY_SHEET} {WITH_LAUNCHES}", with_launches(recorded, target)),
    ]


def _to_h100(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row[:3] == (H200, H100, "fp16")]


def _error(model: Compared) -> float:
    """How far off it is, whichever way: 0.1 for 10% more, or as much less."""
    return math.exp(abs(math.log(model.ratio))) - 1


def _unscaled_error(model: Compared) -> float:
    return math.exp(abs(math.log(model.unscaled))) - 1


def _covered(models: Sequence[Compared], factor: float) -> str:
    held = sum(_error(model) <= factor - 1 for model in models)
    return f"{held} of {len(models)}"


def _nine_of_ten(rows: Sequence[Row]) -> float:
    errors = [_error(model) for row in rows for model in row[4]]
    return 1 + quantiles(errors, n=10)[-1]


def _findings(
    fitted: Sequence[Row], held: dict[str, list[Compared]], other: Sequence[Row]
) -> list[str]:
    by_sheet, by_ceilings = held[BY_SHEET], held[BY_CEILINGS]
    unscaled = median(map(_unscaled_error, by_sheet))
    known = [m for row in other if row[3] != BY_SHEET for m in row[4]]
    unknown = [m for row in other if row[3] == BY_SHEET for m in row[4]]
    factor = SAME_CAPABILITY.factor
    return [
        f"- An H100 predicted from an H200, 15 models in fp16 that nothing was chosen by: off by "
        f"{median(map(_error, by_sheet)):.1%} in the median by its data sheet, by "
        f"{median(map(_error, by_ceilings)):.1%} by ceilings that were measured; at most "
        f"{max(map(_error, (*by_sheet, *by_ceilings))):.0%}.",
        f"- The bar, {factor:g} times either way, holds {_covered(by_sheet, factor)} and "
        f"{_covered(by_ceilings, factor)} of them.",
        f"- Two such GPUs differ little: without any scaling the error would be {unscaled:.1%} in "
        f"the median, and {max(map(_unscaled_error, by_sheet)):.0%} at most, where weights come "
        "from the memory.",
        f"- Between a V100 of 2019 and these two, in fp32, the error is "
        f"{median(map(_error, known)):.0%} in the median and "
        f"{max(map(_error, known)):.0%} at most, if the shortest call of the target is known.",
        f"- From data sheets alone it is {median(map(_error, unknown)):.0%} there: they don't say "
        "how long a launch takes, and the V100 was timed in another way.",
    ]


def _summary(rows: Sequence[Row], factor: float) -> list[str]:
    lines = [
        "| from | to | precision | by | models | median error | largest | within the bar | "
        "unscaled, median | largest |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for source, target, precision, figures, models in rows:
        errors, unscaled = list(map(_error, models)), list(map(_unscaled_error, models))
        lines.append(
            f"| {SHORT[source]} | {SHORT[target]} | {precision} | {figures} | {len(models)} | "
            f"{median(errors):.1%} | {max(errors):.0%} | {_covered(models, factor)} | "
            f"{median(unscaled):.1%} | {max(unscaled):.0%} |"
        )
    return lines


def _models(held: dict[str, list[Compared]]) -> list[str]:
    lines = [
        "| model | H200 µs | predicted by data sheet µs | by ceilings µs | H100 µs | error by data "
        "sheet | by ceilings |",
        "|---|---|---|---|---|---|---|",
    ]
    for by_sheet, by_ceilings in zip(held[BY_SHEET], held[BY_CEILINGS], strict=True):
        lines.append(
            f"| {by_sheet.model} | {by_sheet.learned_us:.1f} | {by_sheet.predicted_us:.1f} | "
            f"{by_ceilings.predicted_us:.1f} | {by_sheet.measured_us:.1f} | "
            f"{by_sheet.ratio - 1:+.1%} | {by_ceilings.ratio - 1:+.1%} |"
        )
    return lines


def _each(rows: Sequence[Row]) -> list[str]:
    """How many times as long as measured each model is predicted to take, by pair of GPUs."""
    names = list(dict.fromkeys((m.model, m.batch) for row in rows for m in row[4]))
    ratios = [{(m.model, m.batch): m.ratio for m in row[4]} for row in rows]
    titles = " | ".join(f"{SHORT[row[0]]} to {SHORT[row[1]]}" for row in rows)
    lines = [f"| predicted / measured | batch | {titles} |", "|---|---|" + "---|" * len(rows)]
    for model, batch in names:
        cells = (of.get((model, batch)) for of in ratios)
        shown = " | ".join("-" if cell is None else f"{cell:.2f}" for cell in cells)
        lines.append(f"| {model} | {batch} | {shown} |")
    return lines


if __name__ == "__main__":
    main()
