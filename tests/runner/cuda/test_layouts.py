"""Layouts of feature maps."""

from benanza_runner.cuda.layouts import (
    depends_on_layout,
    feature_map_layout,
    feature_map_layouts,
    with_one_axis_of_space,
)


def test_names_of_layouts_of_feature_maps() -> None:
    assert feature_map_layout("NHWC") == "NHWC"
    assert feature_map_layout("NCW") == "NCW"
    assert feature_map_layout("weights transposed") == ""


def test_the_order_of_axes_of_both_layouts() -> None:
    assert list(feature_map_layouts(4)) == [("NCHW", (0, 1, 2, 3)), ("NHWC", (0, 2, 3, 1))]
    assert list(feature_map_layouts(3)) == [("NCW", (0, 1, 2)), ("NWC", (0, 2, 1))]


def test_feature_maps_of_one_axis_of_space_lie_like_those_with_an_axis_of_one() -> None:
    for (_, order), (_, wanted) in zip(feature_map_layouts(4), feature_map_layouts(3), strict=True):
        assert with_one_axis_of_space(order) == wanted


def test_where_a_layout_makes_a_difference() -> None:
    assert depends_on_layout((1, 3, 8, 8))
    assert depends_on_layout((4, 3, 8))
    assert not depends_on_layout((4, 1, 8, 8))
    assert not depends_on_layout((4, 1000, 1, 1))
    assert not depends_on_layout((4, 1000))
