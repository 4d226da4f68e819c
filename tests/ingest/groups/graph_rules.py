"""What every group has to be, whatever rule proposed it."""

import networkx as nx

from benanza_ingest.extracted import ExtractedGroup, ExtractedModel


def check_group(model: ExtractedModel, group: ExtractedGroup) -> None:
    """Connected, convex, one last operator, and nobody outside reads inside."""
    graph = nx.DiGraph(model.edges)
    graph.add_nodes_from(range(len(model.layers)))
    members = set(group.layers)
    assert len(members) == len(group.layers) > 1
    assert nx.is_weakly_connected(graph.subgraph(members))
    for position in members:  # what it leads to, outside, must not lead back
        beyond = set(nx.descendants(graph, position)) - members
        assert not any(members & set(graph.successors(other)) for other in beyond), group.layers
    lasts = [at for at in members if not members & set(graph.successors(at))]
    assert lasts == [group.layers[-1]]
    for position in members - set(lasts):
        assert set(graph.successors(position)) <= members
