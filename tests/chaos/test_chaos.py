"""A short campaign of faults; `python -m tests.chaos` runs long ones."""

import errno
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.campaign import campaign
from tests.chaos.faults import ENDS, KINDS, How, kinds, schedule
from tests.chaos.machine import Clock, Disk, disks_refused
from tests.chaos.models import write_models
from tests.chaos.publisher import plan
from tests.chaos.snapshot import Snapshot, differences


def test_the_same_seed_gives_the_same_models_and_faults(tmp_path: Path) -> None:
    first, second = (write_models(tmp_path / name, 5, seed=3) for name in ("a", "b"))
    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
    assert len({f.read_bytes() for f in first}) == 5
    assert plan(first, 60, seed=3) == plan(first, 60, seed=3) != plan(first, 60, seed=4)
    assert schedule(50, seed=3) == schedule(50, seed=3) != schedule(50, seed=4)


def test_everything_befalls_every_target_it_can() -> None:
    faults = schedule(2 * len(KINDS), seed=3)
    assert set(Counter((fault.target, fault.how) for fault in faults).values()) == {2}
    befalls = {how: {target for target, each in KINDS if each == how} for how in How}
    assert len(befalls[How.STOPPED]) == len(befalls[How.KILLED]) - 1 == 10  # "all" is only killed
    assert befalls[How.DISK_FULL] == {"broker", "clickhouse", "machine-1", "machine-2"}


def test_every_kind_comes_before_any_comes_twice() -> None:
    different = {fault.kind() for fault in schedule(len(KINDS), seed=3)}
    assert set(kinds(schedule(len(different), seed=4)).values()) == {1}


def test_faults_are_stretched_over_the_time() -> None:
    faults = schedule(500, seed=3, over_s=7200)
    assert 7000 < faults[-1].at_s < 7400
    stops = [fault.away_s for fault in faults if fault.how == How.STOPPED]
    assert 5 < min(stops) < 10
    assert 60 < max(stops) < 75
    away_long = [fault.away_s for fault in faults if fault.how == How.AWAY_LONG]
    assert min(away_long) > 25 < 100 < max(away_long) < 125
    killed = [fault.away_s for fault in faults if fault.how in ENDS[:2]]
    assert max(killed) < 25


def test_clocks_jump_both_ways_and_near_and_far() -> None:
    jumps = [fault.shift_s for fault in schedule(500, seed=3) if fault.how == How.CLOCK_JUMPS]
    assert min(jumps) < -3600 < 3600 < max(jumps)
    assert min(map(abs, jumps)) < 60


def test_where_disks_cant_be_had_they_are_left_out() -> None:
    faults = schedule(50, seed=3, without=[How.DISK_FULL])
    assert {fault.how for fault in faults} == set(How) - {How.DISK_FULL}


def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    if refused := disks_refused():
        pytest.skip(refused)
    with Disk(tmp_path / "disk") as disk:
        file = tmp_path / "disk" / "file"
        file.write_bytes(bytes(100_000))
        disk.fill()
        with pytest.raises(OSError, match="No space left") as raised, file.open("ab") as more:
            more.write(bytes(100_000))
        assert raised.value.errno == errno.ENOSPC
        disk.free()
        with file.open("ab") as more:
            more.write(bytes(100_000))
    assert not file.exists()


@pytest.mark.needs_program("cc")
def test_a_clock_jumps_in_a_process_that_runs_and_waits_are_as_long(tmp_path: Path) -> None:
    script = """
import sys, threading, time
for _ in sys.stdin:
    began = time.monotonic()
    threading.Event().wait(0.05)
    print(time.time(), time.monotonic() - began, flush=True)
"""
    with (
        Clock(tmp_path) as clock,
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clock.environment,
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        for ahead_s in (0.0, 7200.0, -7200.0, 0.0):
            clock.set_ahead(ahead_s)
            print(file=process.stdin, flush=True)
            time_s, waited_s = map(float, process.stdout.readline().split())
            assert time_s - time.time() == pytest.approx(ahead_s, abs=60)
            assert waited_s < 60
        process.stdin.close()


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
@pytest.mark.needs_program("cc")
@pytest.mark.usefixtures("broker_can_start")
def test_after_faults_all_is_as_without_them(tmp_path: Path) -> None:
    # Half of the kinds, of each target some; `make campaign` has all of them, several times.
    report = campaign(tmp_path, models=5, faults=12, seed=7, over_s=25)
    assert report.wrong == []
    assert len(kinds(fault for _, fault in report.faults)) == 12
    assert report.layers > 20
