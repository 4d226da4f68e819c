"""What the search for the fastest variant finds and costs, against timing all of them in full."""

from collections.abc import Iterable, Sequence

import msgspec

from benanza_schemas.events import Variant
from benanza_schemas.times import time_us

NEAR = 1.02
"""The search's choice may take so many times as long as the best of all."""

SHARE = 0.2
"""The search may take this share of the time that timing everything in full takes."""


class Cost(msgspec.Struct, frozen=True):
    """Seconds: `all` from the first candidate to the last sample, with building and checking;
    `gpu` is how long the GPU was timed at work meanwhile.
    """

    all: float
    gpu: float


class SearchResult(msgspec.Struct, frozen=True):
    """What one way of searching found: how many variants it was offered and timed, the best, its
    time in microseconds, and what the search cost.
    """

    offered: int
    timed: int
    best: str
    best_us: float
    cost: Cost


class Compared(msgspec.Struct, frozen=True):
    """A layer whose variants were searched in both ways.

    `chosen_us` is the exhaustive run's time of what the search chose, if it has one: both times
    that are compared come from one run, so that noise between runs doesn't count. `fate` is what
    the search did with the best of all.
    """

    layer: str
    fingerprint: str
    precision: str
    batch: int
    search: SearchResult
    exhaustive: SearchResult
    chosen_us: float | None
    fate: str

    @property
    def ratio(self) -> float | None:
        """How many times as long as the best of all the search's choice takes."""
        return None if self.chosen_us is None else self.chosen_us / self.exhaustive.best_us


class Totals(msgspec.Struct, frozen=True):
    """The worst ratio of some layers, the share of layers that are near, and the search's cost as a
    share of timing everything. A layer without a ratio is not near.
    """

    worst: float
    near: float
    seconds: float
    gpu_seconds: float


def compared(
    layer: str,
    fingerprint: str,
    precision: str,
    batch: int,
    search: tuple[Sequence[Variant], Cost],
    exhaustive: tuple[Sequence[Variant], Cost],
) -> Compared:
    """Both ways of searching, compared. Raises `ValueError` where one of them timed nothing."""
    searched, everything = _result(*search), _result(*exhaustive)
    return Compared(
        layer=layer,
        fingerprint=fingerprint,
        precision=precision,
        batch=batch,
        search=searched,
        exhaustive=everything,
        chosen_us=_times(exhaustive[0]).get(searched.best),
        fate=_fate(search[0], everything.best),
    )


def totals(rows: Sequence[Compared]) -> Totals:
    """The totals of at least one layer."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    costs = [(row.search.cost, row.exhaustive.cost) for row in rows]
    return Totals(
        worst=max(ratios, default=float("nan")),
        near=sum(ratio <= NEAR for ratio in ratios) / len(rows),
        seconds=sum(search.all for search, _ in costs) / sum(every.all for _, every in costs),
        gpu_seconds=sum(search.gpu for search, _ in costs) / sum(every.gpu for _, every in costs),
    )


def markdown(rows: Sequence[Compared]) -> str:
    """A table with a row for each layer, and one with the totals of each kind of run and of all."""
    lines = [
        "| layer | | variants: search | all | best µs: search | all | ratio | "
        "GPU s: search | all | s: search | all | the best of all, in the search |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(row) for row in rows]
    lines += [
        "",
        "| | layers | worst ratio | within 2% | GPU s | s | |",
        "|---|---|---|---|---|---|---|",
    ]
    kinds = list(dict.fromkeys((row.precision, row.batch) for row in rows))
    for kind in kinds:
        some = [row for row in rows if (row.precision, row.batch) == kind]
        lines.append(_total(f"{kind[0]} batch {kind[1]}", some))
    if len(kinds) > 1:
        lines.append(_total("all", rows))
    return "\n".join(lines)


def _result(variants: Sequence[Variant], cost: Cost) -> SearchResult:
    times = _times(variants)
    if not times:
        failures = (variant.failure for variant in variants if variant.failure)
        raise ValueError("; ".join(dict.fromkeys(failures)) or "no variant")
    best = min(times, key=lambda name: times[name])
    timed = sum(not variant.failure for variant in variants)
    return SearchResult(len(variants), timed, best, times[best], cost)


def _times(variants: Iterable[Variant]) -> dict[str, float]:
    """The median of each variant that was timed; the lesser where a name came twice."""
    times: dict[str, float] = {}
    for variant in variants:
        if not variant.failure:
            name = _name(variant)
            median_us, _ = time_us(variant)
            times[name] = min(median_us, times.get(name, median_us))
    return times


def _name(variant: Variant) -> str:
    return " ".join(filter(None, (variant.library, variant.layout, variant.algorithm)))


def _fate(variants: Iterable[Variant], name: str) -> str:
    fates = [_became(variant) for variant in variants if _name(variant) == name]
    return fates[0] if fates else "not offered"


def _became(variant: Variant) -> str:
    """What the search did with a variant: `timed in full, 2.32 µs`, or why it failed."""
    if variant.failure:
        return variant.failure
    way = "timed in full" if variant.stopped_by.in_full else variant.stopped_by.name.lower()
    return f"{way}, {time_us(variant)[0]:.2f} µs"


def _row(row: Compared) -> str:
    search, everything = row.search, row.exhaustive
    ratio = "?" if row.ratio is None else f"{row.ratio:.3f}"
    fate = "chosen" if search.best == everything.best else row.fate
    cells = (
        row.layer,
        f"{row.precision} batch {row.batch}",
        f"{search.timed} of {search.offered}",
        f"{everything.timed} of {everything.offered}",
        f"{search.best_us:.2f}",
        f"{everything.best_us:.2f}",
        ratio,
        f"{search.cost.gpu:.2f}",
        f"{everything.cost.gpu:.2f}",
        f"{search.cost.all:.1f}",
        f"{everything.cost.all:.1f}",
        fate,
    )
    return f"| {' | '.join(cells)} |"


def _total(title: str, rows: Sequence[Compared]) -> str:
    total = totals(rows)
    met = total.near == 1 and total.gpu_seconds <= SHARE
    cells = (
        title,
        str(len(rows)),
        f"{total.worst:.3f}",
        f"{total.near:.0%}",
        f"{total.gpu_seconds:.1%} of all",
        f"{total.seconds:.1%} of all",
        "met" if met else "not met",
    )
    return f"| {' | '.join(cells)} |"
