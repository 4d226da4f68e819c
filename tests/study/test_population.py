"""What the study says of a population of models."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedLayer, ExtractedModel
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from study.population import (
    Composition,
    Growth,
    Repetition,
    Similar,
    Uniqueness,
    by_operator,
    composition,
    growth,
    nearest,
    uniqueness,
)

OPS = {"a": "Conv", "b": "Conv", "c": "Conv", "r": "Relu", "s": "Relu", "m": "MatMul"}


def made(model: str, fingerprints: str) -> Composition:
    """A model with a layer for each letter."""
    return Composition(model, tuple((each, OPS[each]) for each in fingerprints))


SMALL = made("small", "ar")
LARGE = made("large", "arbrbs")
OTHER = made("other", "mm")
EMPTY = made("empty", "")

POPULATIONS = st.lists(st.text("".join(OPS), max_size=12), min_size=1, max_size=6).map(
    lambda texts: [made(f"model{number}", text) for number, text in enumerate(texts)]
)


def test_unique_layers_are_counted_over_all_models_together() -> None:
    assert uniqueness([LARGE]) == Uniqueness(6, 4)
    assert uniqueness([SMALL, LARGE, OTHER]) == Uniqueness(10, 5)
    assert uniqueness([SMALL, LARGE, OTHER]).share == 0.5


def test_without_layers_the_share_is_zero() -> None:
    assert uniqueness([]).share == 0.0
    assert uniqueness([EMPTY]).share == 0.0


def test_the_first_model_is_all_new_and_a_repeated_one_is_not() -> None:
    again = SMALL._replace(model="again")
    assert growth([SMALL, again], [1, 2]) == [Growth(1, 1.0, 1.0), Growth(2, 0.5, 0.0)]


def test_growth_is_the_median_over_the_orders() -> None:
    models = [SMALL, SMALL, SMALL, OTHER]
    # In three of four orders the last model is SMALL, which came before, and in three of four the
    # first is.
    assert growth(models, [4, 1]) == [Growth(4, 3 / 8, 0.0), Growth(1, 1.0, 1.0)]


def test_growth_of_one_order_follows_that_order() -> None:
    # Whichever comes first, the two have 4 unique layers of 8; LARGE brings 2 new ones of its 4.
    found = {tuple(growth([SMALL, LARGE], [1, 2], 1, seed)) for seed in range(20)}
    assert found == {
        (Growth(1, 1.0, 1.0), Growth(2, 0.5, 0.5)),
        (Growth(1, 4 / 6, 1.0), Growth(2, 0.5, 0.0)),
    }


@pytest.mark.parametrize("at", [0, -1, 3])
def test_growth_needs_as_many_models_as_it_is_asked_for(at: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 2"):
        growth([SMALL, LARGE], [1, at])


def test_growth_needs_an_order() -> None:
    with pytest.raises(ValueError, match="at least one order"):
        growth([SMALL], [1], orders=0)


def test_operators_come_with_most_layers_first_then_by_name() -> None:
    assert by_operator([LARGE, OTHER, made("third", "s")]) == [
        Repetition("Relu", 4, 2),
        Repetition("Conv", 3, 2),
        Repetition("MatMul", 2, 1),
    ]
    assert [each.op for each in by_operator([made("even", "rma")])] == ["Conv", "MatMul", "Relu"]


def test_the_nearest_model_has_most_of_the_unique_layers() -> None:
    assert nearest([SMALL, OTHER, LARGE]) == [
        Similar("small", "large", 1.0),
        Similar("other", "large", 0.0),
        Similar("large", "small", 0.5),
    ]


def test_of_equally_near_models_the_first_by_name_is_named() -> None:
    models = [SMALL, SMALL._replace(model="z"), SMALL._replace(model="b"), EMPTY]
    assert [each.nearest for each in nearest(models)] == ["b", "b", "small", "b"]
    assert nearest(models)[3].shared == 0.0


@pytest.mark.parametrize("models", [[], [SMALL]])
def test_one_model_has_no_nearest(models: list[Composition]) -> None:
    with pytest.raises(ValueError, match="at least two models"):
        nearest(models)


def test_skipped_layers_are_left_out() -> None:
    skipped = ExtractedLayer(name="n", op="Loop", domain="", kind="compute", reason="unknown")
    found = ExtractedModel(opset=20, batch=1, dims={}, layers=(skipped,), edges=(), groups=())
    assert composition("one", found) == Composition("one", ())


def test_a_real_model_has_the_layers_that_the_zoo_lists() -> None:
    found = composition("zoo:squeezenet", extract(fetch("zoo:squeezenet", Limits()).content))
    assert uniqueness([found]) == Uniqueness(66, 38)
    assert len(found.layers) == 66
    assert found.layers[0][1] == "Conv"
    convolutions = next(each for each in by_operator([found]) if each.op == "Conv")
    assert convolutions.layers == 26
    again = found._replace(model="again")
    assert uniqueness([found, again]) == Uniqueness(132, 38)


@given(POPULATIONS, st.randoms(use_true_random=False))
def test_uniqueness_does_not_depend_on_the_order(
    models: list[Composition], draw: random.Random
) -> None:
    found = uniqueness(models)
    assert found.unique <= found.layers
    assert 0.0 <= found.share <= 1.0
    assert uniqueness(draw.sample(models, len(models))) == found


@given(POPULATIONS, st.integers(1, 6), st.integers())
def test_growth_ends_at_the_uniqueness_of_all(
    models: list[Composition], orders: int, seed: int
) -> None:
    at = range(1, len(models) + 1)
    found = growth(models, at, orders, seed)
    assert found == growth(models, at, orders, seed)
    assert [each.models for each in found] == list(at)
    assert found[-1].share == uniqueness(models).share
    assert all(0.0 <= each.share <= 1.0 and 0.0 <= each.new <= 1.0 for each in found)


@given(POPULATIONS)
def test_operators_sum_to_all_layers(models: list[Composition]) -> None:
    found = by_operator(models)
    layers = sum(each.layers for each in found)
    assert Uniqueness(layers, sum(each.unique for each in found)) == uniqueness(models)


@given(POPULATIONS)
def test_a_model_under_two_names_shares_everything(models: list[Composition]) -> None:
    again = models[0]._replace(model="again")
    found = nearest([*models, again])
    assert [each.model for each in found] == [each.model for each in [*models, again]]
    assert all(0.0 <= each.shared <= 1.0 for each in found)
    assert all(each.nearest != each.model for each in found)
    everything = 1.0 if again.layers else 0.0
    assert found[0].shared == found[-1].shared == everything
