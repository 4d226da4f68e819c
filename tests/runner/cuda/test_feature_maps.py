"""Which tensors of a region may have their channels first or last."""

import pytest

from benanza_runner.cuda.calls import Reduction, Region, Shape
from benanza_runner.cuda.calls.region import Concatenated, Given, Reindexed, Reshaped
from benanza_runner.cuda.feature_maps import feature_maps, reduces_feature_maps, sorted_results

MAP, TOKENS = (1, 16, 5, 6), (1, 5, 6, 16)


def region(*shapes: Shape, channels: int = 0) -> Region:
    """A region that reads tensors of these shapes, and has the first one as its result."""
    values = tuple(Given(shape, "", f"in{at}") for at, shape in enumerate(shapes))
    return Region(values, (0,), channels)


@pytest.mark.parametrize(
    ("found", "maps"),
    [
        (region(MAP, MAP, (16,)), {MAP}),
        (region(MAP, (1, 16, 1, 1)), {MAP}),  # the same memory in both layouts
        (region(MAP, (1, 16, 10, 12)), set()),  # which of them are maps isn't known
        (region(MAP, (1, 8, 5, 6), (1, 24, 5, 6)), {MAP, (1, 8, 5, 6), (1, 24, 5, 6)}),
        (region(MAP, (1, 8, 5, 6), TOKENS), {MAP, (1, 8, 5, 6)}),
        (region(MAP, TOKENS), {MAP}),
        (region(TOKENS, MAP), {MAP}),
        (region(MAP, (1, 30, 16)), {MAP}),
        (region((1, 30, 16), (1, 16, 30)), set()),
        (region(MAP, (1, 16, 10, 12), TOKENS, channels=16), {MAP, (1, 16, 10, 12)}),
        (region(MAP, (1, 8, 5, 6), (1, 16, 3, 3), channels=16), {MAP, (1, 8, 5, 6), (1, 16, 3, 3)}),
        (region(MAP, (1, 8, 10, 12), channels=16), {MAP}),
        (region((2, 8, 3, 4, 5), channels=8), {(2, 8, 3, 4, 5)}),
    ],
)
def test_feature_maps(found: Region, maps: set[Shape]) -> None:
    assert feature_maps(found) == maps


HEADS = (1, 2, 30, 8)
"""Of attention over a map's 5 by 6 places."""


def test_a_map_that_becomes_heads_of_attention() -> None:
    values = (
        Given(MAP, "", "x"),
        Reshaped((1, 2, 8, 30), "", 0),
        Reindexed(HEADS, "", 1, (0, 1, 3, 2), (0, 0, 0, 0), (1, 1, 1, 1)),
    )
    assert feature_maps(Region(values, (2,))) == {MAP}


def test_heads_of_attention_that_become_a_map() -> None:
    values = (
        Given(HEADS, "", "x"),
        Reindexed((1, 2, 8, 30), "", 0, (0, 1, 3, 2), (0, 0, 0, 0), (1, 1, 1, 1)),
        Reshaped(MAP, "", 1),
    )
    assert feature_maps(Region(values, (2,))) == {MAP}


def test_a_map_that_is_split_before_it_becomes_tokens() -> None:
    values = (
        Given(MAP, "", "x"),
        Reindexed((1, 8, 5, 6), "", 0, (0, 1, 2, 3), (0, 8, 0, 0), (1, 1, 1, 1)),
        Reshaped((1, 2, 4, 30), "", 1),
        Given(HEADS, "", "y"),
        Reshaped((1, 2, 5, 6, 8), "", 3),  # tokens in rows, whose features stay
    )
    assert feature_maps(Region(values, (2, 4))) == {MAP}


def test_a_map_that_is_only_split_by_channels_is_not_told_from_others() -> None:
    """Which of two shapes is the map isn't known."""
    values = (Given(MAP, "", "x"), Reshaped((1, 2, 8, 5, 6), "", 0), Given(HEADS, "", "y"))
    assert feature_maps(Region(values, (1, 2))) == set()


def test_what_is_joined_before_windows_move_over_it() -> None:
    values = (
        Given((1, 4, 10, 12), "", "first"),
        Given((1, 12, 10, 12), "", "second"),
        Concatenated((1, 16, 10, 12), "", (0, 1), axis=1),
        Given(MAP, "", "pooled"),
    )
    found = feature_maps(Region(values, (3,), channels=16))
    assert found == {(1, 4, 10, 12), (1, 12, 10, 12), MAP}


@pytest.mark.parametrize(
    ("output", "maps"), [((2, 8, 1, 1), True), ((2, 8), True), ((2, 5, 6), False)]
)
def test_what_is_reduced_may_be_feature_maps(output: Shape, maps: bool) -> None:
    assert reduces_feature_maps(Reduction("Mean", (2, 8, 5, 6), (1,), output)) == maps


def test_what_is_reduced_along_three_axes_is_rows() -> None:
    assert not reduces_feature_maps(Reduction("Mean", (2, 8, 5), (2,), (2, 8, 1)))


def test_the_order_of_results_says_nothing() -> None:
    values = tuple(Given(shape, "", "x") for shape in (MAP, (1, 2, 8, 5, 6), (3,), TOKENS))
    shapes = [sorted_results(Region(values, outputs)) for outputs in ((1, 3, 0, 2), (2, 0, 1, 3))]
    assert shapes[0] == shapes[1] == [(3,), TOKENS, MAP, (1, 2, 8, 5, 6)]
