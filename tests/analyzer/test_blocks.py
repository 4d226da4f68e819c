"""Covers whose groups need each other's results; `test_bound` tries them all."""

import math

import numpy as np

from benanza_analyzer.blocks import Blocks, cheapest_blocks
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from tests.analyzer.events import fingerprint, group, model, summary

Timed = dict[tuple[int, ...], float]

CROSSED = [(0, 2), (1, 3)]
"""From a1 to a2 and from b1 to b2."""


def blocks_of(edges: list[tuple[int, int]], groups: Timed, alone_us: float = 1.0) -> Blocks:
    """The cheapest blocks of layers that take so long alone, and groups with these times."""
    count = 1 + max(position for members in groups for position in members)
    layers = [summary("Conv", f"{n}") for n in range(count)]
    titles = {f"group {members}": members for members in groups}
    event = model(layers, edges, [group(title, members) for title, members in titles.items()])
    catalogue = Catalogue()
    compiled = compile_architecture(event, catalogue)
    times = np.full(len(catalogue), alone_us)
    for title, members in titles.items():
        times[catalogue.number(fingerprint(title))] = groups[members]
    return cheapest_blocks(compiled, compiled.full, True, times[compiled.full.block_numbers])


def chosen(blocks: Blocks) -> list[tuple[int, ...]]:
    return sorted(blocks.groups.values())


def test_of_two_groups_that_need_each_other_the_cheaper_is_taken() -> None:
    assert chosen(blocks_of(CROSSED, {(0, 3): 1.0, (1, 2): 1.25})) == [(0, 3)]
    assert chosen(blocks_of(CROSSED, {(0, 3): 1.5, (1, 2): 1.25})) == [(1, 2)]
    assert chosen(blocks_of([(0, 2)], {(0, 3): 1.5, (1, 2): 1.25})) == [(0, 3), (1, 2)]


def test_what_is_covered_instead_may_be_any_other_group() -> None:
    """The two best groups need each other; the best that is left has neither."""
    groups: Timed = {(0, 3): 1.0, (1, 2): 1.0, (0, 1): 1.25, (2, 3): 1.25}
    assert chosen(blocks_of(CROSSED, groups)) == [(0, 1), (2, 3)]


def test_a_circle_of_three_groups_lacks_one() -> None:
    edges = [(0, 3), (1, 4), (2, 5)]
    groups: Timed = {(0, 5): 1.0, (1, 3): 1.125, (2, 4): 1.25}
    assert chosen(blocks_of(edges, groups)) == [(0, 5), (1, 3)]


def test_circles_at_all_places_of_a_component_are_cut() -> None:
    """The same groups at three places; only two of them have the circle. Of two groups that cost
    the same, it is the one without the last layer.
    """
    edges = [(s + 4 * n, t + 4 * n) for n in (0, 2) for s, t in CROSSED]
    layers = [summary("Conv", name) for _ in range(3) for name in ("a", "b", "c", "d")]
    groups = [
        group(title, (s + 4 * n, t + 4 * n))
        for n in range(3)
        for title, s, t in (("ad", 0, 3), ("bc", 1, 2))
    ]
    catalogue = Catalogue()
    compiled = compile_architecture(model(layers, edges, groups), catalogue)
    times = np.full(len(catalogue), 1.0)
    found = cheapest_blocks(compiled, compiled.full, True, times[compiled.full.block_numbers])
    assert chosen(found) == [(1, 2), (4, 7), (5, 6), (9, 10)]
    assert found.gap_us == 0


def test_a_group_without_a_time_makes_no_circle() -> None:
    assert chosen(blocks_of(CROSSED, {(0, 3): math.inf, (1, 2): 1.0})) == [(1, 2)]


def test_blocks_and_their_edges_are_in_topological_order() -> None:
    """Layers 0 and 4 are one call, which comes before the layers between."""
    found = blocks_of([(0, 1), (1, 2), (2, 3)], {(0, 4): 0.5})
    assert found.ordered(found.numbers != 0).tolist() == [4, 1, 2, 3]
    assert (found.sources.tolist(), found.targets.tolist()) == ([4, 1, 2], [1, 2, 3])
