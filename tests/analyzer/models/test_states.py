"""States are in place, unless the policy is to copy them."""

import msgspec

from benanza_analyzer.answers.policies import FASTEST, STATES_COPIED, Policy
from benanza_analyzer.answers.under_policy import under
from benanza_analyzer.models.states import with_states_copied
from benanza_schemas.vocabulary import STATE_AS_WRITTEN
from tests.analyzer.events import ceilings, group, measured, model, summary

COPYING = msgspec.structs.replace(group("copy", (1,)), rule=STATE_AS_WRITTEN)
MODEL = model(
    [summary("Conv"), summary("Concat", "append"), summary("TopK")],
    groups=(group("both", (0, 1)), group("last", (1, 2)), COPYING),
)
MEASURED = [
    measured("Conv", 8.0),
    measured("append", 4.0),
    measured("TopK", 2.0),
    measured("both", 9.0),
    measured("last", 7.0),
    measured("copy", 1.0),
]


def sequential_us(policy: Policy) -> float:
    system = ceilings(1e9, 1e9)
    analyzer = under(policy, MODEL, system, MEASURED)
    ids = MODEL.architecture_id, system.system.system_id
    return analyzer.cover(*ids, "fp32", "full", fusion=policy.fusion).sequential_us


def test_what_copies_a_state_does_not_stand_for_what_writes_into_it() -> None:
    """It takes less time here, which it never does: it would be taken otherwise."""
    assert sequential_us(FASTEST) == 9.0 + 2.0


def test_states_that_are_copied_are_in_no_group() -> None:
    assert sequential_us(STATES_COPIED) == 8.0 + 1.0 + 2.0


def test_a_model_without_states_is_the_same() -> None:
    without = model([summary("Conv")])
    assert with_states_copied(without) is without
