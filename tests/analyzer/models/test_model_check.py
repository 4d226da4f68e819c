from itertools import combinations

import msgspec
import pytest
from hypothesis import given

from benanza_analyzer.models.model_check import InvalidModelError, check
from benanza_schemas.events import LayerSummary, ModelIngested
from tests.analyzer.events import group, model, summary, with_its_id
from tests.analyzer.graphs import graph_of, may_be_a_group, models

CHAIN = [summary("Conv", "a"), summary("Relu", "b"), summary("Conv", "c")]


@given(models(max_layers=6))
def test_exactly_the_groups_of_the_contract_are_let_in(event: ModelIngested) -> None:
    graph = graph_of(event)
    runnable = [n for n, use in enumerate(event.layers) if event.summaries[use.summary].fingerprint]
    for size in range(1, len(runnable) + 1):
        for members in combinations(runnable, size):
            changed = with_its_id(msgspec.structs.replace(event, groups=(group("g", members),)))
            if may_be_a_group(members, graph):
                check(changed)
            else:
                with pytest.raises(InvalidModelError, match="isn't convex"):
                    check(changed)


@pytest.mark.parametrize("edge", [(1, 1), (2, 1), (1, 3), (7, 8)])
def test_an_edge_leads_to_a_later_layer(edge: tuple[int, int]) -> None:
    with pytest.raises(InvalidModelError, match=rf"edge {edge[0]} to {edge[1]} doesn't lead"):
        check(model(CHAIN, [edge]))


@pytest.mark.parametrize(
    ("members", "problem"),
    [((), "is empty"), ((0, 1, 0), "holds a layer twice"), ((1, 3), "isn't there")],
)
def test_a_group_holds_layers_of_the_model_once(members: tuple[int, ...], problem: str) -> None:
    with pytest.raises(InvalidModelError, match=problem):
        check(model(CHAIN, groups=[group("g", members)]))


def test_the_error_names_the_path_that_leaves_the_group_and_comes_back() -> None:
    layers = [summary("Conv", f"{n}") for n in range(6)]
    edges = [(0, 1), (0, 2), (2, 3), (3, 4), (1, 5), (4, 5)]
    with pytest.raises(InvalidModelError) as caught:
        check(model(layers, edges, [group("g", (5, 0, 1))]))
    assert "group of layers (5, 0, 1) isn't convex: a path leaves it and comes back" in (
        str(caught.value)
    )
    assert "by the layers (0, 2, 3, 4, 5);" in str(caught.value)
    check(model(layers, edges, [group("g", (0, 1, 2)), group("h", (1, 2)), group("i", (1, 4))]))


def test_a_group_holds_no_skipped_layer() -> None:
    with pytest.raises(InvalidModelError, match="holds a skipped layer"):
        check(model([summary("Conv"), summary("Loop")], groups=[group("g", (0, 1))]))


def test_a_layer_needs_its_fingerprint() -> None:
    with pytest.raises(InvalidModelError, match="type Conv has no fingerprint"):
        check(model([LayerSummary("Conv", "", "compute")]))


def test_the_error_says_which_model_and_what_to_do_in_one_line() -> None:
    with pytest.raises(InvalidModelError) as caught:
        check(model(CHAIN, [(2, 1)], name="resnet"))
    assert str(caught.value) == (
        "model 'resnet' can't be analyzed: the edge 2 to 1 doesn't lead to a later layer; "
        "ingest it again"
    )
