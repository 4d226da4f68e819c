from collections.abc import Iterable
from itertools import combinations, product

import networkx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.models.contraction import BlockOrder, block_order
from benanza_schemas.events import ModelIngested
from tests.analyzer.graphs import contracted, graph_of, models
from tests.examples import examples

Cover = list[tuple[int, ...]]


@st.composite
def covers(draw: st.DrawFn) -> tuple[ModelIngested, Cover]:
    """A model, and some of its groups that don't overlap."""
    event = draw(models(max_layers=9))
    taken: Cover = []
    for group in event.groups:
        if not {position for block in taken for position in block} & {*group.layers}:
            taken.append(tuple(sorted(group.layers)))
    return event, taken


def order_of(edges: Iterable[tuple[int, int]], count: int, cover: Cover) -> BlockOrder:
    ends = np.arange(count, dtype=np.int32)
    for block in cover:
        ends[list(block)] = block[-1]
    sources, targets = np.array(sorted(edges), np.int32).reshape(-1, 2).T
    return block_order(sources, targets, ends)


@examples(times=3)
@given(covers())
def test_it_is_the_topological_order_with_the_earlier_positions_first(
    case: tuple[ModelIngested, Cover],
) -> None:
    event, cover = case
    graph = contracted(graph_of(event), cover)
    found = order_of(event.edges, len(event.layers), cover)
    assert bool(found.cycles) == (not networkx.is_directed_acyclic_graph(graph))
    if not found.cycles:
        blocks = sorted(graph, key=lambda block: found.ranks[block[-1]])
        assert blocks == list(
            networkx.lexicographical_topological_sort(graph, key=lambda block: block[-1])
        )


@examples(times=3)
@given(covers())
def test_a_cycle_is_of_as_few_groups_as_any_through_one_of_them(
    case: tuple[ModelIngested, Cover],
) -> None:
    event, cover = case
    by_end = {block[-1]: block for block in cover}
    for cycle in order_of(event.edges, len(event.layers), cover).cycles:
        held = [by_end[end] for end in cycle]
        assert not networkx.is_directed_acyclic_graph(contracted(graph_of(event), held))
        for count in range(len(cycle)):
            for fewer in combinations(held, count):
                assert networkx.is_directed_acyclic_graph(contracted(graph_of(event), fewer))


def test_two_groups_that_need_each_other_are_a_cycle() -> None:
    edges = [(0, 2), (1, 3)]  # from a1 to a2, from b1 to b2
    assert order_of(edges, 4, [(0, 3), (1, 2)]).cycles == ((2, 3),)
    assert order_of(edges, 4, [(0, 3)]).cycles == ()
    repeated = [(4 * n + s, 4 * n + t) for n, (s, t) in product(range(3), edges)]
    blocks: Cover = [(4 * n + s, 4 * n + t) for n, (s, t) in product(range(3), [(0, 3), (1, 2)])]
    assert order_of(repeated, 12, blocks).cycles == ((2, 3), (6, 7), (10, 11))


def test_a_cycle_may_need_three() -> None:
    edges = [(0, 3), (1, 4), (2, 5)]
    assert order_of(edges, 6, [(0, 5), (1, 3), (2, 4)]).cycles == ((3, 4, 5),)


def test_a_group_with_several_results_comes_before_what_reads_the_first_of_them() -> None:
    """Layers 0 and 4 are one call, which layers 1 to 3 come after; 5 to 7 keep their places."""
    edges = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]
    assert order_of(edges, 8, [(0, 4)]).ranks[[4, 1, 2, 3, 5, 6, 7]].tolist() == [
        *(0, 1, 2, 3, 5, 6, 7)
    ]


def test_a_graph_without_edges_keeps_its_order() -> None:
    assert order_of([], 3, [(0, 2)]).ranks.tolist() == [0, 1, 2]
