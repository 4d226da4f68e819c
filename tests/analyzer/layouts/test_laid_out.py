"""Covers and layouts, chosen together: against trying all, and with more to choose from."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import networkx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.measurements import BLOCKS, FIRST, LAST, Best, Measurements
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import CoverPlan, cheapest_plans
from benanza_schemas.events import ModelIngested
from tests.analyzer.events import NOW, fingerprint, group, measured, model, summary, variant
from tests.analyzer.graphs import all_groups, contracted, graph_of, times

LAYOUTS = FIRST, LAST, BLOCKS
Times = dict[tuple[int, ...], tuple[float, float, float]]
"""Of each layer and group, by its positions, in each layout."""


def event_of(edges: Sequence[tuple[int, int]], found: Times) -> ModelIngested:
    """A model of as many layers as have times, with these groups."""
    count = sum(len(members) == 1 for members in found)
    groups = [group(f"{members}", members) for members in found if len(members) > 1]
    return model([summary("Conv", f"{(n,)}") for n in range(count)], edges, groups)


def plan_of(
    event: ModelIngested, found: Times, converting_us: Sequence[tuple[float, float]]
) -> CoverPlan:
    """The plan with fusion where converting what the layer at a position writes to channels last
    and to blocks takes so long; what a group writes takes as long as its last layer.
    """
    catalogue = Catalogue()
    compiled = compile_architecture(event, catalogue)
    measurements = Measurements()
    for name in ("NHWC", "NCHWc"):
        measurements.know_layouts(measured("x", variant(1.0, layout=name, change_us=1.0)))
    for members, (first, last, blocks) in found.items():
        last_us, blocks_us = converting_us[members[-1]]
        bests = [
            Best(us, 0.0, conversion_us=1.0, write_conversion_us=conversion_us)
            for us, conversion_us in (
                (min(first, last, blocks), math.inf),
                (first, blocks_us),
                (last, last_us),
                (blocks, blocks_us),
                (first, blocks_us),
            )
        ]
        measurements.add(catalogue.number(fingerprint(f"{members}")), bests, NOW)
    measurements.reach(len(catalogue))
    return cheapest_plans(compiled, "full", measurements)[True]


def all_totals_us(
    event: ModelIngested, found: Times, converting_us: Sequence[tuple[float, float]]
) -> Iterator[float]:
    """What all covers take with all layouts."""
    graph = graph_of(event)
    groups = [members for members in found if len(members) > 1]
    for size in range(len(groups) + 1):
        for chosen in combinations(groups, size):
            taken = [position for members in chosen for position in members]
            blocks = contracted(graph, chosen)
            if len(taken) == len({*taken}) and networkx.is_directed_acyclic_graph(blocks):
                for layouts in product(range(3), repeat=len(blocks)):
                    of = dict(zip(blocks, layouts, strict=True))
                    yield sum(found[block][of[block]] for block in blocks) + sum(
                        _converting_us(of[block], {of[reader] for reader in blocks[block]}, us)
                        for block, us in ((block, converting_us[block[-1]]) for block in blocks)
                    )


def _converting_us(written: int, read: set[int], us: tuple[float, float]) -> float:
    """By way of channels first."""
    others = (read - {written} and read | {written}) - {0}
    return sum(us[layout - 1] for layout in others)


@st.composite
def cases(
    draw: st.DrawFn, layers: int
) -> tuple[list[tuple[int, int]], Times, list[tuple[float, float]]]:
    count = draw(st.integers(1, layers))
    edges = [edge for edge in combinations(range(count), 2) if draw(st.booleans())]
    graph = networkx.DiGraph(edges)
    graph.add_nodes_from(range(count))
    possible = list(all_groups(graph, range(count)))
    chosen = draw(st.lists(st.sampled_from(possible), max_size=4, unique=True)) if possible else []
    either = times | st.just(math.inf)
    found = {
        members: (draw(times), draw(either), draw(either))
        for members in (*((n,) for n in range(count)), *chosen)
    }
    conversions = [(draw(times), draw(times)) for _ in range(count)]
    return edges, found, conversions


@given(cases(4))
def test_no_other_choice_takes_less(
    case: tuple[list[tuple[int, int]], Times, list[tuple[float, float]]],
) -> None:
    edges, found, converting_us = case
    event = event_of(edges, found)
    least = min(all_totals_us(event, found, converting_us))
    assert plan_of(event, found, converting_us).sequential_us == least


@given(st.data(), cases(5))
def test_another_variant_never_makes_a_bound_larger(
    data: st.DataObject,
    case: tuple[list[tuple[int, int]], Times, list[tuple[float, float]]],
) -> None:
    edges, found, converting_us = case
    event = event_of(edges, found)
    members = data.draw(st.sampled_from(list(found)))
    more = [min(us, data.draw(times)) if data.draw(st.booleans()) else us for us in found[members]]
    before, after = (
        plan_of(event, each, converting_us).sequential_us
        for each in (found, found | {members: (more[0], more[1], more[2])})
    )
    assert after <= before


def test_a_group_is_taken_in_the_layout_of_what_is_around_it() -> None:
    """Where all has channels first but around some calls, the layers are one by one."""
    found: Times = {
        (0,): (1.0, 9.0, math.inf),
        (1,): (2.0, 1.5, math.inf),
        (2,): (2.0, 1.5, math.inf),
        (3,): (1.0, 9.0, math.inf),
        (1, 2): (math.inf, 2.0, math.inf),
    }
    event = event_of([(0, 1), (1, 2), (2, 3)], found)
    assert plan_of(event, found, [(1.5, 0.0)] * 4).sequential_us == 6.0
    assert plan_of(event, found, [(0.5, 0.0)] * 4).sequential_us == 5.0


def test_between_channels_last_and_blocks_there_are_two_conversions() -> None:
    found: Times = {(0,): (9.0, 1.0, 9.0), (1,): (9.0, 9.0, 1.0), (2,): (9.0, 9.0, 1.0)}
    event = event_of([(0, 1), (0, 2)], found)
    plan = plan_of(event, found, [(2.0, 1.5)] * 3)
    assert plan.sequential_us == 3.0 + 2.0 + 1.5
    assert plan.layouts.tolist() == [LAST, BLOCKS, BLOCKS]
    sources, targets = np.array([0, 0], np.int32), np.array([1, 2], np.int32)
    assert plan.between_us(sources, targets).tolist() == [3.5, 3.5]
