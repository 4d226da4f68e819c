"""Copies that start together over waiting events, or one after another: nothing is left waiting.

`python -m tests.dedupe.starts --times 30` runs each many times.
"""

from pathlib import Path

import pytest

from benanza_backbone.kafka.connection import KafkaConnection
from tests.dedupe.starts import SCENARIOS, run


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_is_left_waiting(scenario: str, kafka: KafkaConnection, tmp_path: Path) -> None:
    outcome = run(SCENARIOS[scenario], kafka, tmp_path)
    assert not outcome.wrong
