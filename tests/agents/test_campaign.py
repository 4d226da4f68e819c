"""A short campaign of faults; `python -m tests.agents` runs a long one, which evaluates a model."""

from collections import Counter
from pathlib import Path

import pytest

from benanza_backbone.kafka.connection import KafkaConnection
from tests.agents.campaign import AGENTS, SYSTEMS, Found, campaign
from tests.agents.faults import Fault, How, scheduled
from tests.dense_model import dense_model

pytestmark = pytest.mark.integration


def test_the_same_seed_gives_the_same_faults_and_each_kind_first() -> None:
    names = sorted(AGENTS)
    assert scheduled(names, 30, 1) == scheduled(names, 30, 1) != scheduled(names, 30, 2)
    assert len({(fault.target, fault.how) for fault in scheduled(names, 10, 1)}) == 10


def test_what_is_wrong_is_seen() -> None:
    one, other = SYSTEMS
    right = Found(
        results=Counter({("1", one): 1, ("1", other): 1}),
        wanted={("1", one), ("1", other)},
        failures={},
        takers={},
        together=[],
        runs=2,
        seconds=1.0,
    )
    assert right.wrong() == []
    for changes in (
        {"results": Counter({("1", one): 1})},
        {"results": right.results + Counter({("2", one): 1})},
        {"results": right.results + Counter({("1", one): 1})},
        {"together": ["device-0 7 together-with 6"]},
        {"failures": {("1", one): "there is not enough memory for it"}},
    ):
        assert len(right._replace(**changes).wrong()) == 1


FAULTS = (
    Fault("a", How.KILLED, 2.0, 0.1),
    Fault("c", How.PAUSED, 0.5, 1.0),
    Fault("b", How.RESTARTED, 0.5, 0.1),
)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_each_result_comes_once_whatever_befalls_the_agents(
    kafka: KafkaConnection, tmp_path: Path
) -> None:
    found = campaign(tmp_path, kafka, 4, FAULTS, model=dense_model())
    assert found.wrong() == []
