"""A campaign of faults: `python -m tests.chaos --models 50 --faults 100 --seed 1`."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.campaign import campaign


def main() -> int:
    """Prints what happened; 1 if anything is not as without faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benanza-chaos-") as folder:
        report = campaign(Path(folder), options.models, options.faults, options.seed)
    print(f"{report.models} models, {report.layers} layers with jobs, in {report.seconds:.0f} s")
    print(f"{sum(report.faults.values())} faults:")
    for fault, count in report.faults.items():
        print(f"  {count:3}  {fault}")
    print(f"benchmarks done again: {report.repeated}")
    print(f"all as without faults {report.quiet_after_s:.0f} s after the last one")
    for line in report.wrong:
        print(f"WRONG: {line}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
