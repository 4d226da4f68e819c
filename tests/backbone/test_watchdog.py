"""It ends the process, so each has one of its own."""

import subprocess
import sys

PROGRAM = """
import logging, sys, time
from benanza_backbone.status_server import Check
from benanza_backbone.watchdog import Watchdog
logging.basicConfig(format="%(message)s")
began = time.monotonic()
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
    assert ran("int(ago / 0.8) % 2", 3.5) == (0, "went on\n", "")


def test_what_goes_on_hanging_is_ended_with_the_reason() -> None:
    status, out, errors = ran("ago < 0.5", 30.0)
    assert (status, out) == (1, "")
    assert errors.startswith("this is no longer so: two (after 2 s)\n")
    assert "one" not in errors.splitlines()[0]


def test_once_closed_it_lets_the_process_be() -> None:
    assert ran("False", 0.3, after=1) == (0, "went on\n", "")
