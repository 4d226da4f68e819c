"""A campaign of faults: `python -m tests.chaos --models 50 --faults 100 --seed 1`."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.campaign import Report, campaign
from tests.chaos.faults import concerns, kinds

BEFORE_S = 5.0
"""A fault may show so much later: offsets are committed every few seconds."""


def main() -> int:
    """Prints what happened; 1 if anything is not as without faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--over", type=float, help="seconds in which they happen; 4.5 for each")
    parser.add_argument("--folder", type=Path, help="keeps all files there; it must not exist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benanza-chaos-") as temporary:
        folder = options.folder or Path(temporary, "campaign")
        folder.mkdir(parents=True)
        report = campaign(folder, options.models, options.faults, options.seed, options.over)
    print()
    for line in lines(report):
        print(line)
    return 1 if report.wrong else 0


def lines(report: Report) -> Iterator[str]:
    """The report for people."""
    yield f"seed {report.seed}, {report.seconds:.0f} s"
    yield f"{report.models} models, {report.published} events of models, with what is none"
    yield f"{report.layers} unique layers"
    for times, count in sorted(report.benchmarks.items()):
        yield f"  {count:4}  benchmarked {times} times"
    yield f"{len(report.faults)} faults:"
    for kind, count in kinds(fault for _, fault in report.faults).items():
        yield f"  {count:4}  {kind}"
    if report.left_out:
        yield f"  {report.left_out}"
    yield "ended by themselves, as they may, and were started again:"
    for (kind, process), count in sorted(report.own_endings.items()):
        yield f"  {count:4}  {process} under {kind}"
    yield "events that came again, with the same id and no effect:"
    for topic, count in report.repeats.items():
        yield f"  {count:4}  {topic}"
    yield "the longest time for which a service had work and did none:"
    for service, gap in report.gaps.items():
        yield f"  {gap.length_s():6.1f} s  {service}, from {gap.began_s:.1f} s on"
        for at_s, fault in report.faults:
            if gap.began_s - BEFORE_S <= at_s <= gap.ended_s and concerns(fault, service):
                yield f"              {at_s:.1f} s {fault}"
    yield f"services cut off while what they needed was away: {report.cut_off}"
    yield f"quiet {report.quiet_after_s:.1f} s after the last process came back"
    for wrong in report.wrong:
        yield f"WRONG: {wrong}"
    yield "NOT as without faults" if report.wrong else "all as without faults"


if __name__ == "__main__":
    sys.exit(main())
