import networkx
from hypothesis import given

from benanza_analyzer.models.model_check import readers
from benanza_analyzer.models.post_dominators import nearest_post_dominators
from benanza_schemas.events import ModelIngested
from tests.analyzer.events import model, summary
from tests.analyzer.graphs import graph_of, models


@given(models(max_layers=8))
def test_they_are_the_dominators_of_the_graph_turned_round(event: ModelIngested) -> None:
    groups = [tuple(sorted(group.layers)) for group in event.groups]
    turned = graph_of(event).reverse()
    turned.add_edges_from(
        ("end", node) for node in range(len(event.layers)) if turned.in_degree(node) == 0
    )
    expected = networkx.immediate_dominators(turned, "end")
    inside = {position for group in groups for position in group[:-1]}
    found = nearest_post_dominators(groups, readers(event))
    assert found == {position: expected[position] for position in inside}


def test_branches_meet_where_they_are_joined() -> None:
    event = model(
        [summary("Conv", f"{n}") for n in range(5)], [(0, 1), (0, 2), (1, 3), (2, 4), (3, 4)]
    )
    assert nearest_post_dominators([(0, 1, 2, 3, 4)], readers(event)) == {0: 4, 1: 3, 2: 4, 3: 4}
