"""Which agents can do an evaluation, and what the others lack."""

import pytest

from benanza.agents.matching import check, matched, unmet
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import Constraints
from tests.benanza.agents.samples import GIGABYTE, announced, system

H200 = system(gpu="NVIDIA H200")
AGENT = announced("gpu:1", H200, system("pytorch", "2.9.0+cu130", "NVIDIA H200"))


@pytest.mark.parametrize(
    ("wanted", "lacks"),
    [
        (Constraints(framework="onnxruntime"), []),
        (Constraints(framework="onnxruntime", device="h?00"), []),
        (Constraints(framework="onnxruntime", device="nvidia*200"), []),
        (Constraints(framework="onnxruntime", device="H100"), ["device"]),
        (Constraints(framework="onnxruntime", versions=">=1.31,<2"), []),
        (Constraints(framework="onnxruntime", versions="<1.31"), ["version"]),
        (Constraints(framework="pytorch", versions=">=2.9"), []),
        (Constraints(framework="openvino", versions=">=1"), ["framework"]),
        (Constraints(framework="onnxruntime", memory_bytes=8 * GIGABYTE), []),
        (Constraints(framework="onnxruntime", memory_bytes=8 * GIGABYTE + 1), ["memory"]),
        (
            Constraints(framework="pytorch", device="V100", versions="<2", memory_bytes=10**12),
            ["device", "version", "memory"],
        ),
    ],
)
def test_every_constraint_that_is_not_met_is_named(wanted: Constraints, lacks: list[str]) -> None:
    assert [each.constraint for each in unmet(wanted, AGENT)] == lacks


def test_a_version_that_cannot_be_compared_meets_no_range() -> None:
    built_here = announced("a", system(version="of today"))
    (lacking,) = unmet(Constraints(framework="onnxruntime", versions=">=1"), built_here)
    assert str(lacking) == "version: onnxruntime >=1 is wanted, and it has of today"
    assert not unmet(Constraints(framework="onnxruntime"), built_here)


def test_versions_of_an_event_that_are_none_are_met_by_no_agent() -> None:
    """Whoever writes to the topic need not have checked them."""
    (lacking,) = unmet(Constraints(framework="onnxruntime", versions="abc"), AGENT)
    assert lacking.constraint == "version"


def test_agents_of_one_system_are_asked_once_and_others_say_why_not() -> None:
    agents = [AGENT, announced("gpu:2", H200), announced("cpu:1", system())]
    systems, refusals = matched(Constraints(framework="onnxruntime", device="H200"), agents)
    assert systems == (H200,)
    (refusal,) = refusals
    assert (refusal.agent, [each.constraint for each in refusal.unmet]) == ("cpu:1", ["device"])


def test_versions_that_are_none_are_refused() -> None:
    with pytest.raises(BenanzaError, match="'newest' are no versions; give a range such as"):
        check(Constraints(framework="onnxruntime", versions="newest"))
