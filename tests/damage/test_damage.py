"""A short campaign: damage is refilled, or refused in one line; never is there less in silence."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.damage.damages import flip
from tests.damage.folders import folders_in


def test_a_damage_can_be_made_again(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "clickhouse").mkdir(parents=True)
        for file in ("events.sqlite", "clickhouse/data.bin"):
            (tmp_path / name / file).write_bytes(bytes(1000))
        flip(Random("5 1"), tmp_path / name, folders_in(tmp_path))
    files = ("events.sqlite", "clickhouse/data.bin")
    one, other = ([(tmp_path / name / f).read_bytes() for f in files] for name in ("one", "other"))
    changed = [any(content) for content in one]
    assert (one, sum(changed)) == (other, 1)


@pytest.mark.slow
@pytest.mark.integration
def test_a_short_campaign_finds_nothing() -> None:
    """In a process of its own, which forks one for each try."""
    command = [sys.executable, "-m", "tests.damage", "--tries", "11", "--seed", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 tries" in done.stdout
    assert " refilled" in done.stdout
    assert " refused" in done.stdout
