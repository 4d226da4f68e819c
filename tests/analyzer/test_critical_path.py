from itertools import pairwise

import networkx
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.critical_path import critical_path

Edges = list[tuple[int, int]]
Graph = tuple[Edges, list[float], list[float]]


@st.composite
def weighted_graphs(draw: st.DrawFn) -> Graph:
    """Edges, what each of them takes, and what each node takes."""
    count = draw(st.integers(0, 9))
    pairs = [(source, target) for source in range(count) for target in range(source + 1, count)]
    edges = [pair for pair in pairs if draw(st.booleans())]
    between, nodes = (
        [draw(st.integers(0, 40)) / 8 for _ in what] for what in (edges, range(count))
    )
    return edges, between, nodes


def path_of(
    edges: Edges, times_us: list[float], between_us: list[float] | None = None
) -> list[int]:
    costs = sorted(zip(edges, between_us or [0.0] * len(edges), strict=True))
    sources, targets = [s for (s, _), _ in costs], [t for (_, t), _ in costs]
    return critical_path(sources, targets, [us for _, us in costs], times_us)


@given(weighted_graphs())
def test_no_path_is_longer(graph: Graph) -> None:
    edges, between_us, times_us = graph
    costs = dict(zip(edges, between_us, strict=True))
    all_paths = networkx.DiGraph(edges)
    all_paths.add_nodes_from(range(len(times_us)))

    def length(path: list[int]) -> float:
        return sum(times_us[node] for node in path) + sum(costs[edge] for edge in pairwise(path))

    longest = max(
        (
            length(path)
            for source in all_paths
            for target in all_paths
            for path in ([[source]] if source == target else [])
            + list(networkx.all_simple_paths(all_paths, source, target))
        ),
        default=0.0,
    )
    path = path_of(edges, times_us, between_us)
    assert length(path) == longest
    assert set(pairwise(path)) <= set(edges)


def test_what_takes_no_time_connects() -> None:
    assert path_of([(0, 1), (1, 2)], [5.0, 0.0, 5.0]) == [0, 1, 2]


def test_the_path_begins_and_ends_where_time_is_taken() -> None:
    assert path_of([(0, 1), (1, 2), (2, 3)], [0.0, 2.0, 3.0, 0.0]) == [1, 2]


def test_nothing_that_takes_time_has_no_path() -> None:
    assert path_of([], []) == []
    assert path_of([(0, 1)], [0.0, 0.0]) == []


def test_of_equal_paths_it_is_the_first() -> None:
    assert path_of([(0, 1), (0, 2), (1, 3), (2, 3)], [1.0, 2.0, 2.0, 1.0]) == [0, 1, 3]
