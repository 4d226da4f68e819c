"""A machine that is busy with something else is told from a quiet one."""

from collections.abc import Callable

import pytest

from benanza_runner.measuring.busy import (
    OTHERS,
    STOLEN,
    Load,
    busy_between,
    doubts_as_environment,
    doubts_in,
    quiet_within,
)

START = Load(100.0, 4, busy_s=50.0, stolen_s=5.0, own_s=20.0, waited_s={1: 1.0, 2: 3.0})


def later(
    seconds: float,
    *,
    own: float = 0.0,
    others: float = 0.0,
    stolen: float = 0.0,
    waited: dict[int, float] | None = None,
) -> Load:
    threads = dict(START.waited_s)
    for thread, more in (waited or {}).items():
        threads[thread] = threads.get(thread, 0.0) + more
    return Load(
        START.at_s + seconds,
        START.cpus,
        START.busy_s + own + others,
        START.stolen_s + stolen,
        START.own_s + own,
        threads,
    )


@pytest.mark.parametrize(
    ("end", "by"),
    [
        (later(1.0, own=4.0), ()),
        (later(1.0, own=1.0, others=0.3), ()),
        (later(1.0, own=1.0, others=1.0), (OTHERS,)),
        # One tick of the kernel's counters is no load.
        (later(0.05, own=0.1, others=0.035), ()),
        (later(1.0, own=2.0, waited={2: 0.2}), (OTHERS,)),
        (later(1.0, own=2.0, waited={3: 0.2}), (OTHERS,)),
        (later(1.0, own=2.0, waited={1: 0.02, 2: 0.02}), ()),
        (later(1.0, own=2.0, stolen=0.5), (STOLEN,)),
        (later(1.0, own=2.0, others=2.0, stolen=0.5), (OTHERS, STOLEN)),
        # Its own time is counted more finely than that of all.
        (later(1.0, own=0.01, others=-0.01), ()),
    ],
)
def test_what_others_took_and_what_threads_waited_for_is_seen(
    end: Load, by: tuple[str, ...]
) -> None:
    assert busy_between(START, end).by == by


def test_the_shares_are_of_all_processors() -> None:
    busy = busy_between(START, later(2.0, own=4.0, others=2.0, stolen=0.8))
    assert busy.others == pytest.approx(0.25)
    assert busy.stolen == pytest.approx(0.1)


class Machine:
    """A machine with a clock that only sleeping moves; others work until `quiet_at`."""

    def __init__(self, quiet_at: float) -> None:
        self.now = 0.0
        self._quiet_at = quiet_at

    def look(self) -> Load:
        return Load(self.now, 2, min(self.now, self._quiet_at), 0.0, 0.0, {})

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("quiet_at", "quiet", "waited"), [(0.0, True, 0.5), (1.2, True, 2.0), (60.0, False, 3.0)]
)
def test_a_busy_machine_is_given_time_to_become_quiet(
    quiet_at: float, quiet: bool, waited: float
) -> None:
    machine = Machine(quiet_at)
    sleep: Callable[[float], None] = machine.sleep
    assert quiet_within(3.0, machine.look, sleep) is quiet
    assert machine.now == waited


@pytest.mark.parametrize("reasons", [(), (OTHERS,), (OTHERS, STOLEN)])
def test_what_an_environment_says_is_read_again(reasons: tuple[str, ...]) -> None:
    assert doubts_in(doubts_as_environment(reasons, stable=False)) == [*reasons]
    assert doubts_in(doubts_as_environment(reasons, stable=True)) == []
    assert doubts_in({}) == []
