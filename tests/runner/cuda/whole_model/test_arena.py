"""What is given out never overlaps, and what is given back is used again."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.arena import ALIGNMENT, Arena


def test_what_was_given_back_is_used_again() -> None:
    arena = Arena()
    first, second = arena.take(1000), arena.take(600)
    arena.give_back(first)
    assert arena.take(513) == first
    arena.give_back(second)
    assert arena.take(3 * ALIGNMENT) == second
    assert arena.size == 5 * ALIGNMENT


def test_what_is_to_be_unused_was_nobodys_before() -> None:
    arena = Arena()
    first, second = arena.take(1000), arena.take(1000)
    arena.give_back(first)
    arena.give_back(second)
    kept = arena.take(10, unused=True)
    assert kept == 4 * ALIGNMENT
    assert arena.take(3000) == kept + ALIGNMENT, "what was freed is too short"
    assert arena.take(2000) == first


@given(st.lists(st.tuples(st.integers(0, 5000), st.booleans()), max_size=60))
def test_what_is_taken_never_overlaps(wishes: list[tuple[int, bool]]) -> None:
    arena = Arena()
    taken: list[tuple[int, int]] = []
    for size, give_back in wishes:
        if give_back and taken:
            arena.give_back(taken.pop(size % len(taken))[0])
        else:
            offset = arena.take(size)
            assert offset % ALIGNMENT == 0
            assert all(offset + size <= a or b <= offset for a, b in taken)
            taken.append((offset, offset + max(size, 1)))
            assert taken[-1][1] <= arena.size
    for offset, _ in taken:
        arena.give_back(offset)
    before = arena.size
    arena.take(before)
    assert arena.size == max(before, ALIGNMENT), "all of it is free again"
