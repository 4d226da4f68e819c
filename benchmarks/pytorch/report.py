"""Tables of what `benchmarks.pytorch.compare` found:

    python -m benchmarks.pytorch.report FILE ...

prints them for the results of several runs, of which the last one of a model counts.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from benanza_schemas.layer import Precision
from benchmarks.pytorch.cells import begin, line, marked, us
from benchmarks.pytorch.rows import Bounded, Key, Ran, Row, Software, Timed, TorchAttempt, read
from benchmarks.pytorch.runs_report import run_summary, run_times


def markdown(rows: Sequence[Row]) -> str:
    """Tables: how many bounds hold, each beside the best of PyTorch, how long each configuration
    took, what models take that are run as their bounds say, and what failed or is missing in a
    bound.
    """
    timed = {row.key(): row for row in rows if isinstance(row, Timed)}
    bounded = {row.key(): row for row in rows if isinstance(row, Bounded)}
    ran = {row.key(): row for row in rows if isinstance(row, Ran)}
    keys = list(dict.fromkeys([*timed, *bounded]))
    tables = [
        versions(rows),
        _holds(keys, timed, bounded),
        _compared(keys, timed, bounded),
        _configurations(timed),
        run_summary([*ran.values()]),
        run_times(ran.values()),
        _failures(keys, timed, bounded),
    ]
    return "\n\n".join("\n".join(table) for table in tables if table)


def versions(rows: Iterable[Row]) -> list[str]:
    """The device and the libraries of each side, a line each."""
    by_side = {row.side: row.versions for row in rows if isinstance(row, Software)}
    return [
        f"{side}: {', '.join(f'{name} {version}' for name, version in versions.items())}."
        for side, versions in by_side.items()
    ]


def _compared(
    keys: Iterable[Key], timed: dict[Key, Timed], bounded: dict[Key, Bounded]
) -> list[str]:
    """A row for each model and precision. In bold: a ratio below 1, and more calls than PyTorch has
    kernels.
    """
    lines = [
        "| model | precision | batch | bound, µs | layout | calls | PyTorch at its best, µs | as | "
        "kernels | PyTorch / bound | layers in the bound |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for key in keys:
        bound = bounded.get(key)
        if bound and bound.failed():
            bound = None
        best = timed[key].best() if key in timed else None
        cells = (
            *begin(key),
            us(bound.bound_us if bound else None),
            bound.layout if bound else "",
            marked(str(bound.calls), _more_calls(best, bound)) if bound else "",
            us(best.median_us if best else None),
            best.configuration if best else "",
            str(best.kernels) if best and best.kernels is not None else "",
            _ratio(best, bound),
            f"{bound.measured()} of {bound.counted}" if bound else "",
        )
        lines.append(line(cells))
    return lines


def _holds(keys: Iterable[Key], timed: dict[Key, Timed], bounded: dict[Key, Bounded]) -> list[str]:
    """At each precision and batch size, how many bounds hold, of those that can be compared."""
    compared: dict[tuple[Precision, int], list[tuple[TorchAttempt, Bounded]]] = {}
    for key in keys:
        best = timed[key].best() if key in timed else None
        if best and key in bounded and not bounded[key].failed():
            compared.setdefault(key[1:], []).append((best, bounded[key]))
    if not compared:
        return []
    lines = [
        "| precision | batch | models compared | PyTorch faster | least PyTorch / bound | median | "
        "more calls than kernels |",
        "|---|---|---|---|---|---|---|",
    ]
    for (precision, batch), pairs in compared.items():
        ratios = [best_us / bound_us for best_us, bound_us in map(_times, pairs)]
        cells = (
            precision,
            str(batch),
            str(len(pairs)),
            str(sum(ratio < 1 for ratio in ratios)),
            f"{min(ratios):.2f}",
            f"{median(ratios):.2f}",
            str(sum(_more_calls(*pair) for pair in pairs)),
        )
        lines.append(line(cells))
    return lines


def _times(pair: tuple[TorchAttempt, Bounded]) -> tuple[float, float]:
    best, bound = pair
    return best.median_us or 0.0, bound.bound_us or 0.0


def _configurations(timed: dict[Key, Timed]) -> list[str]:
    """A column for each configuration. One with a wrong result has no time there."""
    names = list(
        dict.fromkeys(attempt.configuration for row in timed.values() for attempt in row.attempts)
    )
    if not names:
        return []
    lines = [
        f"| PyTorch, µs | precision | batch | {' | '.join(names)} |",
        f"|---|---|---|{'---|' * len(names)}",
    ]
    for key, row in timed.items():
        times_us = {
            attempt.configuration: attempt.median_us
            for attempt in row.attempts
            if not attempt.failure
        }
        lines.append(line((*begin(key), *(us(times_us.get(name)) for name in names))))
    return lines


def _failures(
    keys: Iterable[Key], timed: dict[Key, Timed], bounded: dict[Key, Bounded]
) -> list[str]:
    lines = []
    for key in keys:
        title = f"{key[0]} {key[1]} batch {key[2]}"
        if key not in timed:
            lines.append(f"- {title}: not timed in PyTorch")
        elif timed[key].failure:
            lines.append(f"- {title}, PyTorch: {timed[key].failure}")
        for attempt in timed[key].attempts if key in timed else ():
            if attempt.failure:
                lines.append(f"- {title}, PyTorch, {attempt.configuration}: {attempt.failure}")
        if key not in bounded:
            lines.append(f"- {title}: no bound was measured")
        elif bounded[key].failure:
            lines.append(f"- {title}, bound: {bounded[key].failure}")
        for lacking in bounded[key].lacking if key in bounded else ():
            what = ", ".join(f"{count} {name}" for name, count in lacking.operators.items())
            lines.append(f"- {title}, not in the bound: {what}: {lacking.reason}")
    return lines


def _more_calls(best: TorchAttempt | None, bound: Bounded) -> bool:
    """Whether a bound has more calls than PyTorch's graph kernels, as far as both are known."""
    return best is not None and best.kernels is not None and bound.calls > best.kernels


def _ratio(best: TorchAttempt | None, bound: Bounded | None) -> str:
    """A bound that lacks layers is too low by what they take."""
    if not (best and best.median_us and bound and bound.bound_us):
        return ""
    ratio = best.median_us / bound.bound_us
    return f"{'at most ' * bool(bound.lacking)}{marked(f'{ratio:.2f}', ratio < 1)}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    print(markdown(read(parser.parse_args().files)))


if __name__ == "__main__":
    main()
