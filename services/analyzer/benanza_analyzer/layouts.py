"""The layouts of a model's calls for which calls and layout conversions take the least time.

A call takes one time with channels first and another with channels last. A value that is read in
another layout than it was written in is converted, once for all its readers. So each call is on
one of two sides, and it costs something to be apart. Values with several readers are modelled as in
Kohli, Ladický and Torr, "Robust higher order potentials for enforcing label consistency", 2009.
"""

import numpy as np
import numpy.typing as npt

from benanza_analyzer.models.contraction import Positions
from benanza_analyzer.two_sides import cheapest_sides

Floats = npt.NDArray[np.float64]

PICOSECONDS = 1e6
"""In a microsecond. Costs are whole picoseconds: with floats a cut may not terminate."""


def channels_last(
    first_us: Floats,
    last_us: Floats,
    conversion_us: Floats,
    sources: Positions,
    targets: Positions,
) -> npt.NDArray[np.bool_]:
    """For each call, whether it has channels last.

    `first_us` and `last_us` are the calls' times with channels first and last, in microseconds;
    infinite where a call doesn't support the layout, which is at most one of the two.
    `conversion_us` is the time of converting what each call writes, which is finite. Edges lead
    from calls in `sources` to their readers in `targets`, each pair once.
    """
    count = len(first_us)
    if (first_us <= last_us).all():
        return np.zeros(count, np.bool_)
    if (last_us <= first_us).all():
        return np.ones(count, np.bool_)
    times_us = np.stack((first_us, last_us), axis=1)
    supported = np.isfinite(times_us)
    alone = _whole(np.where(supported, times_us, 0.0))
    costs = _whole(conversion_us)
    dear = costs[sources] > 0
    sources, targets = sources[dear], targets[dear]
    readers = np.bincount(sources, minlength=count)
    several = readers[sources] > 1
    one, its_reader = sources[~several], targets[~several]
    # Of the nodes for a value with several readers, one is on the last side if any reader is, the
    # other one on the first side likewise: to be apart from a reader saves nothing.
    values = np.flatnonzero(readers > 1)
    any_last = np.zeros(count, np.int64)
    any_last[values] = count + np.arange(len(values))
    any_first = any_last + len(values)
    writers, reading = sources[several], targets[several]
    edges = (
        (one, its_reader, costs[one]),
        (its_reader, one, costs[one]),
        (values, any_last[values], costs[values]),
        (any_first[values], values, costs[values]),
        (any_last[writers], reading, costs[writers]),
        (reading, any_first[writers], costs[writers]),
    )
    on_0, on_1, pair_cost = (np.concatenate(arrays) for arrays in zip(*edges, strict=True))
    more = np.zeros((2 * len(values), 2), np.int64)
    # What isn't supported costs more than all else together.
    alone[~supported] = alone.sum() + pair_cost.sum() + 1
    # Side 0 is channels first.
    sides = cheapest_sides(np.concatenate((alone, more)), on_0, on_1, pair_cost)
    return sides[:count].astype(np.bool_)


def _whole(us: Floats) -> npt.NDArray[np.int64]:
    """Whole picoseconds."""
    return np.rint(us * PICOSECONDS).astype(np.int64)


def conversions_us(
    last: npt.NDArray[np.bool_], conversion_us: Floats, sources: Positions, targets: Positions
) -> Floats:
    """The time of converting what each call writes, in microseconds; zero unless a reader has the
    other layout.

    `last` says for each call whether it has channels last; the rest is as for `channels_last`.
    """
    converting_us = np.zeros(len(last))
    converted = sources[last[sources] != last[targets]]
    converting_us[converted] = conversion_us[converted]
    return converting_us
