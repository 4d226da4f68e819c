"""Which variants a bound takes under a policy."""

import msgspec
import pytest

from benanza_analyzer.answers.policies import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    FASTEST,
    HEURISTIC,
    LIBRARIES,
    LIBRARIES_UNFUSED,
    NOT_TAKEN,
    POLICIES,
    UNFUSED,
    Policy,
)
from benanza_schemas.vocabulary import GENERATED
from tests.analyzer.events import measured, variant

FIRST = variant(3.0, layout="NCHW", library="cudnn")
LAST = variant(1.0, layout="NHWC", library="cudnn")
BLOCKED = variant(2.0, layout="NCHWc", library="onnxruntime")
EITHER = variant(4.0, library="cublasLt")
KERNEL = variant(0.5, library=GENERATED)
ALL = FIRST, LAST, BLOCKED, EITHER, KERNEL


@pytest.mark.parametrize(
    ("policy", "taken"),
    [
        (FASTEST, ALL),
        (UNFUSED, ALL),
        (LIBRARIES, (FIRST, LAST, BLOCKED, EITHER)),
        (LIBRARIES_UNFUSED, (FIRST, LAST, BLOCKED, EITHER)),
        (CHANNELS_FIRST, (FIRST, EITHER, KERNEL)),
        (CHANNELS_LAST, (LAST, BLOCKED, EITHER, KERNEL)),
    ],
)
def test_what_a_policy_takes(policy: Policy, taken: tuple[object, ...]) -> None:
    assert policy.of(measured("a", *ALL)).variants == taken
    assert policy.fusion is ("without fusion" not in policy.name)


def test_of_what_heuristics_chose_only_that_is_taken_and_elsewhere_any() -> None:
    chosen = msgspec.structs.replace(FIRST, chosen_by_heuristic=True)
    assert HEURISTIC.of(measured("a", chosen, LAST, KERNEL)).variants == (chosen,)
    event = measured("a", LAST, KERNEL)
    assert HEURISTIC.of(event) == event


def test_a_layer_without_such_a_variant_has_no_time_and_a_reason() -> None:
    found = LIBRARIES.of(measured("a", KERNEL))
    assert (found.variants, found.failure) == ((), NOT_TAKEN)


def test_where_a_layout_is_preferred_others_are_taken_if_there_is_none() -> None:
    event = measured("a", FIRST)
    assert CHANNELS_LAST.of(event) == event


def test_a_failure_stays_what_it_was() -> None:
    event = measured("a", failure="no such type")
    assert all(policy.of(event) == event for policy in POLICIES)
