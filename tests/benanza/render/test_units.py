"""Times, amounts and shares as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.render.units import amount, dimensions, named_sizes, plural, time_unit


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([], "µs"),
        ([0.0], "µs"),
        ([999.9, 3.0], "µs"),
        ([1000.0, 3.0], "µs"),
        ([2e6, 1e3], "ms"),
        ([2e6, None, 0.0], "s"),
    ],
)
def test_the_unit_is_that_of_the_smallest_time(values: list[float | None], name: str) -> None:
    assert time_unit(values).name == name


def test_times_of_one_table_share_a_unit() -> None:
    unit = time_unit([12_345.6, 78.9])
    assert [unit.format(12_345.6), unit.format(78.9)] == ["12,345.6", "78.9"]


def test_a_figure_that_cannot_be_had_is_a_dash_and_not_zero() -> None:
    assert time_unit([1.0]).format(None) == "-"
    assert time_unit([1.0]).format(0.0) == "0.0"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1 kB"),
        (1000, "1 kB"),
        (1_234_000, "1.23 MB"),
        (999_900, "1 MB"),
        (123_456_789_012, "123 GB"),
        (5e21, "5,000 EB"),
    ],
)
def test_amounts_have_three_digits_and_a_prefix(value: float, shown: str) -> None:
    assert amount(value, "B") == shown


@given(st.integers(0, 10**20))
def test_an_amount_is_within_half_a_percent_of_the_number(value: int) -> None:
    digits, _, prefix = amount(value).partition(" ")
    factor = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}[prefix]
    assert float(digits) * factor == pytest.approx(value, rel=0.0051)


def test_shapes() -> None:
    assert dimensions((1, 3, 224, 224)) == "1×3×224×224"
    assert dimensions(()) == "scalar"


def test_plurals() -> None:
    assert [plural(n, "layer") for n in (0, 1, 2000)] == ["0 layers", "1 layer", "2,000 layers"]


def test_dimensions_are_shown_with_sizes_and_inputs_with_values() -> None:
    assert named_sizes({"length": 8, "size=2,4": 2}) == "length=8, size=2,4"
    assert named_sizes({}) == ""
