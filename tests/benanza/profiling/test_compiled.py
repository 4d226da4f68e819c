"""What a compiler leaves of a run."""

from math import fsum

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from benanza.profiling.compiled import compiled_us
from benanza.results.profile import ModelProfile, ProfiledCall, ProfiledKernel, ProfiledPart
from tests.benanza.render.answers.test_profile import CALLS, JOINED, PROFILE

BETWEEN = msgspec.structs.replace(
    JOINED, kind="between calls", positions=(), layers=(), op="", calls=(), us=12.0, bound_us=0.0
)


def call(us: float, *, multiplies: bool = False, kernels: int = 1) -> ProfiledCall:
    made = tuple(ProfiledKernel(name="k", start_us=0.0, us=us / kernels) for _ in range(kernels))
    return msgspec.structs.replace(CALLS[1], us=us, multiplies=multiplies, kernels=made)


def run(*parts: tuple[tuple[ProfiledCall, ...], float]) -> ModelProfile:
    """A run of parts, each with its calls and what the bound takes there in one call, and 12 µs
    between the calls.
    """
    calls: list[ProfiledCall] = []
    found: list[ProfiledPart] = [BETWEEN]
    for of_part, bound_us in parts:
        numbers = tuple(range(len(calls), len(calls) + len(of_part)))
        us = fsum(each.us for each in of_part)
        found.append(
            msgspec.structs.replace(JOINED, calls=numbers, us=us, bound_us=bound_us, bound_calls=1)
        )
        calls += of_part
    return msgspec.structs.replace(PROFILE, calls=tuple(calls), parts=tuple(found))


def test_a_product_stays_and_the_rest_is_one_kernel() -> None:
    product = call(10.0, multiplies=True), call(2.0), call(3.0)
    assert compiled_us(run((product, 8.0)), between_calls=False) == 10.0 + 2.0


def test_what_has_no_product_takes_what_the_bound_takes() -> None:
    assert compiled_us(run(((call(2.0), call(3.0)), 1.5)), between_calls=False) == 1.5
    assert compiled_us(run(((call(2.0),), 9.0)), between_calls=False) == 2.0, "the run is faster"


def test_fewer_calls_have_less_between_them() -> None:
    """Four kernels become two."""
    found = run(((call(10.0, multiplies=True),), 8.0), ((call(6.0, kernels=3),), 1.5))
    assert compiled_us(found, between_calls=True) == 11.5 + 12.0 * 2 / 4


def test_calls_that_took_longer_than_the_run_count_in_proportion() -> None:
    found = run(((call(60.0, multiplies=True),), 40.0), ((call(60.0),), 40.0))
    found = msgspec.structs.replace(found, parts=found.parts[1:])
    assert compiled_us(found, between_calls=False) == 50.0 + 40.0


def test_a_product_before_a_synchronisation_counts_once() -> None:
    found = run(((call(10.0, multiplies=True),), 8.0))
    wait = msgspec.structs.replace(BETWEEN, kind="synchronisation", calls=(0,), us=5.0)
    waiting = msgspec.structs.replace(found, parts=(*found.parts, wait))
    assert compiled_us(waiting, between_calls=False) == 10.0
    assert waiting.between_calls_us == 17.0


def test_of_a_run_whose_calls_are_not_known_nothing_is_left() -> None:
    assert compiled_us(run(), between_calls=False) == 0.0


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.floats(0.1, 100), st.booleans()), min_size=1, max_size=5),
            st.floats(0.1, 500),
        ),
        max_size=6,
    ),
    st.booleans(),
)
def test_a_compiler_makes_nothing_slower(
    made: list[tuple[list[tuple[float, bool]], float]], between: bool
) -> None:
    parts = [
        (tuple(call(us, multiplies=multiplies) for us, multiplies in calls), bound_us)
        for calls, bound_us in made
    ]
    found = run(*parts)
    took_us = fsum(each.us for each in found.parts)
    assert compiled_us(found, between_calls=between) <= took_us * (1 + 1e-9)
