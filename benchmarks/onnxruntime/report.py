"""A table of ONNX Runtime's times beside the bounds, for the same models:

    python -m benchmarks.onnxruntime.report PEERS.json WITNESS.json

PEERS.json is from `benchmarks.onnxruntime.peers`, WITNESS.json from `benchmarks.gpu.witness`.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benanza_schemas.layer import Precision
from benchmarks.onnxruntime.attempts import OrtAttempt, OrtResult, Peers


class WitnessRow(msgspec.Struct, frozen=True):
    """What the table needs of a row of `benchmarks.gpu.witness`; times are in microseconds.

    `bound_again_us` is the bound of what was timed again in that run, `sequential_us` the model
    run as its bound says.
    """

    model: str
    batch: int
    precision: Precision
    bound_us: float
    bound_again_us: float
    sequential_us: float | None = None


def markdown(peers: Peers, witnesses: Iterable[WitnessRow]) -> str:
    """A row for each model, precision and batch size that either side has, in the order of the
    bounds; below it, why a figure is missing, and how long a tiny call takes.
    """
    bounds = {(witness.model, witness.precision, witness.batch): witness for witness in witnesses}
    results = {result.key(): result for result in peers.results}
    lines = [
        "| model | precision | batch | bound, µs | timed again | witness | "
        "ONNX Runtime at its best, µs | as | / bound | / timed again |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    for key in dict.fromkeys([*bounds, *results]):
        bound, result = bounds.get(key), results.get(key)
        best = result.best() if result else None
        lines.append(_line((key[0], key[1], str(key[2]), *_bound(bound), *_best(best, bound))))
        title = f"- {key[0]} {key[1]} batch {key[2]}"
        notes += [f"{title}: {note}" for note in _notes(result, best)]
        if bound is None:
            notes.append(f"{title}: no bound")
    notes += [f"- one tiny kernel, {_tiny(attempt)}" for attempt in peers.tiny]
    return "\n".join([*lines, "", *notes])


def _bound(bound: WitnessRow | None) -> tuple[str, str, str]:
    if bound is None:
        return "–", "–", "–"
    return _us(bound.bound_us), _us(bound.bound_again_us), _us(bound.sequential_us)


def _best(best: OrtAttempt | None, bound: WitnessRow | None) -> tuple[str, ...]:
    """The fastest configuration, and its time as a multiple of the bound."""
    if best is None:
        return "–", "", "", ""
    shown = _us(best.median_us), best.configuration.title()
    if bound is None or best.median_us is None:
        return *shown, "", ""
    ratios = (best.median_us / us if us else None for us in (bound.bound_us, bound.bound_again_us))
    return *shown, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)


def _notes(result: OrtResult | None, best: OrtAttempt | None) -> list[str]:
    """Why there is no time, or what was not timed on the GPU."""
    if result is None:
        return ["not timed in ONNX Runtime"]
    if best is None:
        reasons = dict.fromkeys(attempt.failure for attempt in result.attempts)
        return [result.failure or "; ".join(reasons)]
    return [f"ONNX Runtime left {', '.join(best.on_cpu)} to the CPU"] if best.on_cpu else []


def _tiny(attempt: OrtAttempt) -> str:
    took = attempt.failure or f"{_us(attempt.median_us)} µs"
    return f"{attempt.configuration.title()}: {took}"


def _us(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", type=Path)
    parser.add_argument("witness", type=Path)
    asked = parser.parse_args()
    peers = msgspec.json.decode(asked.peers.read_bytes(), type=Peers)
    witnesses = msgspec.json.decode(asked.witness.read_bytes(), type=list[WitnessRow])
    print(markdown(peers, witnesses))


if __name__ == "__main__":
    main()
