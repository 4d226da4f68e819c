"""Latencies of models from the times of the networks that make them up, as DLBricks constructs
them (Li et al., "DLBricks", ICPE 2020).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import networkx as nx

from benanza_ingest.extracted import LayerSequence

Times = Mapping[str, float | str]
"""The time of each network in microseconds by its fingerprint, or why it has none."""

NOT_TIMED = "not timed"


class Constructed(NamedTuple):
    """A latency in microseconds, added up and along the longest path; None where no network has a
    time. `lacking` holds the positions of layers by the reason that their network has no time.
    """

    sequential_us: float | None
    critical_path_us: float | None
    lacking: dict[str, tuple[int, ...]]


def construct(
    sequences: Sequence[LayerSequence], edges: Sequence[tuple[int, int]], times: Times
) -> Constructed:
    """The latency of a model whose layers are in these sequences, each in one. `edges` lead from
    the position of a layer to that of one that reads it.

    What waits for a network without a time waits for what is before that.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    lacking: dict[str, tuple[int, ...]] = {}
    of_layer: dict[int, int] = {}
    for place, sequence in enumerate(sequences):
        time = times.get(sequence.fingerprint, NOT_TIMED)
        if isinstance(time, str):
            lacking[time] = lacking.get(time, ()) + sequence.positions
        graph.add_node(place, us=0.0 if isinstance(time, str) else time)
        of_layer |= dict.fromkeys(sequence.positions, place)
    for before, after in edges:
        if before in of_layer and after in of_layer and of_layer[before] != of_layer[after]:
            graph.add_edge(of_layer[before], of_layer[after])
    if sum(map(len, lacking.values())) == len(of_layer):
        return Constructed(None, None, lacking)
    ends: dict[int, float] = {}
    for place in nx.topological_sort(graph):
        start = max((ends[before] for before in graph.predecessors(place)), default=0.0)
        ends[place] = start + graph.nodes[place]["us"]
    total = sum(us for _, us in graph.nodes(data="us"))
    return Constructed(total, max(ends.values()), lacking)
