"""Makes a case that fails smaller: fewer faults, fewer models."""

from collections.abc import Callable, Iterator

from tests.simulation.case import Case

SCHEDULES = 20
"""A smaller case goes another way, so that what it fails by may need another schedule."""


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case without all that it fails without: with a fault or a publication less it passes,
    whichever of some schedules is tried. One that doesn't fail stays as it is.
    """
    if not fails(case):
        return case
    while smaller := next(filter(fails, _smaller(case)), None):
        case = smaller
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for seed in range(case.seed, case.seed + SCHEDULES):
        for place in range(len(case.faults)):
            faults = case.faults[:place] + case.faults[place + 1 :]
            yield case._replace(seed=seed, faults=faults)
        for place in range(len(case.published)):
            published = case.published[:place] + case.published[place + 1 :]
            yield case._replace(seed=seed, published=published)
