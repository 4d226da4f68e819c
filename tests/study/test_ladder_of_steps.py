"""Bounds of decoders' steps are above their speeds of light, which grow with what a step reads."""

from functools import cache

import pytest

from study.ladder_of_steps import POINTS, DecoderStep, StepPoint, finding, steps, table

pytestmark = pytest.mark.slow

SOME: tuple[StepPoint, ...] = (
    ("granite-3.1-2b", "", 1023),
    ("granite-3.1-2b", "", 4095),
    ("granite-3.1-2b", "int4", 1023),
    ("granite-3.1-2b", "fp8", 1023),
)


@cache
def found() -> dict[tuple[str, int, int], DecoderStep]:
    return {(of.weights, of.sequences, of.past): of for of in steps(SOME, (1, 32))}


def light_us(weights: str, sequences: int, past: int) -> float:
    return found()[weights, sequences, past].rung.bound.roofline_us or 0.0


def test_no_bound_is_below_its_speed_of_light() -> None:
    assert {*SOME} <= {*POINTS}
    assert len(found()) == 2 * len(SOME)
    for step in found().values():
        bound, rung = step.rung.bound, step.rung
        assert bound.roofline_us is not None
        assert bound.sequential_us is not None
        assert 0 < bound.roofline_us <= rung.in_steps_us * (1 + 1e-9)
        assert bound.roofline_us <= rung.apart_us <= bound.sequential_us
        assert all(call.light_us <= call.us for call in rung.calls)


def test_more_sequences_longer_caches_and_wider_weights_take_longer() -> None:
    assert light_us("", 1, 1023) < light_us("", 1, 4095) < light_us("", 32, 4095)
    assert light_us("int4", 1, 1023) < light_us("fp8", 1, 1023) < light_us("", 1, 1023)
    assert light_us("int4", 1, 1023) > 0.25 * light_us("", 1, 1023), "with scales and caches"


def test_the_page_has_a_row_for_each_kind_of_weights_and_number_of_sequences() -> None:
    of = list(found().values())
    (said,) = finding(of)
    assert said.startswith("- Of 8 steps of decoders on an H200, none is below its speed of light.")
    rows = [line.split(" | ")[:3] for line in table(of)][2:]
    assert rows == [
        [f"| {w}", n, s]
        for w, s in (("fp16", "2"), ("int4", "1"), ("fp8", "1"))
        for n in ("1", "32")
    ]
