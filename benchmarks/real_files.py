"""How models that others made fare: what is read of them, their bounds, and ONNX Runtime's times:

    python -m benchmarks.real_files LISTING DATA > docs/results/real-files.md

LISTING is a table of tab-separated columns with a header: `path`, relative to its own folder;
`package`, where the file is from; `dims`, sizes of open dimensions such as `sequence=128 past=16`,
and elements of small inputs with their number, such as `sr=16000=1`; and perhaps `split`, of which
`--split` takes one. Layers are measured on the CPU into the folder DATA; what that holds already is
not measured again, in float16 where a file has that. ONNX Runtime runs the file itself, with its
default options. A line for each file goes to standard error.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from statistics import median

import msgspec
import onnxruntime as ort

import benanza
from benanza.profiling.whole_model import whole_model
from benanza.publishing.fetched_once import FetchedOnce
from benanza.render.table import printable
from benanza.results.inspect import Inspection
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.stopping import Rule, Summary, summary
from benanza_runner.onnxruntime.session import CPU, Session
from benanza_runner.reasons import short_reason
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

RULE = Rule(warm_up_us=100_000, samples=30, least_us=500_000, few_samples=10, cap_us=2_000_000)
ROUNDS = 4
TITLE = "# Models of others\n"

BEGIN = """
Files that packages ship, what of them is read, and how long they take. `python -m
benchmarks.real_files` writes the table and what is missing.

- Layers are *read* if their shapes and types are known, *measured* are those that take time.
- *bound* is the sequential one, and *≥* one that lacks layers; that of a file with float16 is of
  kernels for it, of which ONNX Runtime has few on a CPU. *run* is the median of the file's own runs
  in ONNX Runtime before and after its layers were measured. *ratio* is that divided by the bound.
- Where a run was faster than the bound, both were measured again, up to four times in all
  (*rounds*), and the lowest bound is compared with the fastest run.

| file | package | sizes | layers | read | measured | bound, µs | run, µs | least | ratio | rounds |
|---|---|---|---|---|---|---|---|---|---|---|"""


class Listed(msgspec.Struct, frozen=True):
    """A row of the listing."""

    path: Path
    package: str
    dims: dict[str, int]


class Row(msgspec.Struct, frozen=True):
    """What came of a file: how many layers `missing` have which cause, and `failures` of steps."""

    listed: Listed
    layers: int = 0
    skipped: int = 0
    bound: ModelBound | None = None
    run: Summary | None = None
    rounds: int = 1
    missing: tuple[tuple[str, int], ...] = ()
    failures: tuple[str, ...] = ()


def listed(listing: Path, split: str) -> Iterator[Listed]:
    """The files of a listing. Raises `ValueError` for a size that is no number."""
    with listing.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if split in ("", row.get("split")):
                sizes = (dimension.rpartition("=") for dimension in (row.get("dims") or "").split())
                dims = {name: int(size) for name, _, size in sizes}
                yield Listed(listing.parent / row["path"], row["package"], dims)


def looked_at(file: Listed, data: Path) -> Row:
    """Reads, measures and runs a file. What goes wrong is part of the row.

    Where a run is faster than the bound, both are measured again, up to `ROUNDS` times in all, and
    the lowest bound is compared with the fastest run: on a shared machine, either may have been
    measured in slow minutes.
    """
    try:
        inspection = benanza.inspect(file.path, dims=file.dims)
    except BenanzaError as error:
        return Row(file, failures=(str(error),))
    row = _round(file, inspection, data)
    for number in range(2, ROUNDS + 1):
        ratio = _ratio(row)
        if ratio is None or ratio >= 1:
            break
        row = _better(row, _round(file, inspection, data.with_name(f"{data.name}-{number}")))
    return row


def _round(file: Listed, inspection: Inspection, data: Path) -> Row:
    """The layers between runs of the file, those of them that the folder has not yet."""
    failures: list[str] = []
    before = [*_run(file, failures)]
    bound = None
    try:
        (bound,) = benanza.lower_bound(
            file.path,
            dims=file.dims,
            precision=_precision(inspection),
            runtime="onnxruntime",
            data=data,
        ).bounds
    except BenanzaError as error:
        failures.append(str(error))
    missing = bound.coverage.missing if bound else inspection.skipped
    reasons = Counter(layer.reason.rpartition("; ")[2] for layer in missing)
    calls_us = sorted([*before, *_run(file, failures)])
    return Row(
        file,
        layers=len(inspection.layers),
        skipped=len(inspection.skipped),
        bound=bound,
        run=summary(calls_us) if calls_us else None,
        missing=tuple(reasons.most_common()),
        failures=tuple(dict.fromkeys(failures)),
    )


def _better(former: Row, latter: Row) -> Row:
    """The lower bound of two rounds, and the faster run."""
    if _ratio(latter) is None:
        return former
    bounds = [row.bound for row in (former, latter) if row.bound is not None]
    runs = [row.run for row in (former, latter) if row.run is not None]
    return msgspec.structs.replace(
        former,
        bound=min(bounds, key=lambda bound: bound.sequential_us or inf),
        run=min(runs, key=lambda run: run.median),
        rounds=former.rounds + 1,
    )


def _precision(inspection: Inspection) -> Precision:
    """That of the file, as ONNX Runtime runs it: another one has other kernels."""
    half = PRECISIONS["fp16"].element_type
    return "fp16" if any(layer.dtype == half for layer in inspection.layers) else "fp32"


def _run(file: Listed, failures: list[str]) -> Sequence[float]:
    """Times of ONNX Runtime's calls in microseconds; none, and a failure more, if it refuses."""
    try:
        content = FetchedOnce().whole(str(file.path), Limits())
        model = whole_model(content, None, file.dims)
        session = Session(
            model.proto, model.weights, model.inputs, CPU, available_cores(), optimised=True
        )
        return collect(session.call, RULE).calls_us
    except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
        failures.append(short_reason(f"ONNX Runtime: {error}"))
        return ()


def markdown(rows: Sequence[Row]) -> str:
    """The page: a line for each file, and below them what is missing, and why."""
    lines = [TITLE, *_findings(rows), BEGIN, *map(_line, rows), "", "## What is missing", ""]
    for row in rows:
        said = [*row.failures, *(f"{n}: {reason}" for reason, n in row.missing)]
        lines += [f"- {row.listed.path.name}: {printable(text)}" for text in said]
    return "\n".join(lines)


def _line(row: Row) -> str:
    bound, run = row.bound, row.run
    us = bound.sequential_us if bound else None
    cells = [row.listed.path.name, row.listed.package]
    cells += [" ".join(f"{name}={size}" for name, size in row.listed.dims.items()), str(row.layers)]
    cells.append(_share(row.layers - row.skipped, row.layers))
    timed = bound.coverage.measured if bound else 0
    cells.append(_share(timed, timed + len(bound.coverage.missing)) if bound else "–")
    cells.append(f"{'≥ ' if bound and bound.partial else ''}{us:,.0f}" if us is not None else "–")
    cells += [f"{run.median:,.0f}", f"{run.minimum:,.0f}"] if run else ["–", "–"]
    cells.append("–" if (ratio := _ratio(row)) is None else f"{ratio:.2f}")
    cells.append(str(row.rounds))
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _ratio(row: Row) -> float | None:
    """How many times as long as the bound the file's own run takes; `None` where either lacks."""
    if row.run is None or row.bound is None or row.bound.partial or not row.bound.sequential_us:
        return None
    return row.run.median / row.bound.sequential_us


def _findings(rows: Sequence[Row]) -> Iterator[str]:
    """The lines that the page begins with."""
    read = sum(bool(row.layers) and not row.skipped for row in rows)
    whole = sum(row.bound is not None and not row.bound.partial for row in rows)
    yield (
        f"- Of {len(rows)} files, {read} are read as a whole, and {whole} have a bound that lacks "
        "nothing."
    )
    if ratios := [ratio for ratio in map(_ratio, rows) if ratio is not None]:
        yield (
            f"- ONNX Runtime takes {min(ratios):.2f} to {max(ratios):.2f} times as long as the "
            f"bound, {median(ratios):.2f} in the median of {len(ratios)}."
        )
        below = sum(ratio < 1 for ratio in ratios)
        yield f"- Of {below} of these files a run was faster than the bound, which is wrong there."
    yield (
        f"- Measured on {cpu_name()}, {available_cores()} threads, with ONNX Runtime "
        f"{ort.__version__}."
    )


def _share(part: int, of: int) -> str:
    """A percentage that is 100 only of everything."""
    return f"{100 * part // of} %" if of else "–"


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("listing", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="")
    asked = parser.parse_args()
    rows = []
    for file in listed(asked.listing, asked.split):
        rows.append(looked_at(file, asked.data))
        print(_line(rows[-1]), file=sys.stderr, flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
