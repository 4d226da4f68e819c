"""In which layouts the calls of a plan keep their images, as its bound shows."""

import math
from collections.abc import Mapping

import pytest

from benanza_analyzer.bound import Bound, lower_bound
from benanza_analyzer.catalogue import Catalogue
from benanza_analyzer.compiled_model import compile_model
from benanza_analyzer.measurements import Best, Measurements
from benanza_schemas.events import ModelIngested
from benanza_schemas.layer import Accounting
from tests.analyzer.events import fingerprint, group, model, summary


def test_images_are_kept_in_the_layout_that_costs_less_in_all() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    # Channels first, channels last.
    found = {"Conv": (5.0, 2.0), "Relu": (3.0, 3.5), "TopK": (1.0, 1.0)}
    bound = laid_out(event, found)
    assert (bound.layout, bound.sequential_us) == ("NHWC", 6.5)
    assert laid_out(event, found | {"Conv": (5.0, 4.75)}).layout == "NCHW"
    assert laid_out(event, found | {"Conv": (5.0, 4.75)}).sequential_us == 9.0
    alike = laid_out(event, {"Conv": (2.0, 2.0), "Relu": (3.0, 3.0), "TopK": (1.0, 1.0)})
    assert (alike.layout, alike.sequential_us) == ("", 6.0)
    paper = laid_out(event, found, "paper")
    assert (paper.layout, paper.sequential_us) == ("", 5.0), "turning images is data movement"


def test_between_two_layouts_images_are_turned_once() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    found = {"Conv": (5.0, 2.0), "Relu": (3.0, 9.0), "TopK": (1.0, 1.0)}
    assert laid_out(event, found).sequential_us == 2.0 + 1.0 + 3.0 + 1.0
    # What is not known to be turned between two layers is turned on both sides of one.
    unknown = laid_out(event, found, after_us=math.inf)
    assert unknown.sequential_us == 2.0 + 2.0 + 3.0 + 1.0
    assert laid_out(event, found).parallel_us == 7.0


def test_where_a_layer_is_missing_images_are_turned_on_both_sides() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    bound = laid_out(event, {"Conv": (5.0, 2.0), "Relu": (3.0, 9.0)})
    assert bound.sequential_us == 2.0 + 2.0 + 3.0
    assert [missing.layers for missing in bound.missing] == [(2,)]


def test_what_stands_in_both_layouts_and_minds_neither_is_one_measurement() -> None:
    layers = [summary("Conv", "a"), summary("Relu"), summary("Conv", "b"), summary("Relu")]
    bound = laid_out(
        model([*layers]), {"a": (1.0, 9.0), "b": (9.0, 1.0), "Relu": (1.0, 1.0)}, iqr_us=1.0
    )
    assert bound.sequential_us == 1.0 + 1.0 + 1.0 + 1.0 + 1.0
    assert bound.sequential_spread_us == pytest.approx(math.sqrt(1 + 1 + 2**2))


def test_a_view_of_two_values_turns_as_much_as_the_larger() -> None:
    layers = [summary("Conv", "a"), summary("Conv", "s"), summary("CastLike"), summary("Conv", "b")]
    edges = [(0, 2), (1, 2), (2, 3)]
    found = {"a": (1.0, 90.0), "s": (1.0, 1.0), "b": (90.0, 1.0)}
    assert laid_out(model(layers, edges), found).sequential_us == 3.0 + 1.0


def test_a_view_of_another_shape_wants_channels_first() -> None:
    event = model([summary("Conv"), summary("Reshape"), summary("Relu")])
    found = {"Conv": (5.0, 2.0), "Relu": (1.0, 1.0)}
    assert laid_out(event, found).sequential_us == 2.0 + 1.0 + 1.0
    assert laid_out(event, found | {"Relu": (9.0, 1.0)}).sequential_us == 2.0 + 1.0 + 1.0 + 1.0


def test_views_within_a_group_want_no_layout() -> None:
    layers = [summary(op) for op in ("Conv", "Reshape", "Concat", "Reshape", "Relu")]
    event = model(layers, groups=[group("shuffle", (1, 2, 3))])
    found = {"Conv": (9.0, 1.0), "Concat": (1.0, 9.0), "shuffle": (1.5, 1.5), "Relu": (9.0, 1.0)}
    assert laid_out(event, found).sequential_us == 1.0 + 1.0 + 1.0 + 1.0 + 1.0
    assert laid_out(event, found, fusion=True).sequential_us == 1.0 + 1.5 + 1.0


def test_turning_images_takes_longer_in_company() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    found = {"Conv": (5.0, 2.0), "Relu": (3.0, 9.0), "TopK": (1.0, 1.0)}
    bound = laid_out(event, found)
    assert bound.sequential_us == 7.0
    assert bound.attainable_us == 2.25 + 1.5 + 3.25 + 1.25


def laid_out(
    event: ModelIngested,
    found: Mapping[str, tuple[float, float]],
    accounting: Accounting = "full",
    after_us: float = 1.0,
    iqr_us: float = 0.0,
    *,
    fusion: bool = False,
) -> Bound:
    """The bound of layers and groups with these times in either layout. Turning an image takes
    `after_us`, half as long again in company; around a layer 2.
    """
    catalogue = Catalogue()
    compiled = compile_model(event, catalogue)
    measurements = Measurements()
    for of, (first, last) in found.items():
        turning = (0.0 if first == last else 2.0, 3.0, after_us, 1.5 * after_us)
        times = [
            Best(us, iqr_us, us + 0.25, us + 0.5, *turning)
            for us in (min(first, last), first, last)
        ]
        measurements.add(catalogue.number(fingerprint(of)), times)
    return lower_bound(compiled, accounting, fusion, measurements, catalogue, None, "fp32")
