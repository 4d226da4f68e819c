"""The least work of a model is below that of every cover's calls, by each kind of work."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from msgspec.structs import replace

from benanza_analyzer.limits.speed_of_light import Work, bytes_at
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_schemas.events import Group, LayerSummary, ModelIngested
from tests.analyzer.events import group, model, summary
from tests.analyzer.limits.working_models import working_models


def least(event: ModelIngested) -> Work:
    return compile_architecture(event, Catalogue()).full.least.whole


def covers(event: ModelIngested) -> list[tuple[Group, ...]]:
    """The groups of each cover: any that don't overlap."""
    return [
        chosen
        for count in range(len(event.groups) + 1)
        for chosen in combinations(event.groups, count)
        if sum(len(of.layers) for of in chosen) == len({p for of in chosen for p in of.layers})
    ]


@given(working_models())
def test_no_cover_does_less(event: ModelIngested) -> None:
    claimed = least(event)
    for groups in covers(event):
        inside = {position for of in groups for position in of.layers}
        calls: list[tuple[int, int]] = [(of.bytes, of.least_flops) for of in groups]
        for position, use in enumerate(event.layers):
            of = event.summaries[use.summary]
            if position not in inside and of.kind in ("compute", "movement"):
                calls.append((of.bytes, of.least_flops))
        assert claimed.bytes.sum() <= sum(moved for moved, _ in calls) + 1e-9
        assert claimed.flops <= sum(flops for _, flops in calls) + 1e-9
        assert claimed.calls <= sum(flops > 0 for _, flops in calls) + 1e-9


def product(name: str, weights: int = 20, fixed: int = 0) -> LayerSummary:
    layer = summary("Conv", name, bytes_moved=40, least_flops=10, least_weights=weights)
    return replace(layer, least_fixed=fixed)


def test_products_claim_their_weights_operations_and_a_place_in_the_chain() -> None:
    layers = [product("a"), summary("Relu", "b", flops=3, bytes_moved=9), product("c", 100)]
    found = least(model(layers))
    assert found.bytes.tolist() == [20.0, 0.0, 40.0], "no more weights than bytes that are moved"
    assert (found.flops, found.calls) == (20.0, 2.0)


def test_products_side_by_side_are_no_chain() -> None:
    layers = [summary("Relu", "x"), product("a"), product("b"), summary("Concat", "y")]
    found = least(model(layers, [(0, 1), (0, 2), (1, 3), (2, 3)]))
    assert (found.flops, found.calls) == (20.0, 1.0)


def test_what_one_call_may_do_is_one_step() -> None:
    """As attention does its two products; and what merges two side by side is no step less."""
    layers = [product("a"), summary("Relu", "b"), product("c"), product("d")]
    once = group("abc", (0, 1, 2), bytes_moved=10, least_flops=20)
    found = least(model(layers, groups=[once]))
    assert found.calls == pytest.approx(2.0)
    assert found.bytes.tolist() == pytest.approx([5.0, 0.0, 5.0, 20.0])
    side = [product("a"), product("b"), product("c")]
    merged = group("ab", (0, 1), bytes_moved=80, least_flops=20)
    assert least(model(side, [(0, 2), (1, 2)], [merged])).calls == 2.0


def test_integers_have_no_ceiling_but_weights_and_a_place_in_the_chain() -> None:
    layer = replace(product("a"), op="MatMulInteger")
    found = least(model([layer, layer]))
    assert (found.flops, found.calls, found.bytes.sum()) == (0.0, 2.0, np.float64(40.0))


def test_what_no_precision_makes_fewer_shrinks_with_its_claim() -> None:
    """And is read as it is stored."""
    layers = [product("a", 20, 10), product("b", 20, 90)]
    once = group("ab", (0, 1), bytes_moved=20, least_flops=20)
    found = least(model(layers, groups=[once]))
    assert found.fixed.tolist() == [5.0, 10.0]
    assert bytes_at("fp16", found.bytes, found.fixed).tolist() == [7.5, 10.0]
    assert bytes_at("tf32", found.bytes, found.fixed).tolist() == [10.0, 10.0]
