"""When enough samples have been taken.

The median has converged once its 95% confidence interval is narrow. McGill, Tukey and Larsen
("Variations of box plots", 1978) give that interval as median ± 1.57 · IQR / √n.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from benanza_schemas.vocabulary import StoppedBy


class Rule(NamedTuple):
    """How long to sample. Times are in microseconds.

    Sampling ends as soon as there are `samples` samples that took `least_us` together and the
    median is known to within `tolerance`. It also ends, whatever the noise, at `max_samples`, and
    at `cap_us` if there are `few_samples` by then; without these, at a hundred times the cap.
    """

    warm_up_us: float = 5_000
    samples: int = 20
    least_us: float = 30_000
    few_samples: int = 5
    tolerance: float = 0.005
    cap_us: float = 100_000
    max_samples: int = 1_000


class Summary(NamedTuple):
    """Samples in three numbers, in the unit of the samples."""

    minimum: float
    median: float
    iqr: float


def summary(ordered: Sequence[float]) -> Summary:
    """Minimum, median and interquartile range of samples in ascending order, at least one."""
    lower, median, upper = (_quantile(ordered, q) for q in (0.25, 0.5, 0.75))
    return Summary(ordered[0], median, upper - lower)


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Linear interpolation between the two samples next to the quantile, as NumPy does."""
    place = q * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def stopped_by(ordered: Sequence[float], spent_us: float, rule: Rule) -> StoppedBy | None:
    """What ends the sampling now, or None if it goes on.

    `ordered` holds the samples so far in ascending order, at least one; `spent_us` is the time
    that they took together, in microseconds.
    """
    count = len(ordered)
    capped = count >= rule.max_samples or (
        spent_us >= rule.cap_us and (count >= rule.few_samples or spent_us >= 100 * rule.cap_us)
    )
    enough = count >= rule.samples and spent_us >= rule.least_us
    if not (capped or enough):
        return None
    if _has_converged(ordered, rule.tolerance):
        return StoppedBy.CONVERGED
    return StoppedBy.CAP if capped else None


def _has_converged(ordered: Sequence[float], tolerance: float) -> bool:
    _, median, iqr = summary(ordered)
    return 1.57 * iqr / sqrt(len(ordered)) <= tolerance * median
