"""When GPUs were at work, and what they waited for."""

import pytest

from benanza.tracing.formats.recorded import ActivityKind
from benanza.tracing.spool import Timed
from benanza.tracing.timeline import timeline


def ran(
    start_us: float,
    us: float,
    launched_us: float | None = None,
    kind: ActivityKind = "kernel",
    name: str = "kernel",
    device: str = "0",
) -> Timed:
    ended = None if launched_us is None else launched_us + 5
    return Timed(kind, name, device, start_us, us, launched_us, ended)


def test_what_overlaps_counts_once() -> None:
    times = timeline([ran(0, 100), ran(50, 20), ran(60, 60)])
    assert (times.busy_us, times.idle_us, times.devices) == (120, 0, 1)


def test_collectives_are_exposed_where_nothing_else_runs() -> None:
    times = timeline(
        [
            ran(0, 100, kind="collective"),
            ran(40, 30),
            ran(90, 30),
            ran(120, 10, kind="collective"),
        ]
    )
    assert times.busy_us == 130
    assert times.exposed_collectives_us == 40 + 20 + 10


def test_a_gap_is_named_by_what_it_waited_for() -> None:
    times = timeline(
        [
            ran(0, 10, -20),
            ran(20, 10, 5),  # started before the GPU was idle
            ran(50, 10, 42),  # the host began to start it after 12 µs
            ran(70, 10, None),
            ran(90, 10, 85, name="Memcpy DtoH (Device -> Pageable)"),
            ran(150, 10, 140),
        ]
    )
    assert times.between_us == 10 + 10
    assert times.host_us == 12 + 5
    assert times.launching_us == 8 + 5
    assert times.synchronisation_us == 50
    assert times.busy_us + times.idle_us == pytest.approx(160)


def test_each_gpu_has_times_of_its_own() -> None:
    times = timeline([ran(0, 10), ran(20, 10), ran(0, 10, device="1")])
    assert (times.devices, times.busy_us, times.idle_us) == (2, 30, 10)
