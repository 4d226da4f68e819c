"""Publishes poison to running services: `python -m tests.poison --records 500 --seed 1`.

Each record must be refused by the broker, taken, or become a dead letter; no service may end or
take more memory than `docker-compose.yml` gives it; and good models must have bounds at the end.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.poison.campaign import DEAD, REFUSED, SERVICES, TAKEN, UNREAD, Report, campaign
from tests.poison.memory import limits_bytes
from tests.poison.records import KINDS


def main() -> int:
    """Prints the summary; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.poison", description=__doc__)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benanza-poison-") as folder:
        report = campaign(Path(folder), options.records, options.seed)
    for line in lines(report):
        print(line)
    return 1 if report.wrong else 0


def lines(report: Report) -> Iterator[str]:
    """The report for people."""
    yield (
        f"seed {report.seed}: {report.records} records of poison among {report.models} models "
        f"in {report.seconds:.0f} s"
    )
    for kind in KINDS:
        counts = [
            f"{report.outcomes[kind, outcome]} {outcome}"
            for outcome in (REFUSED, DEAD, TAKEN, UNREAD)
            if report.outcomes.get((kind, outcome))
        ]
        yield f"  {kind}: {', '.join(counts)}"
    for name, limit in limits_bytes(SERVICES).items():
        peak = report.peaks_bytes[name]
        yield f"{name} took at most {peak / 2**20:,.0f} MiB of {limit / 2**20:,.0f}"
    for wrong in report.wrong:
        yield f"WRONG: {wrong}"
    yield f"{len(report.wrong)} went wrong"


if __name__ == "__main__":
    sys.exit(main())
