"""The counters of this machine."""

import time

from benanza_runner.machine_load import machine_load


def test_own_work_is_counted_as_own() -> None:
    before = machine_load()
    while time.process_time() < before.own_s + 0.3:
        sum(range(1000))
    after = machine_load()
    assert after.at_s > before.at_s
    assert after.cpus == before.cpus >= 1
    assert after.own_s - before.own_s > 0.2
    # The kernel counts what everybody did in ticks of ten milliseconds.
    assert after.busy_s - before.busy_s > after.own_s - before.own_s - 0.1
    assert after.stolen_s >= before.stolen_s
    for thread, seconds in after.waited_s.items():
        assert seconds >= before.waited_s.get(thread, 0.0)
