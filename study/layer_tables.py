"""What holds of the zoo's layers, as tables in Markdown."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from benchmarks.pytorch.cells import line
from study.population import (
    Composition,
    Repetition,
    Similar,
    by_operator,
    growth,
    nearest,
    uniqueness,
)

LARGEST = 20
"""So many operators are shown, those with most layers."""

ONNX = "onnx"
"""The package of models without one in their names."""


def layer_tables(models: Sequence[Composition]) -> list[str]:
    """The lines of the section. There must be at least two models."""
    similar = nearest(models)
    return [
        "## Layers",
        "",
        "A layer is *unique* if no layer before it computes the same: operator, attributes, shapes",
        "and types. Each is measured once.",
        "",
        *_packages(models),
        "",
        "How that grows, as medians over 100 random orders in which the models arrive:",
        "",
        *_growth(models),
        "",
        f"The {LARGEST} operators with most layers:",
        "",
        *_operators(by_operator(models)[:LARGEST]),
        "",
        "How much of a model is known already, where the other model that has most of its unique",
        "layers was there before:",
        "",
        *_similarity(similar),
    ]


def package_of(model: str) -> str:
    """The package that a model of the zoo is from."""
    package, colon, _ = model.partition(":")
    return package if colon else ONNX


def _packages(models: Sequence[Composition]) -> list[str]:
    packages = dict.fromkeys(package_of(model.model) for model in models)
    rows = [(name, [m for m in models if package_of(m.model) == name]) for name in packages]
    lines = [
        "| models of | models | layers | unique | share | share within a model, median |",
        "|---|---|---|---|---|---|",
    ]
    for name, these in (*rows, ("all", list(models))):
        total = uniqueness(these)
        within = median(uniqueness([model]).share for model in these)
        cells = name, str(len(these)), f"{total.layers:,}", f"{total.unique:,}"
        lines.append(line([*cells, f"{total.share:.1%}", f"{within:.0%}"]))
    return lines


def _growth(models: Sequence[Composition]) -> list[str]:
    doublings = [2**power for power in range(len(models).bit_length())]
    numbers = [*(number for number in doublings if number < len(models)), len(models)]
    lines = [
        "| models | unique of all their layers | of the last one's unique layers, new |",
        "|---|---|---|",
    ]
    for point in growth(models, numbers):
        lines.append(line([str(point.models), f"{point.share:.1%}", f"{point.new:.0%}"]))
    return lines


def _operators(repetitions: Iterable[Repetition]) -> list[str]:
    lines = ["| operator | layers | unique | share |", "|---|---|---|---|"]
    for repetition in repetitions:
        share = f"{repetition.unique / repetition.layers:.0%}"
        lines.append(
            line([repetition.op, f"{repetition.layers:,}", f"{repetition.unique:,}", share])
        )
    return lines


def _similarity(pairs: Sequence[Similar]) -> list[str]:
    lines = ["| of its unique layers, another model has | models |", "|---|---|"]
    edges = (0.0, 0.25, 0.5, 0.75, 1.0)
    for least, below in pairwise(edges):
        count = sum(least <= pair.shared < below for pair in pairs)
        lines.append(line([f"{least:.0%} to {below:.0%}", str(count)]))
    same = [pair for pair in pairs if pair.shared == 1.0]
    lines.append(line(["all", str(len(same))]))
    names = ", ".join(f"{pair.model} (in {pair.nearest})" for pair in same)
    return [*lines, "", f"All of them: {names or 'none'}."]
