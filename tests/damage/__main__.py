"""Damages data folders: `python -m tests.damage --tries 1000 --seed 1`.

`python -m tests.damage --tries 1 --seed 1 --first NUMBER` does one of them again.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.damage.campaign import Tally, campaign
from tests.damage.folders import make_folders

MODELS = ("zoo:squeezenet", "zoo:alexnet", "zoo:zfnet512")


def main() -> int:
    """Prints the figures; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.damage", description=__doc__)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=86_400.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first try")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.tries)
    with tempfile.TemporaryDirectory(prefix="benanza-damage-") as name:
        root = Path(name)
        # A child, since an engine that was started can't be forked.
        child = os.fork()
        if not child:
            make_folders(root, MODELS)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        tally = campaign(options.seed, numbers, options.seconds, root)
    print("\n".join(lines(tally)))
    return 1 if tally.wrong else 0


def lines(tally: Tally) -> Iterator[str]:
    """The figures for people."""
    yield f"{tally.ends.total():,} tries, {tally.cpu_s:,.0f} s of the processor"
    for kind in sorted({kind for kind, _ in tally.ends}):
        ends = sorted((end, count) for (of, end), count in tally.ends.items() if of == kind)
        yield f"  {kind}: " + ", ".join(f"{count:,} {end}" for end, count in ends)
    for found in tally.wrong:
        yield f"WRONG: {found.number} ({found.kind}: {found.what}) {found.end}: {found.said}"
    yield f"{len(tally.wrong)} went wrong"


if __name__ == "__main__":
    sys.exit(main())
