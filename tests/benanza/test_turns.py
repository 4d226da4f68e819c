"""The Python API in several threads, and in a process that was forked."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benanza.turns import in_turn


def test_threads_take_turns_and_one_may_go_in_again() -> None:
    inside, most = 0, 0

    @in_turn
    def inner() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1

    @in_turn
    def outer() -> None:
        inner()

    threads = [threading.Thread(target=outer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (inside, most) == (0, 1)


TRIED = """
import os, sys, threading
import benanza

def bounds(out, data):
    try:
        out.append(len(benanza.bounds(data=data).bounds))
    except Exception as error:
        out.append(f"{type(error).__name__}: {error}")

data = sys.argv[1]
found = []
threads = [threading.Thread(target=bounds, args=(found, data)) for _ in range(4)]
[each.start() for each in threads]
[each.join() for each in threads]
print(found, flush=True)
if os.fork() == 0:
    found.clear()
    bounds(found, data)
    print(*found, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.integration
def test_threads_find_the_same_and_a_fork_is_told_so(
    data: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRIED, data],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
        check=True,
    )
    together, forked = done.stdout.splitlines()
    assert together == "[1, 1, 1, 1]"
    assert forked.startswith("BenanzaError: this process was forked after Benanza had been used")
    assert "spawn" in forked
