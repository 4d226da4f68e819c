"""The cheapest cover as an integer program, for components in which everything overlaps.

Which options to take is a set packing: each option that is taken saves the difference to its rows
alone, and each row may be in one option. HiGHS (Huangfu and Hall, "Parallelizing the dual revised
simplex method", 2018) searches for the best packing, and says how much better any other could be.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf

import highspy
import numpy as np
import numpy.typing as npt

MOST_NODES = 50
"""Of the search tree, after which the search ends. A limit in seconds would make the result depend
on what else the machine does."""

PROVEN = 1e-6
"""Microseconds, or layers, by which HiGHS may err."""

OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "parallel": "off",
    "threads": 1,
    "mip_max_nodes": MOST_NODES,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-7,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    # A good packing is known, and a search for better ones takes longer than all else.
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_root_reduced_cost": False,
}

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Packing:
    """The options to choose from. `conflicts` are sets of options of which one may be taken."""

    count: int
    conflicts: Sequence[frozenset[int]]

    def best(
        self, gains: Floats, known: list[int], required: Floats, at_least: float
    ) -> tuple[list[int], float]:
        """Options with the largest sum of gains, and how much larger another sum may be at most.

        Of all packings in which the sum of `required` is `at_least` so much, as in that of the
        options `known`.
        """
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in OPTIONS.items():
            solver.setOptionValue(name, value)
        solver.passModel(self._program(gains, required, at_least))
        start = highspy.HighsSolution()
        start.col_value = np.isin(np.arange(self.count), known).astype(float).tolist()
        solver.setSolution(start)
        solver.run()
        chosen = np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5).tolist()
        # Rounded, a solution may break a rule that it keeps within the tolerances.
        if not self._allows(chosen) or fsum(required[chosen].tolist()) < at_least:
            chosen = []
        best = max(known, chosen, key=lambda options: fsum(gains[options].tolist()))
        gap = -solver.getInfo().mip_dual_bound - fsum(gains[best].tolist())
        return best, gap if gap > PROVEN else 0.0

    def _allows(self, chosen: Sequence[int]) -> bool:
        return all(len(conflict.intersection(chosen)) <= 1 for conflict in self.conflicts)

    def _program(self, gains: Floats, required: Floats, at_least: float) -> highspy.HighsLp:
        rows = [*map(sorted, self.conflicts), np.flatnonzero(required).tolist()]
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = self.count, len(rows)
        program.col_cost_ = -gains
        program.col_lower_, program.col_upper_ = np.zeros(self.count), np.ones(self.count)
        program.integrality_ = [highspy.HighsVarType.kInteger] * self.count
        program.row_lower_ = np.array([-inf] * len(self.conflicts) + [at_least])
        program.row_upper_ = np.array([1.0] * len(self.conflicts) + [inf])
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.cumsum([0, *map(len, rows)])
        program.a_matrix_.index_ = np.array([option for row in rows for option in row])
        ones = np.ones(sum(map(len, self.conflicts)))
        program.a_matrix_.value_ = np.concatenate((ones, required[required != 0]))
        return program


def cheapest_packing(
    alone_us: Sequence[float],
    options: Sequence[tuple[int, ...]],
    times_us: Sequence[float],
    known: Sequence[int],
) -> tuple[list[int], float]:
    """The options in a cover with the fewest rows missing, and of these the least time; and how
    much time a cheaper cover could save at most, in microseconds. That is infinite if another
    cover might lack fewer rows.

    `alone_us` holds the time of each row alone, infinite for one that is missing unless an option
    covers it. `options` hold rows; `times_us` are their times, infinite where there is none.
    `known` are the options in some cover.
    """
    missing = [sum(alone_us[row] == inf for row in option) for option in options]
    saved_us = [
        fsum(alone_us[row] for row in option if alone_us[row] < inf) - us
        for option, us in zip(options, times_us, strict=True)
    ]
    useful = [
        option
        for option, us in enumerate(times_us)
        if us < inf and (missing[option] or saved_us[option] > 0)
    ]
    takers: dict[int, list[int]] = {}
    for index, option in enumerate(useful):
        for row in options[option]:
            takers.setdefault(row, []).append(index)
    conflicts = dict.fromkeys(
        frozenset(row_takers) for row_takers in takers.values() if len(row_takers) > 1
    )
    packing = Packing(len(useful), tuple(conflicts))
    missing_rows = np.array([missing[option] for option in useful], np.float64)
    chosen = [index for index, option in enumerate(useful) if option in known]
    # Two steps: one sum of both would have to weigh a layer so heavily that times drown.
    lacking = 0.0
    if missing_rows.any():
        chosen, lacking = packing.best(missing_rows, chosen, np.zeros(len(useful)), -inf)
    # Whole numbers, of which half of one less leaves out the same.
    at_least = fsum(missing_rows[chosen].tolist()) - 0.5
    gains = np.array([saved_us[option] for option in useful])
    chosen, gap_us = packing.best(gains, chosen, missing_rows, at_least)
    return [useful[index] for index in chosen], gap_us if lacking < 1 - PROVEN else inf
