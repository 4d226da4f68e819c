"""From the times of windows to those of calls."""

import os
import time

from benanza_runner.submitted.windows import (
    Overhead,
    TimedWindow,
    cpu_clock,
    overhead,
    samples_us,
    threads_at_once,
)


def test_what_one_thread_worked_counts_and_of_several_the_time_that_passed() -> None:
    assert TimedWindow(passed_us=900.0, worked_us=200.0, waited_us=750.0, calls=1).us == 200.0
    assert TimedWindow(passed_us=900.0, worked_us=1700.0, waited_us=0.0, calls=1).us == 900.0
    assert TimedWindow(passed_us=900.0, worked_us=200.0, waited_us=500.0, calls=1).us == 900.0


def test_threads_at_once_are_those_of_most_windows() -> None:
    worked = (1000.0, 1800.0, 2000.0)
    assert threads_at_once([TimedWindow(1000.0, us, 0.0, 1) for us in worked]) == 1.8


def test_the_least_overhead_is_taken_off() -> None:
    without = [TimedWindow(us, us, 0.0, 0) for us in (40.0, 20.0, 30.0)]
    empty = [TimedWindow(us, us, 0.0, 100) for us in (120.0, 220.0)]
    less = overhead(without, empty)
    assert less == Overhead(window_us=20.0, call_us=1.0)
    windows = [TimedWindow(us, us, 0.0, 10) for us in (130.0, 530.0)]
    assert samples_us(windows, less) == [10.0]
    assert samples_us([TimedWindow(25.0, 25.0, 0.0, 10)], less) == [0.0]


def test_the_clock_is_that_of_a_process() -> None:
    before = time.clock_gettime(cpu_clock(os.getpid()))
    own = time.process_time()
    while time.process_time() < own + 0.01:
        pass
    assert time.clock_gettime(cpu_clock(os.getpid())) >= before + 0.01
