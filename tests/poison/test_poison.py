"""A short campaign of poison; `python -m tests.poison` runs long ones."""

from pathlib import Path

import pytest

from benanza_schemas.topics import DEDUPE_OWNERS, TOPICS
from tests.poison.__main__ import lines
from tests.poison.campaign import SERVICES, campaign
from tests.poison.memory import limits_bytes
from tests.poison.records import KINDS, poison

RECORDS = len(KINDS)


def test_the_same_seed_gives_the_same_records() -> None:
    first, second, other = ([poison(seed, n) for n in range(22)] for seed in (3, 3, 4))
    assert first == second != other
    assert [each.kind for each in first] == [*KINDS, *KINDS]
    assert {each.topic for each in first} <= {*TOPICS, DEDUPE_OWNERS}


def test_each_service_has_a_limit_of_memory() -> None:
    limits = limits_bytes(SERVICES)
    assert all(2**30 <= limit <= 8 * 2**30 for limit in limits.values())


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("broker_can_start")
def test_poison_stops_no_service(tmp_path: Path) -> None:
    report = campaign(tmp_path, RECORDS, seed=1)
    assert not report.wrong, "\n".join(lines(report))
    assert sum(report.outcomes.values()) == RECORDS
