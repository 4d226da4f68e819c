"""Where two covers of a model differ."""

from math import fsum

from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.answers.calls import Call
from benanza_analyzer.answers.differences import Difference, differences


def call(us: float, *positions: int, conversion_us: float = 0.0) -> Call:
    return Call(positions, "", us, 0.0, conversion_us, 0, 0, critical=False)


def test_a_group_stands_beside_its_layers() -> None:
    before = [call(3.0, 0), call(2.0, 1, conversion_us=0.5), call(1.0, 2)]
    after = [call(4.0, 0, 1), call(1.0, 2)]
    assert differences(before, after) == [Difference((0, 1), 5.5, 4.0)]


def test_groups_that_overlap_are_compared_together() -> None:
    before = [call(3.0, 0, 1), call(2.0, 2), call(7.0, 3)]
    after = [call(1.0, 0), call(1.0, 1, 2), call(9.0, 3)]
    assert differences(before, after) == [
        Difference((0, 1, 2), 5.0, 2.0),
        Difference((3,), 7.0, 9.0),
    ]


def test_what_only_one_cover_has_counts_as_nothing_in_the_other() -> None:
    assert differences([call(2.0, 5)], []) == [Difference((5,), 2.0, 0.0)]
    assert differences([], [call(2.0, 5)]) == [Difference((5,), 0.0, 2.0)]


@st.composite
def covers(draw: st.DrawFn) -> list[Call]:
    """Calls over some of ten layers, each layer in one call, with times that add up exactly."""
    order = draw(st.permutations(range(10)))
    found, at = [], 0
    while at < len(order):
        size = draw(st.integers(1, 3))
        if draw(st.booleans()):
            us, conversion_us = (draw(st.integers(0, 80)) / 8 for _ in range(2))
            found.append(call(us, *order[at : at + size], conversion_us=conversion_us))
        at += size
    return found


@given(covers(), covers())
def test_differences_add_up_to_that_of_the_covers(before: list[Call], after: list[Call]) -> None:
    found = differences(before, after)
    total = fsum(c.us + c.conversion_us for c in before)
    assert fsum(each.saved_us for each in found) == total - fsum(
        c.us + c.conversion_us for c in after
    )
    positions = [at for each in found for at in each.positions]
    assert len(positions) == len(set(positions))
    for each in found:
        for of in (*before, *after):
            assert set(of.positions) <= set(each.positions) or not (
                set(of.positions) & set(each.positions)
            )
    assert differences(before, before) == []
