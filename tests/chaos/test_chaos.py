"""A short campaign of faults; `python -m tests.chaos` runs long ones."""

from pathlib import Path

import pytest

from tests.chaos.campaign import campaign
from tests.chaos.faults import schedule
from tests.chaos.models import write_models
from tests.chaos.oracle import Snapshot, differences


def test_the_same_seed_gives_the_same_models_and_faults(tmp_path: Path) -> None:
    first, second = (write_models(tmp_path / name, 5, seed=3) for name in ("a", "b"))
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert len({f.read_bytes() for f in first}) == 5
    services = ["ingest-1", "runner-1"]
    assert schedule(services, 50, seed=3) == schedule(services, 50, seed=3)
    assert schedule(services, 50, seed=3) != schedule(services, 50, seed=4)


def test_every_difference_is_seen() -> None:
    wanted = Snapshot(tables={"models": ["a", "b"], "layers": ["c"]}, bounds=["d"])
    assert differences(wanted, wanted) == []
    lost = wanted._replace(bounds=[])
    (line,) = differences(lost, wanted)
    assert line == "bounds: 1 rows wanted, 0 found; 1 missing, 0 too many"
    doubled = wanted._replace(tables={"models": ["a", "b", "b"], "layers": ["e"]})
    assert [line.partition(":")[0] for line in differences(doubled, wanted)] == ["models", "layers"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_faults_all_is_as_without_them(kafka_bootstrap: str, tmp_path: Path) -> None:
    del kafka_bootstrap  # so that this is skipped where no broker can be had
    report = campaign(tmp_path, models=6, faults=8, seed=1)
    assert report.wrong == ()
    assert sum(report.faults.values()) == 8
    assert report.models == 6
    assert report.layers > 20
