"""A short campaign of faults; `python -m tests.chaos` runs long ones."""

from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.campaign import campaign
from tests.chaos.faults import KINDS, kinds, schedule
from tests.chaos.models import write_models
from tests.chaos.publisher import plan
from tests.chaos.snapshot import Snapshot, differences


def test_the_same_seed_gives_the_same_models_and_faults(tmp_path: Path) -> None:
    first, second = (write_models(tmp_path / name, 5, seed=3) for name in ("a", "b"))
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert len({f.read_bytes() for f in first}) == 5
    assert plan(first, 60, seed=3) == plan(first, 60, seed=3) != plan(first, 60, seed=4)
    assert schedule(50, seed=3) == schedule(50, seed=3) != schedule(50, seed=4)


def test_every_process_gets_every_signal() -> None:
    faults = schedule(2 * len(KINDS), seed=3)
    assert set(Counter((fault.target, fault.how) for fault in faults).values()) == {2}


def test_every_difference_is_seen() -> None:
    wanted = Snapshot(
        events={"jobs": frozenset([("1", "a job")])},
        tables={"models": Counter("ab"), "bounds": Counter("d")},
        repeats={},
        benchmarks=Counter(),
        loose=(),
    )
    assert differences(wanted, wanted) == []
    lost, doubled = (
        wanted._replace(tables={"models": Counter("ab"), "bounds": Counter(bounds)})
        for bounds in ("", "dd")
    )
    (line,) = differences(lost, wanted)
    assert line == "table bounds: 1 wanted, 0 found; 1 missing, 0 too many, such as d"
    (line,) = differences(doubled, wanted)
    assert line == "table bounds: 1 wanted, 2 found; 0 missing, 1 too many, such as d"
    other = frozenset([("1", "another job")])
    (line,) = differences(wanted._replace(events={"jobs": other}), wanted)
    assert line.startswith("topic jobs: 1 wanted, 1 found; 1 missing, 1 too many")
    loose = ("results in the store: 1 wanted, 0 found",)
    assert differences(wanted._replace(loose=loose), wanted) == list(loose)


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("broker_can_start")
def test_after_faults_all_is_as_without_them(tmp_path: Path) -> None:
    # With this seed, so few faults are of all kinds.
    report = campaign(tmp_path, models=8, faults=13, seed=9315)
    assert report.wrong == []
    assert len(kinds(fault for _, fault in report.faults)) == 13
    assert report.layers > 20
