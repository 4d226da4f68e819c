"""A published bound beside the bound of the same model from the imported results."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benanza_analyzer.models.accounting import PAPER
from benanza_ingest.extracted import ExtractedLayer
from benanza_schemas.events import LayerMeasured
from benanza_schemas.layer import Precision
from benanza_schemas.times import is_timed, time_us
from study.paper2020.clone import PublishedLayer

KINDS: Mapping[str, str] = {
    "Conv": "Conv",
    "BatchNormalization": "BatchNorm",
    "Dropout": "Dropout",
    "Softmax": "Softmax",
    **dict.fromkeys(("MaxPool", "AveragePool"), "Pooling"),
    **dict.fromkeys(("Gemm", "MatMul"), "Gemm"),
    **dict.fromkeys(("Relu", "LeakyRelu", "PRelu", "Sigmoid", "Tanh"), "Relu"),
    **dict.fromkeys(("Add", "Sum", "Sub", "Mul", "Div", "Min", "Max"), "ElementWise"),
}
"""The published types of the operators that the accounting `paper` counts."""

CUT_NS = 2
"""Published bounds cut the time of each call to nanoseconds, and a layer has at most two calls."""


class Difference(NamedTuple):
    """Layers of one type that are in one of two bounds only, with their times in nanoseconds."""

    kind: str
    published: tuple[int, ...]
    here: tuple[int, ...]


class BesidePublished(NamedTuple):
    """Two bounds of a model, layer by layer. `alike` layers are in both, with the same time."""

    alike: int
    differences: tuple[Difference, ...]


class CountedLayers(NamedTuple):
    """The layers of a model that the accounting `paper` counts, as they would be published.

    `missing` is how many of them have no time, and are not among them; `other_mode` is how many
    have the time of a mode that computes something else.
    """

    layers: tuple[PublishedLayer, ...]
    missing: int
    other_mode: int


OTHER_MODES: Mapping[str, tuple[str, ...]] = {
    "BatchNormalization": ("PER_ACTIVATION",),
    "Relu": ("CLIPPED_RELU",),
    "MaxPool": ("AVERAGE",),
    "AveragePool": (" MAX",),
}
"""Modes of the calls that compute something else than the operator."""


def counted(
    layers: Iterable[ExtractedLayer], events: Iterable[LayerMeasured], precision: Precision
) -> CountedLayers:
    """What the accounting `paper` counts of a model with these measurements."""
    best = {
        event.fingerprint: min(
            (variant for variant in event.variants if not variant.failure), key=time_us
        )
        for event in events
        if event.precision == precision and is_timed(event)
    }
    meant = [layer for layer in layers if layer.op in PAPER and layer.kind != "view"]
    timed = [(layer.op, best[layer.fingerprint]) for layer in meant if layer.fingerprint in best]
    return CountedLayers(
        tuple(
            PublishedLayer(KINDS[op], round(time_us(variant)[0] * 1000)) for op, variant in timed
        ),
        len(meant) - len(timed),
        sum(
            any(mode in variant.algorithm for mode in OTHER_MODES.get(op, ()))
            for op, variant in timed
        ),
    )


def beside(published: Sequence[PublishedLayer], here: Sequence[PublishedLayer]) -> BesidePublished:
    """Compares two bounds. Layers have no common names: those of a type and a time are alike, up to
    `CUT_NS`.
    """
    alike, differences = 0, []
    theirs, own = _by_kind(published), _by_kind(here)
    for kind in sorted(theirs.keys() | own.keys()):
        lacking, more = _unpaired(theirs.get(kind, []), own.get(kind, []))
        alike += len(own.get(kind, [])) - len(more)
        if lacking or more:
            differences.append(Difference(kind, lacking, more))
    return BesidePublished(alike, tuple(differences))


def _by_kind(layers: Sequence[PublishedLayer]) -> dict[str, list[int]]:
    times_ns = defaultdict(list)
    for layer in sorted(layers):
        times_ns[layer.kind].append(layer.ns)
    return dict(times_ns)


def _unpaired(
    first: Sequence[int], second: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What is left of two ascending sequences when equal numbers are paired, up to `CUT_NS`."""
    left, right = list(reversed(first)), list(reversed(second))
    alone: tuple[list[int], list[int]] = ([], [])
    while left and right:
        if abs(left[-1] - right[-1]) <= CUT_NS:
            left.pop()
            right.pop()
        elif left[-1] < right[-1]:
            alone[0].append(left.pop())
        else:
            alone[1].append(right.pop())
    return (*alone[0], *reversed(left)), (*alone[1], *reversed(right))
