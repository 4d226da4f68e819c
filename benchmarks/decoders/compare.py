"""Steps of decoders of the zoo: bounds by recordings, beside what PyTorch takes and runs of bounds:

    python -m benchmarks.decoders.compare FOLDER PYTORCH.jsonl...

FOLDER has a recording (`benchmarks.record --dim past=…`) for each decoder, NAME.xz, and where the
bounds were run NAME.json, of `benchmarks.gpu.witness`. The other files are those that
`benchmarks.decoders.in_pytorch run` writes. It prints tables of both for each kind of weights, and
how often a bound is above the shortest time of PyTorch. A bound that lacks layers isn't compared.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benanza.importing.recording import read_recording
from benanza_analyzer.core import Analyzer
from benanza_schemas.events import BoundUpdated, LayerMeasured, ModelIngested, SystemMeasured
from benchmarks.decoders.published import IN_ZOO
from benchmarks.record import derivations_of, ingested


class StepPoint(NamedTuple):
    """A decoder of `published`, with what its weights are, for so many sequences behind a past."""

    name: str
    weights: str
    sequences: int
    past: int


def main() -> None:
    """Prints the table, by decoder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("pytorch", type=Path, nargs="+")
    asked = parser.parse_args()
    pytorch = dict(_in_pytorch(asked.pytorch))
    folder: Path = asked.folder
    runs = dict(_runs(folder))
    bounds: dict[str, dict[StepPoint, BoundUpdated]] = defaultdict(dict)
    for name in IN_ZOO:
        for point, bound in _bounds(folder, name, [each for each in pytorch if each.name == name]):
            bounds[point.weights][point] = bound
    for weights, of_points in bounds.items():
        ratios = {point: pytorch[point] / _us(bound) for point, bound in of_points.items()}
        cells = {
            point: f"{_us(bound):,.0f} ({ratios[point]:.2f})" for point, bound in of_points.items()
        }
        print(f"## {weights or 'fp16'}: bound in µs, and PyTorch / bound\n")
        _print_table(cells)
        print(
            f"\n{len(ratios)} points: {_range(list(ratios.values()))}; "
            f"bounds above PyTorch's best: {sum(ratio < 1 for ratio in ratios.values())}\n"
        )
        ran = {point: runs[point][0] for point in of_points if point in runs}
        if not ran:
            continue
        of_bound = {point: us / _us(of_points[point]) for point, us in ran.items()}
        print(f"## {weights or 'fp16'}: the bound run, in µs, and run / bound\n")
        _print_table({point: f"{us:,.0f} ({of_bound[point]:.2f})" for point, us in ran.items()})
        of_estimate = [
            us / estimate
            for point, us in ran.items()
            if (estimate := of_points[point].attainable_us)
        ]
        print(
            f"\n{len(ran)} points: {_range(list(of_bound.values()))}; at most 1.15: "
            f"{sum(ratio <= 1.15 for ratio in of_bound.values())}; run / attainable: "
            f"{_range(of_estimate)}; {_counted([runs[point][1] for point in ran])}\n"
        )


def _print_table(cells: dict[StepPoint, str]) -> None:
    """A row for each decoder and past, a column for each number of sequences."""
    columns = sorted({point.sequences for point in cells})
    print(f"| decoder | past | {' | '.join(map(str, columns))} |")
    print(f"|---|---|{'---|' * len(columns)}")
    rows = {(point.name, point.weights, point.past) for point in cells}
    names = list(IN_ZOO)
    for name, weights, past in sorted(rows, key=lambda row: (names.index(row[0]), row[2])):
        found = [cells.get(StepPoint(name, weights, each, past), "–") for each in columns]
        print(f"| {name} | {past:,} | {' | '.join(found)} |")


def _counted(words: list[str]) -> str:
    return ", ".join(f"{word}: {words.count(word)}" for word in ("right", "wrong", "unchecked"))


def _us(bound: BoundUpdated) -> float:
    assert bound.sequential_us is not None, "it lacks no layer"
    return bound.sequential_us


def _range(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}, median {median(ratios):.2f}"


def _in_pytorch(files: list[Path]) -> Iterator[tuple[StepPoint, float]]:
    """The shortest time of each point, in microseconds."""
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            times = [row[key] for key in ("eager_us", "compiled_us") if key in row]
            if times:
                key = row["name"], row["quantised"], row["sequences"], row["past"]
                yield StepPoint(*key), min(times)


def _runs(folder: Path) -> Iterator[tuple[StepPoint, tuple[float, str]]]:
    """The shortest of the ways to run each point's bound, and what its results are: right, wrong or
    unchecked.
    """
    names = {zoo: name for name, zoo in IN_ZOO.items()}
    for file in folder.glob("*.json"):
        for row in json.loads(file.read_text("utf-8")):
            model, _, weights = row["model"].partition(" ")
            ways = [row.get(way) for way in ("sequential_us", "read_ahead_us", "parallel_us")]
            name = names[model.removeprefix("decoder:").removesuffix("-step")]
            point = StepPoint(name, weights, row["batch"], row["dims"]["past"])
            if any(ways):
                yield point, (min(filter(None, ways)), _judged(row))


def _judged(row: dict[str, Any]) -> str:
    if row["error"] is None:
        return "unchecked"
    return "right" if row["error"] <= row["allowed_error"] else "wrong"


def _bounds(
    folder: Path, name: str, points: list[StepPoint]
) -> Iterator[tuple[StepPoint, BoundUpdated]]:
    """The bound of each of a decoder's points that lacks no layer."""
    recording = folder / f"{IN_ZOO[name]}.xz"
    if not recording.exists():
        return
    of_model: dict[str, StepPoint] = {}
    found: dict[StepPoint, BoundUpdated] = {}
    analyzer, now = Analyzer(), datetime.now(UTC)
    models = []
    for point in points:
        derivation = derivations_of(point.weights)[-1]
        where = {"past": point.past}
        model = f"decoder:{IN_ZOO[name]}-step"
        for event, _ in ingested(model, (point.sequences,), where, derivation):
            if isinstance(event, ModelIngested):
                of_model[event.architecture_id] = point
                models.append(event)
    measured = (
        event
        for _, event in read_recording(recording)
        if isinstance(event, LayerMeasured | SystemMeasured)
    )
    # Models last: each measurement of a known model would compute its bounds anew.
    for event in (*measured, *models):
        for bound in analyzer.handle(event, now):
            if bound.accounting == "full" and bound.fusion and bound.precision == "fp16":
                found[of_model[bound.architecture_id]] = bound
    yield from ((point, bound) for point, bound in found.items() if not bound.missing)


if __name__ == "__main__":
    main()
