"""Seeds end as without faults, and the same seed does the same again."""

import os
import subprocess
import sys
from hashlib import sha256

import pytest

from tests.simulation.__main__ import main
from tests.simulation.case import Case, case_of, run
from tests.simulation.world import KINDS, Fault

SEEDS = 240
"""`make campaign` runs thousands."""
SHARES = 2

FOUND = (
    # An analyzer whose clock is ahead is taken for dead, and appends its last turn's bounds once
    # the other one has gone on.
    Case(0, (2, 6, 0), (Fault(1, "jump", 5), Fault(12, "pause", 24))),
    Case(0, (2, 6, 0), (Fault(1, "jump", 5), Fault(61, "pause", 24))),
    Case(7, (0, 2), (Fault(14, "jump", 5), Fault(31, "pause", 24))),
    Case(7, (5, 2, 10, 9), (Fault(8, "jump", 5), Fault(78, "pause", 24))),
    Case(35, (5, 2, 10, 9), (Fault(1, "jump", 5), Fault(30, "pause", 24))),
)
"""Cases that end otherwise where analyzers don't claim what they take over. When the faults happen
was looked for anew when topics were added, since each shifts what follows.
"""


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_an_installation_ends_as_without_faults(share: int) -> None:
    # Seeds that publish the same are in the same share: what they are compared with is made once.
    seeds = sorted(range(SEEDS), key=lambda seed: sorted(case_of(seed).published))
    first, after = (at * SEEDS // SHARES for at in (share, share + 1))
    wrong = {seed: w for seed in seeds[first:after] if (w := run(case_of(seed)).wrong)}
    assert not wrong, "see `python -m tests.simulation --shrink SEED`"


@pytest.mark.parametrize("found", FOUND)
def test_what_was_found_before_ends_well(found: Case) -> None:
    assert not run(found).wrong


@pytest.mark.parametrize(
    "seed",
    [
        # An analyzer takes over partitions of which one had more results than the other, and ends
        # before it has read them all again.
        *(21200, 1000056, 1016030, 1017999, 1045276, 1048762, 1056518, 1064985),
        *(1070449, 1083602, 1087180, 1089153, 1089566, 1094963),
        # One that was taken for dead appends what it found on its return, at last.
        *(1070282, 2005796, 2049147),
    ],
)
def test_a_seed_that_was_found_before_ends_well(seed: int) -> None:
    assert not run(case_of(seed)).wrong


def test_every_kind_of_fault_befalls_processes_in_the_first_seeds() -> None:
    traces = [line.split() for seed in range(60) for line in run(case_of(seed)).trace]
    assert set(KINDS) <= {words[1] for words in traces if words[0].endswith(":")}


def test_a_seed_repeats_exactly_in_another_process() -> None:
    # Another order of hashes must not matter either.
    command = (
        "from hashlib import sha256; from tests.simulation.case import case_of, run\n"
        "print(*(sha256('\\n'.join(run(case_of(s)).trace).encode()).hexdigest() for s in range(9)))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    done = subprocess.run(
        [sys.executable, "-c", command], env=environment, capture_output=True, check=True, text=True
    )
    here = [sha256("\n".join(run(case_of(seed)).trace).encode()).hexdigest() for seed in range(9)]
    assert done.stdout.split() == here


def test_the_command_shows_a_seed_and_counts_those_that_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["simulation", "--shrink", "3"])
    assert main() == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "seed 3"
    assert shown[-1] == "all as without faults"
    monkeypatch.setattr(sys, "argv", ["simulation", "--seeds", "4", "--processes", "1"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("4 seeds from 0 on, 0 of them wrong, in ")
