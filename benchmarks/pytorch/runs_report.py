"""What came of running models as their bounds say: a summary, and a table of the times."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from benchmarks.pytorch.cells import begin, line, marked, us
from benchmarks.pytorch.rows import Ran

NEAR = 1.10
"""Up to so many times the bound, a run counts as near to it."""


def run_summary(rows: Sequence[Ran]) -> list[str]:
    """How near the runs come to their bounds, and what is wrong, was not compared or could not be
    run, with the reasons; nothing if there are no rows.
    """
    if not rows:
        return []
    ran = [row for row in rows if not row.failed()]
    wrong = [row for row in ran if is_wrong(row)]
    unchecked = [row for row in ran if not _is_compared(row)]
    failed = [row for row in rows if row.failed()]
    said = [f"Run as their bounds say: {len(ran)} of {len(rows)} models"]
    said += _near("in order", [_ratio(row.sequential_us, row.bound_us) for row in ran])
    said += _near("in the best way", [_ratio(row.best_us(), row.bound_us) for row in ran])
    said.append(
        f"results wrong: {len(wrong)}, not compared: {len(unchecked)}, not run: {len(failed)}"
    )
    reasons = [
        *(("wrong", _title(row)) for row in wrong),
        *((f"not compared, {row.unchecked}", _title(row)) for row in unchecked),
        *((f"not run, {row.failure}", _title(row)) for row in failed),
    ]
    return [f"{'; '.join(said)}.", *_by_reason(reasons)]


def run_times(rows: Iterable[Ran]) -> list[str]:
    """A line for each model that was run. In bold: a wrong result's error."""
    lines = [
        "| run as the bound says | precision | batch | bound, µs | in order, µs | in order / bound "
        "| with prefetching, µs | on streams, µs | best / bound | attainable, µs | in order / "
        "attainable | calls | error | allowed error |",
        f"|{'---|' * 14}",
    ]
    lines += [
        line(
            (
                *begin(row.key()),
                us(row.bound_us),
                us(row.sequential_us),
                _figure(_ratio(row.sequential_us, row.bound_us)),
                us(row.read_ahead_us),
                us(row.parallel_us),
                _figure(_ratio(row.best_us(), row.bound_us)),
                us(row.attainable_us),
                _figure(_ratio(row.sequential_us, row.attainable_us)),
                str(row.calls),
                marked(_error(row.error), is_wrong(row)),
                _error(row.allowed_error),
            )
        )
        for row in rows
        if not row.failed()
    ]
    return lines if len(lines) > 2 else []


def is_wrong(row: Ran) -> bool:
    """Whether the result is further from the reference than is allowed."""
    if row.error is None or row.allowed_error is None:
        return False
    return row.error > row.allowed_error


def _is_compared(row: Ran) -> bool:
    return row.error is not None and row.allowed_error is not None


def _ratio(time_us: float | None, bound_us: float | None) -> float | None:
    return time_us / bound_us if time_us and bound_us else None


def _figure(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


def _near(way: str, of_bound: Iterable[float | None]) -> Iterator[str]:
    """How many of these multiples of bounds are near to 1, if there are any."""
    if multiples := [multiple for multiple in of_bound if multiple is not None]:
        near = sum(multiple <= NEAR for multiple in multiples)
        yield (
            f"{way}, {near} within {NEAR:.2f} of the bound, median {median(multiples):.2f}, "
            f"worst {max(multiples):.2f}"
        )


def _by_reason(reasons: Iterable[tuple[str, str]]) -> Iterator[str]:
    titles: dict[str, list[str]] = defaultdict(list)
    for reason, title in reasons:
        titles[reason].append(title)
    for reason, of in titles.items():
        yield f"- {len(of)} {reason}: {', '.join(of)}"


def _title(row: Ran) -> str:
    return f"{row.model} {row.precision} batch {row.batch}"


def _error(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}"
