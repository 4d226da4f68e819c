"""Simulates many seeds, or shows one: `python -m tests.simulation --seeds 1000`."""

import argparse
import sys
import time
from multiprocessing import get_context

from tests.simulation.case import Case, case_of, run, wrong_with
from tests.simulation.inputs import publications
from tests.simulation.shrink import shrunk

AT_ONCE = 100


def main() -> int:
    """Prints each seed whose end is not as without faults; 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="SEED")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", type=int, metavar="SEED", help="prints what happens, in order")
    parser.add_argument("--shrink", type=int, metavar="SEED", help="the same with the least faults")
    options = parser.parse_args()
    if options.show is not None:
        return _show(case_of(options.show))
    if options.shrink is not None:
        return _show(shrunk(case_of(options.shrink), lambda case: bool(run(case).wrong)))
    return _search(range(options.first, options.first + options.seeds), options.processes)


def _search(seeds: range, processes: int) -> int:
    began, failed = time.monotonic(), 0
    with get_context("spawn").Pool(processes) as pool:
        for seed, wrong in pool.imap_unordered(wrong_with, seeds, AT_ONCE):
            if wrong:
                failed += 1
                _say(f"seed {seed}:", *wrong)
    took = time.monotonic() - began
    _say(
        f"{len(seeds):,} seeds from {seeds.start:,} on, {failed:,} of them wrong, in {took:.0f} s: "
        f"{len(seeds) / took * 3600:,.0f} an hour"
    )
    return 1 if failed else 0


def _show(case: Case) -> int:
    result = run(case)
    _say(f"seed {case.seed}", f"publishes {', '.join(map(_named, case.published))}")
    _say(*(f"{fault.kind} {fault.amount} at effect {fault.at}" for fault in case.faults))
    _say(*result.trace, *(result.wrong or ["all as without faults"]))
    return 1 if result.wrong else 0


def _named(place: int) -> str:
    message = publications()[place]
    return f"{place} ({message.topic} {message.key.decode()[:8]})"


def _say(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)  # noqa: T201  # it is a command


if __name__ == "__main__":
    sys.exit(main())
