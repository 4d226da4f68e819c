"""Models that are shown no more, until somebody publishes them again."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benanza.conftest import Benanza

pytestmark = pytest.mark.integration


def test_a_forgotten_model_is_nowhere_and_all_of_it_is_known_again(
    benanza: Benanza, data: Path
) -> None:
    def known(command: str) -> Any:
        return json.loads(benanza(command, "--data", data, "--format", "json").stdout)

    before = known("bounds")
    wrong = benanza("forget", "squeezenet", "--batch", "7", "--data", data)
    assert wrong.returncode == 1
    assert "leave out --batch" in wrong.stderr
    done = benanza("forget", "squeezenet", "--data", data)
    assert done.stdout.startswith("forgot squeezenet with batch=1")
    assert known("bounds")["bounds"] == []
    assert known("status")["ingested"] == 0
    assert benanza("publish", "zoo:squeezenet", "--data", data).returncode == 0
    assert known("bounds") == before
    assert known("status")["ingested"] == 1
