"""How many calls a replay holds, with a made-up timer."""

import pytest

from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.search.replays import (
    FULL_CALLS,
    SCREENING_CALLS,
    WAKE_US,
    trial,
    wake,
)
from tests.runner.cuda.made_up_device import START_US, MadeUpDevice


def call_of(device: MadeUpDevice, us: float) -> Run:
    return lambda: device.run_for("call", us)


@pytest.mark.parametrize(
    ("us", "screening", "full"),
    [(0.5, SCREENING_CALLS, FULL_CALLS), (50.0, 3, 20), (149.0, 2, 7), (2_000.0, 1, 1)],
)
def test_short_calls_are_repeated_in_a_replay(us: float, screening: int, full: int) -> None:
    device = MadeUpDevice()
    run = call_of(device, us)
    made = trial(device, run, device.replayed(run, 1), us, "NCHW")
    assert made.kind == "NCHW"
    assert made.screening.calls == screening
    assert made.full(us).calls == full


def test_the_run_of_a_long_call_is_its_first_sample() -> None:
    device = MadeUpDevice()
    run = call_of(device, 2_000.0)
    once = device.replayed(run, 1)
    made = trial(device, run, once, 2_003.0, "")
    assert made.screening is once
    assert made.seen_us == (2_003.0,)
    assert trial(device, run, once, 20.0, "").seen_us == ()


def test_a_device_is_kept_at_work_until_it_is_awake() -> None:
    device = MadeUpDevice()
    wake(device.replayed(call_of(device, 100.0), 1))
    assert WAKE_US <= device.now_us < WAKE_US + 100.0 + START_US
