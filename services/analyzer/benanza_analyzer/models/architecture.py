"""An architecture: models that differ in names and weights only. It is compiled into arrays of
numbers, once, from which the bounds of all these models are computed.

Layers and groups are represented by their numbers in the `Catalogue`. What depends on the
accounting is stored once for each accounting.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.limits.least_work import LeastWork, least_work
from benanza_analyzer.models.accounting import Treatment, treatment
from benanza_analyzer.models.catalogue import NOTHING, Catalogue
from benanza_analyzer.models.cover import ComponentShape, component_shape
from benanza_analyzer.models.integers import computes_with_integers
from benanza_analyzer.models.model_check import check
from benanza_analyzer.models.states import fusable_groups
from benanza_schemas.events import Group, LayerSummary, ModelIngested
from benanza_schemas.layer import Accounting
from benanza_schemas.operators.table import RESHAPING

_RESHAPING = RESHAPING - {"Identity"} | {"Gather", "Transpose"}
"""Views that may change the shape; the others only rename a value."""


class Component(NamedTuple):
    """Overlapping groups over some layers, at all places of the model where they repeat.

    `blocks` is the slice of the model's `block_numbers` with the numbers of the shape's blocks:
    those of its layers, then those of its groups. `places` holds for each place the positions of
    each of its groups, ascending.
    """

    shape: ComponentShape
    blocks: slice
    places: tuple[tuple[tuple[int, ...], ...], ...]


class Counted(NamedTuple):
    """A model under one accounting.

    `numbers` holds the number of each position's layer, `NOTHING` where it isn't counted.
    `not_counted` holds the positions that the accounting leaves out. `components` and
    `block_numbers` are the groups that fusion may choose from. `least` is the least work of all
    layers that are counted.
    """

    numbers: npt.NDArray[np.int32]
    not_counted: tuple[int, ...]
    components: tuple[Component, ...]
    block_numbers: npt.NDArray[np.int32]
    least: LeastWork


@dataclass(frozen=True, eq=False, slots=True)
class Architecture:
    """What models of one graph at one batch size have in common.

    `id` is that of `benanza_schemas.architecture`. The edges lead from `sources` to `targets`,
    ascending by source. `parameters` counts the elements of the weights of all layers. `free` holds
    the positions of views; `reshaping` are those of them that may change the shape. `skipped` holds
    positions with reasons. `numbers` are those of all layers and groups whose measurement can move
    a bound, each once. `least_known` is that of the event.
    """

    id: str
    batch: int
    parameters: int
    sources: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int32]
    free: tuple[int, ...]
    reshaping: tuple[int, ...]
    skipped: tuple[tuple[int, str], ...]
    paper: Counted
    full: Counted
    numbers: npt.NDArray[np.int32]
    least_known: int

    def counted(self, accounting: Accounting) -> Counted:
        """The architecture under this accounting."""
        return self.paper if accounting == "paper" else self.full


def compile_architecture(event: ModelIngested, catalogue: Catalogue) -> Architecture:
    """Compiles the model's architecture. The catalogue numbers and describes its layers and groups.

    Raises `InvalidModelError` as `model_check.check` does.
    """
    check(event)
    _describe(event, catalogue)
    full = _count(event, "full", catalogue)
    # Many models have the same layers under both.
    same = _treatments(event, "paper") == _treatments(event, "full")
    paper = full if same else _count(event, "paper", catalogue)
    edges = np.array(sorted(event.edges), np.int32).reshape(-1, 2)
    used = np.unique(np.concatenate((full.numbers, full.block_numbers)))
    treatments = _treatments(event, "full")
    return Architecture(
        id=event.architecture_id,
        batch=event.batch,
        parameters=sum(event.summaries[use.summary].parameters for use in event.layers),
        sources=edges[:, 0].copy(),
        targets=edges[:, 1].copy(),
        free=_at(treatments, "free"),
        reshaping=tuple(
            position
            for position in _at(treatments, "free")
            if event.summaries[event.layers[position].summary].op in _RESHAPING
        ),
        skipped=tuple(
            (position, event.summaries[event.layers[position].summary].reason or "skipped")
            for position in _at(treatments, "missing")
        ),
        paper=paper,
        full=full,
        numbers=used[used != NOTHING],
        least_known=event.least_known(),
    )


def _describe(event: ModelIngested, catalogue: Catalogue) -> None:
    # In another model the same layer may be no view: its constants decide that, too.
    summaries = [summary for summary in event.summaries if summary.kind != "view"]
    of_layers = {summary.fingerprint for summary in summaries}
    groups = [group for group in event.groups if group.fingerprint not in of_layers]
    layers: list[LayerSummary | Group] = [*summaries, *groups]
    for layer in layers:
        if layer.fingerprint:
            in_integers = computes_with_integers(layer)
            catalogue.describe(
                catalogue.number(layer.fingerprint),
                flops=0 if in_integers else layer.flops,
                bytes_moved=layer.bytes,
                least_flops=0 if in_integers else layer.least_flops,
                product=layer.least_flops > 0,
            )


def _treatments(event: ModelIngested, accounting: Accounting) -> list[Treatment]:
    """How the accounting treats the layer at each position."""
    of_summaries = [treatment(summary, accounting) for summary in event.summaries]
    return [of_summaries[use.summary] for use in event.layers]


def _at(treatments: Sequence[Treatment], wanted: Treatment) -> tuple[int, ...]:
    return tuple(position for position, actual in enumerate(treatments) if actual == wanted)


def _count(event: ModelIngested, accounting: Accounting, catalogue: Catalogue) -> Counted:
    """The model under this accounting.

    A group without a counted layer is left out: it could only lengthen a cover.
    """
    treatments = _treatments(event, accounting)
    numbers = np.full(len(treatments), NOTHING, np.int32)
    for position in _at(treatments, "counted"):
        summary = event.summaries[event.layers[position].summary]
        numbers[position] = catalogue.number(summary.fingerprint)
    groups = [
        (tuple(sorted(group.layers)), catalogue.number(group.fingerprint))
        for group in fusable_groups(event)
        if any(treatments[position] == "counted" for position in group.layers)
    ]
    components, block_numbers = _components(groups, numbers.tolist())
    wanted = [
        (of.least_weights, of.least_fixed)
        for of in (event.summaries[use.summary] for use in event.layers)
    ]
    reads = np.array(wanted, np.float64).reshape(-1, 2)
    edges = sorted(event.edges)
    least = least_work(numbers, reads[:, 0], reads[:, 1], groups, edges, catalogue)
    return Counted(numbers, _at(treatments, "not_counted"), components, block_numbers, least)


def _components(
    groups: Sequence[tuple[tuple[int, ...], int]], numbers: Sequence[int]
) -> tuple[tuple[Component, ...], npt.NDArray[np.int32]]:
    """The components of these groups, each given by its positions and its number; and the numbers
    of the components' blocks.

    Components that differ in their positions only are joined: they have the same cheapest cover.
    """
    places: dict[tuple[ComponentShape, tuple[int, ...]], list[tuple[tuple[int, ...], ...]]]
    places = defaultdict(list)
    for component in _overlapping(groups):
        layers = sorted({position for members, _ in component for position in members})
        local = {position: index for index, position in enumerate(layers)}
        shape = component_shape(
            len(layers),
            tuple(tuple(local[position] for position in members) for members, _ in component),
        )
        blocks = (*(numbers[p] for p in layers), *(number for _, number in component))
        places[shape, blocks].append(tuple(members for members, _ in component))
    components = []
    block_numbers: list[int] = []
    for (shape, blocks), where in places.items():
        start = len(block_numbers)
        block_numbers.extend(blocks)
        components.append(Component(shape, slice(start, len(block_numbers)), tuple(where)))
    return tuple(components), np.array(block_numbers, np.int32)


def _overlapping(
    groups: Sequence[tuple[tuple[int, ...], int]],
) -> Iterable[list[tuple[tuple[int, ...], int]]]:
    """The groups in sets, so that groups of different sets don't overlap.

    To import networkx for its union-find takes a third of the time of a look at known bounds.
    """
    joined: dict[int, int] = {}

    def first(position: int) -> int:
        while (before := joined.setdefault(position, position)) != position:
            joined[position] = joined[before]
            position = before
        return position

    for members, _ in groups:
        for member in members:
            joined[first(member)] = first(members[0])
    sets: dict[int, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    for members, number in groups:
        sets[first(members[0])].append((members, number))
    return sets.values()
