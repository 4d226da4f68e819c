"""Blocks of calls."""

from hypothesis import given
from hypothesis import strategies as st

from benanza.report.blocks import LEAST_TIMES, Block, paths, repeated_blocks


def test_what_repeats_is_found_as_short_as_it_can_be() -> None:
    assert repeated_blocks("xabcabcabcy") == [Block(1, 3, 3)]
    assert repeated_blocks("aaaaaa") == [Block(0, 1, 6)]
    assert repeated_blocks("abababxcdcdcd") == [Block(0, 2, 3), Block(7, 2, 3)]
    assert repeated_blocks("ababxyz") == []
    assert repeated_blocks("") == []


@given(st.text("abc", max_size=40))
def test_blocks_repeat_and_lie_beside_each_other(calls: str) -> None:
    end = 0
    for start, length, times in repeated_blocks(calls):
        assert start >= end
        assert times >= LEAST_TIMES
        end = start + length * times
        assert calls[start:end] == calls[start : start + length] * times


def test_names_with_slashes_say_how_calls_are_nested() -> None:
    names = ["/layer1/block.0/conv", "/layer1/block.1/conv", "/fc"]
    assert paths(names, "abc") == [("layer1", "block.0"), ("layer1", "block.1"), ()]


def test_without_them_what_repeats_are_blocks() -> None:
    nested = paths(["n"] * 8, "xabababy")
    assert nested[0] == nested[-1] == ()
    assert nested[1:7] == [
        *[("block 1 of 3",)] * 2,
        *[("block 2 of 3",)] * 2,
        *[("block 3 of 3",)] * 2,
    ]
