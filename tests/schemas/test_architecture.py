"""Models have one architecture if they differ in names and weights only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas.architecture import architecture_id
from benanza_schemas.events import Group, LayerSummary, LayerUse

CONV = LayerSummary("Conv", "", "compute", "c" * 32, flops=10, bytes=20, parameters=5)
RELU = LayerSummary("Relu", "", "compute", "d" * 32, flops=1, bytes=2)
SUMMARIES = (CONV, RELU)
LAYERS = (LayerUse(0, "first"), LayerUse(1, ""), LayerUse(0, "last"))
EDGES = ((0, 1), (1, 2))
GROUPS = (Group("e" * 32, "epilogue", (0, 1), 11, 20),)
IDENTITY = architecture_id(1, SUMMARIES, LAYERS, EDGES, GROUPS)


def test_the_id_is_what_it_always_was() -> None:
    """Else every architecture is analyzed again: then raise `ARCHITECTURE_VERSION`."""
    assert IDENTITY == "f541f958371ec0f2a7aee33e5fb0c9b9"


@given(st.lists(st.text(max_size=5), min_size=3, max_size=3))
def test_names_do_not_count(names: list[str]) -> None:
    renamed = [LayerUse(use.summary, name) for use, name in zip(LAYERS, names, strict=True)]
    assert architecture_id(1, SUMMARIES, renamed, EDGES, GROUPS) == IDENTITY


def test_the_order_of_summaries_does_not_count() -> None:
    turned = [LayerUse(1 - use.summary, use.name) for use in LAYERS]
    assert architecture_id(1, SUMMARIES[::-1], turned, EDGES, GROUPS) == IDENTITY


@pytest.mark.parametrize(
    "parts",
    [
        (2, SUMMARIES, LAYERS, EDGES, GROUPS),
        (1, (CONV, CONV), LAYERS, EDGES, GROUPS),
        (1, SUMMARIES, LAYERS[::-1][:2], EDGES, GROUPS),
        (1, SUMMARIES, LAYERS, EDGES[:1], GROUPS),
        (1, SUMMARIES, LAYERS, EDGES, ()),
    ],
    ids=["batch", "layer", "order", "wiring", "groups"],
)
def test_what_bounds_depend_on_counts(parts: tuple[object, ...]) -> None:
    assert architecture_id(*parts) != IDENTITY  # type: ignore[arg-type]  # fields vary
