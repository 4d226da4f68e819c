"""Seeds end as without faults, and the same seed does the same again."""

import os
import subprocess
import sys
from hashlib import sha256

import pytest

from tests.simulation.case import case_of, run
from tests.simulation.world import KINDS

SEEDS = 1000
SHARES = 4


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_an_installation_ends_as_without_faults(share: int) -> None:
    wrong = {seed: w for seed in range(share, SEEDS, SHARES) if (w := run(case_of(seed)).wrong)}
    assert not wrong, "see `python -m tests.simulation --shrink SEED`"


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
