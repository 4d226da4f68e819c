"""What groups have to be, by the rule that proposed them."""

from collections.abc import Iterable, Sequence

import networkx as nx

from benanza_ingest.extracted import ExtractedGroup, ExtractedModel
from benanza_ingest.groups import merged
from benanza_ingest.groups.quantised import propose as quantised
from benanza_ingest.groups.regions import propose as regions
from benanza_ingest.groups.simplified import propose as once

OPEN = frozenset((merged.RULE, quantised.RULE, regions.RULE))
"""Rules whose groups may have several results, and parts that aren't connected."""


def check_group(model: ExtractedModel, group: ExtractedGroup) -> None:
    """Convex; and unless its rule allows more, connected with one last operator that is read."""
    graph = _graph(model)
    members = set(group.layers)
    assert len(members) == len(group.layers) > 1
    assert is_convex(graph, members), group.layers
    if group.rule in OPEN or is_of_simplified(group):
        assert list(group.layers) == sorted(group.layers)
        return
    assert nx.is_weakly_connected(graph.subgraph(members))
    lasts = [at for at in members if not members & set(graph.successors(at))]
    assert lasts == [group.layers[-1]]
    for position in members - set(lasts):
        assert set(graph.successors(position)) <= members


def is_of_simplified(group: ExtractedGroup) -> bool:
    """Whether a group runs as a layer or a group of the simplified graph does."""
    return group.rule.startswith(once.RULE)


def is_convex(graph: "nx.DiGraph[int]", members: set[int]) -> bool:
    """Whether no way leads out of these layers and back."""
    beyond: set[int] = set()
    for position in members:
        beyond.update(at for at in graph.successors(position) if at not in members)
    reached = set(beyond)
    while beyond:
        at = beyond.pop()
        for after in graph.successors(at):
            if after not in reached:
                reached.add(after)
                beyond.add(after)
    return not reached & members


def is_acyclic_with(model: ExtractedModel, blocks: Iterable[Sequence[int]]) -> bool:
    """Whether the graph has no cycle when each of these disjoint blocks is one node."""
    block_of = {at: -1 - number for number, block in enumerate(blocks) for at in block}
    contracted = nx.DiGraph(
        (block_of.get(a, a), block_of.get(b, b))
        for a, b in model.edges
        if block_of.get(a, a) != block_of.get(b, b)
    )
    return bool(nx.is_directed_acyclic_graph(contracted))


def _graph(model: ExtractedModel) -> "nx.DiGraph[int]":
    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(range(len(model.layers)))
    return graph
