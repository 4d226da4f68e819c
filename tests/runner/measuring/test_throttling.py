"""Timings are taken again while the device is slowed down."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.measuring.throttling import HighestClock, Undisturbed, until_undisturbed


def _measured(states: list[tuple[str, ...]]) -> tuple[int, Undisturbed]:
    """Numbered results, while the device is in these states, two for each try."""
    seen: Iterator[tuple[str, ...]] = iter(states)
    results = iter(range(1, 10))
    return until_undisturbed(lambda: next(results), lambda: next(seen), lambda: next(seen))


def test_an_undisturbed_timing_is_taken_once() -> None:
    assert _measured([(), ()]) == (1, Undisturbed(True, 1, ()))


def test_a_disturbed_timing_is_taken_again_and_its_reason_kept() -> None:
    assert _measured([(), ("power",), (), ()]) == (2, Undisturbed(True, 2, ("power",)))


def test_the_third_disturbed_timing_counts_and_is_called_unstable() -> None:
    states: list[tuple[str, ...]] = [("power",), ("heat",), ("heat",), (), (), ("power",)]
    assert _measured(states) == (3, Undisturbed(False, 3, ("power", "heat")))


def test_the_device_rests_between_two_tries() -> None:
    done: list[str] = []
    seen: Iterator[tuple[str, ...]] = iter([("power",), (), (), ("power",), (), ()])
    until_undisturbed(
        lambda: done.append("try"),
        lambda: next(seen),
        lambda: next(seen),
        rest=lambda: done.append("rest"),
    )
    assert done == ["try", "rest", "try", "rest", "try"]


def test_what_only_shows_at_work_disturbs_as_well() -> None:
    clocks: Iterator[tuple[str, ...]] = iter([("clock",), ()])
    _, found = until_undisturbed(lambda: None, lambda: (), lambda: next(clocks))
    assert found == Undisturbed(True, 2, ("clock",))


def test_a_clock_is_lower_than_the_highest_before_it() -> None:
    clock = HighestClock()
    assert [clock.lower(mhz) for mhz in (1605, 1605, 1980, 1965, 1935, 1605, 1980)] == [
        *(False, False, False, False),
        *(True, True, False),
    ]


@given(st.lists(st.integers(1_950, 1_980)))
def test_steps_of_a_clock_are_not_lower(seen_mhz: list[int]) -> None:
    """A GPU's boost goes up and down by 15 MHz with its heat."""
    clock = HighestClock()
    assert not any(clock.lower(mhz) for mhz in seen_mhz)


def test_what_a_disturbed_try_remembered_is_forgotten() -> None:
    known: list[int] = []
    seen: Iterator[tuple[str, ...]] = iter([("heat",), (), (), ()])

    def measure() -> list[int]:
        known.append(len(known))
        return list(known)

    found, _ = until_undisturbed(measure, lambda: next(seen), lambda: next(seen), known.clear)
    assert found == [0]
