"""It ends the process, so each has one of its own."""

import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.integration

PROGRAM = """
import itertools, logging, sys, time
from benanza_backbone.service.status_server import Check
from benanza_backbone.service.watchdog import Watchdog
logging.basicConfig(format="%(message)s")
began = time.monotonic()
looks = itertools.count()
def liveness():
    ago = time.monotonic() - began
    return [Check("one", True, ""), Check("two", {so}, f"after {{ago:.0f}} s")]
with Watchdog(liveness, 1.2):
    time.sleep({seconds})
time.sleep(2 * {after})
print("went on")
"""


def ran(so: str, seconds: float, after: int = 0) -> tuple[int, str, str]:
    program = PROGRAM.format(so=so, seconds=seconds, after=after)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_what_is_well_goes_on() -> None:
    assert ran("True", 2.5) == (0, "went on\n", "")


def test_what_hangs_for_a_while_goes_on() -> None:
    """Two looks of three find it hanging: never for so long at a time."""
    assert ran("next(looks) % 3 == 0", 3.5) == (0, "went on\n", "")


def test_what_goes_on_hanging_is_ended_with_the_reason() -> None:
    status, out, errors = ran("ago < 0.5", 30.0)
    assert (status, out) == (1, "")
    assert errors.startswith("the process hangs (two: after ")


def test_what_was_stopped_as_a_whole_goes_on() -> None:
    """Time goes on while a container is paused."""
    program = PROGRAM.format(so="looked()", seconds=6.0, after=0).replace(
        "def liveness",
        "seen = [began]\n"
        "def looked():\n"
        "    seen.append(time.monotonic())\n"
        "    return seen[-1] - seen[-2] < 1\n"
        "def liveness",
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=60)[0] == "went on\n"


def test_who_cannot_even_say_so_is_ended_by_the_system() -> None:
    """A thread holds what all that is logged has to pass."""
    program = PROGRAM.format(so="False", seconds=60.0, after=0).replace(
        "with Watchdog", "logging.root.handlers[0].acquire()\nwith Watchdog"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=50)
    assert done.returncode == -signal.SIGALRM


def test_once_closed_it_lets_the_process_be() -> None:
    assert ran("False", 0.3, after=1) == (0, "went on\n", "")
