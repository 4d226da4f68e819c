"""Each defect makes one of the cases that CI runs end otherwise."""

from itertools import chain

import pytest

from tests.simulation.case import Case, case_of, run
from tests.simulation.defects import (
    DEFECTS,
    Defect,
    claims_are_all_alike,
    committed_before_it_is_written,
)
from tests.simulation.shrink import shrunk
from tests.simulation.test_simulation import FOUND, SEEDS

SHARPEST = (29, 152, 219)
"""Seeds that find what few others do. They come first, so that not all before them are run."""


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_defect_is_found(defect: Defect) -> None:
    cases = chain(FOUND, map(case_of, (*SHARPEST, *range(SEEDS))))
    assert any(run(case, defect).wrong for case in cases)


@pytest.mark.parametrize("case", FOUND)
def test_cases_found_before_depend_on_claims(case: Case) -> None:
    assert run(case, claims_are_all_alike).wrong


def test_a_case_is_shrunk_to_what_it_fails_by() -> None:
    defect = committed_before_it_is_written
    # A power failure kills only what is beside the store, and may need another fault with it.
    without = (c for c in map(case_of, range(SEEDS)) if "power" not in {f.kind for f in c.faults})
    failing = next(case for case in without if run(case, defect).wrong)
    small = shrunk(failing, lambda case: bool(run(case, defect).wrong))
    # Of what a case has by chance nothing is left: one crash is enough.
    assert [fault.kind for fault in small.faults] in (["crash"], ["refuse"])
    assert run(small, defect).wrong


def test_a_case_that_ends_well_is_not_shrunk() -> None:
    good = next(case for case in map(case_of, range(SEEDS)) if not run(case).wrong)
    assert shrunk(good, lambda case: bool(run(case).wrong)) == good
