"""Tries hostile models and events: `python -m tests.fuzz --seconds 600 --seed 1`.

`python -m tests.fuzz --seed 1 --show NUMBER` does it with one input in this process.
"""

import argparse
import sys
from collections.abc import Iterator

from tests.fuzz.campaign import Tally, campaign
from tests.fuzz.cases import KINDS, case
from tests.fuzz.outcome import outcome


def main() -> int:
    """Prints the figures; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--kind", choices=KINDS, help="inputs of this kind only")
    parser.add_argument("--show", type=int, help="one input alone, by its number")
    options = parser.parse_args()
    if options.show is not None:
        each = case(options.seed, options.show)
        print(each.kind, len(each.content), "bytes, batch", each.batch, outcome(each))
        return 0
    tally = campaign(
        options.seed, numbers(options.first, options.inputs, options.kind), options.seconds
    )
    for line in lines(tally):
        print(line)
    return 1 if tally.wrong else 0


def numbers(first: int, count: int, kind: str | None) -> range:
    """Of so many inputs of this kind, or of all kinds in turn, from the first on."""
    if kind is None:
        return range(first, first + count)
    begin = first + (KINDS.index(kind) - first) % len(KINDS)
    return range(begin, begin + count * len(KINDS), len(KINDS))


def lines(tally: Tally) -> Iterator[str]:
    """The figures for people."""
    rate = tally.inputs / tally.seconds
    yield f"{tally.inputs:,} inputs in {tally.seconds:,.0f} s, {rate:,.0f} a second"
    for kind in KINDS:
        ends = {end: count for (of, end), count in sorted(tally.ends.items()) if of == kind}
        if ends:
            yield f"  {kind}: " + ", ".join(f"{count:,} {end}" for end, count in ends.items())
    yield f"slowest: {tally.slowest:.2f} s of the processor"
    for found in tally.wrong:
        yield f"WRONG: {found.number} ({found.kind}) {found.end}: {found.said[:300]!r}"
    yield f"{len(tally.wrong)} went wrong"


if __name__ == "__main__":
    sys.exit(main())
