"""Makes a case that fails smaller: fewer faults, fewer models."""

from collections.abc import Callable, Iterator

from tests.simulation.case import Case


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case without all that it fails without: a fault or a publication less makes it pass.

    Raises `ValueError` if it doesn't fail.
    """
    if not fails(case):
        raise ValueError(f"seed {case.seed} ends as without faults")
    while smaller := next(filter(fails, _smaller(case)), None):
        case = smaller
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for place in range(len(case.faults)):
        yield case._replace(faults=case.faults[:place] + case.faults[place + 1 :])
    for place in range(len(case.published)):
        yield case._replace(published=case.published[:place] + case.published[place + 1 :])
