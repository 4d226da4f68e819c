"""How well sequences of layers tell a model's latency, and what measuring them saves:

    python -m study.dlbricks_page recordings/dlbricks-cpu.jsonl > docs/results/dlbricks.md

`study.dlbricks` measured the file.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple

from benanza.render.units import plural
from benanza_ingest.splitting import split
from benchmarks.pytorch.cells import line
from study.dlbricks import (
    GRANULARITIES,
    Machine,
    ModelLatency,
    SequenceLatency,
    WiredModel,
    read,
    zoo_models,
)

TITLE = "# DLBricks on a CPU\n"

BEGIN = """
DLBricks (Li et al., ICPE 2020) splits models into sequences of at most G layers, measures each
unique sequence once as a network of its own, and adds a model's latency up from them. `python -m
study.dlbricks recordings/dlbricks-cpu.jsonl` measured, and `python -m study.dlbricks_page` wrote
this page.

- Models and sequences run on one thread, operator by operator, with ONNX Runtime's graph
  optimisations off. The models are those of the zoo with the fewest multiplications.
- Denormal numbers count as zero. Random weights give many of them, trained ones don't, and a CPU
  takes long with them: pit_ti_224 took 51 ms as a whole instead of 13.
- Of several passes over all, the fastest counts for each.
- What a call without nodes takes is taken off each sequence, and what a call with nothing to do
  takes is counted once for a model.
- *constructed / model* is the sum over the sequences to the latency of the whole model, the
  geometric mean over the models; *error* is the geometric mean of the larger of that and its
  inverse, less 1.
- *cheaper* is what one run of each model takes, to one run of each unique sequence.

## How sequences are timed

Each by itself in a loop, all that it needs is in the second cache, and the sequences add up to too
little: the error was 16.4% at G = 1 and 7.9% at G = 10 over the same models. So 16 times the second
cache's size of other data is read before each call. Then the memory of the results is read, since a
model writes them where earlier ones were, and the inputs are written, as a layer before would do.
A call takes longer then by itself too, which is measured along with each sequence.

Twice the second cache's size of other data gave errors of 8.4, 7.4 and 8.1% at G = 1, 4 and 10 over
the same models. Copies of a sequence in turn, and many sequences in turn in shared memory, came out
too high by up to 18 and 57% at G = 1.

What is left goes with the size of the model. At G = 1 the nine shortest models of the table, up to
13 ms, come out too high by 3 to 13%, and the twelve over 35 ms too low by 2 to 11%: a sequence
doesn't know how much else its model has, and how far away that leaves its data.
"""

TITLES = (
    *("G", "models", "sequences", "unique", "share"),
    *("constructed / model", "error", "worst", "cheaper"),
)


class Constructed(NamedTuple):
    """A model's latency in µs, and that which its sequences add up to."""

    model: str
    model_us: float
    constructed_us: float

    @property
    def ratio(self) -> float:
        """The latter to the former."""
        return self.constructed_us / self.model_us


class AtGranularity(NamedTuple):
    """What holds for sequences of at most `granularity` layers. `unique_us` is the sum over those
    that differ.
    """

    granularity: int
    models: list[Constructed]
    sequences: int
    unique: int
    unique_us: float

    def error(self) -> float:
        """The geometric mean of the errors, as a share."""
        return geometric_mean(max(m.ratio, 1 / m.ratio) for m in self.models) - 1

    def cheaper(self) -> float:
        """One run of each model to one run of each unique sequence."""
        return fsum(model.model_us for model in self.models) / self.unique_us


def at_granularity(
    granularity: int,
    models: Sequence[WiredModel],
    model_us: Mapping[str, float],
    sequence_us: Mapping[str, float],
    empty_us: float,
) -> AtGranularity:
    """Adds up what was measured, for the models of which all was."""
    constructed = []
    counts: Counter[str] = Counter()
    for model in models:
        fingerprints = [sequence.fingerprint for sequence in split(model.wiring, granularity)]
        if model.model in model_us and sequence_us.keys() >= set(fingerprints):
            own_us = fsum(sequence_us[fingerprint] for fingerprint in fingerprints)
            constructed.append(
                Constructed(model.model, model_us[model.model], empty_us + own_us),
            )
            counts.update(fingerprints)
    unique_us = fsum(sequence_us[fingerprint] for fingerprint in counts)
    return AtGranularity(granularity, constructed, counts.total(), len(counts), unique_us)


def _fastest(times: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """The least of each one's times in the passes."""
    fastest_us: dict[str, float] = {}
    for name, us in times:
        if us is not None:
            fastest_us[name] = min(us, fastest_us.get(name, us))
    return fastest_us


def _found(rows: Sequence[AtGranularity]) -> Iterator[str]:
    """What the page begins with."""
    known = [row for row in rows if row.models]
    for row in known[:1] + known[-1:]:
        mean = geometric_mean(m.ratio for m in row.models)
        yield (
            f"- Sequences of at most {plural(row.granularity, 'layer')} add up to {mean:.3f} of a "
            f"model's latency in the geometric mean, with an error of {row.error():.1%}."
        )
    layers = known[0]
    yield (
        f"- Of {layers.sequences:,} layers of {plural(len(layers.models), 'model')} "
        f"{layers.unique:,} differ: to measure these takes {1 / layers.cheaper():.0%} of the time "
        "of one run of each model."
    )


def page(file: Path) -> Iterator[str]:
    """The lines of the page."""
    latencies = read(file)
    machine = next(latency for latency in latencies if isinstance(latency, Machine))
    model_us = _fastest((e.model, e.us) for e in latencies if isinstance(e, ModelLatency))
    sequence_us = _fastest(
        (e.fingerprint, e.us) for e in latencies if isinstance(e, SequenceLatency)
    )
    models = zoo_models(model_us)
    rows = [
        at_granularity(granularity, models, model_us, sequence_us, machine.empty_us)
        for granularity in GRANULARITIES
    ]
    yield TITLE
    yield from _found(rows)
    yield BEGIN
    passes = max(Counter(e.model for e in latencies if isinstance(e, ModelLatency)).values())
    yield (
        f"{machine.cpu}, ONNX Runtime {machine.onnxruntime}; empty call {machine.empty_us:.1f} µs; "
        f"passes: {passes}"
    )
    yield ""
    yield line(TITLES)
    yield line("---" for _ in TITLES)
    for row in rows:
        if not row.models:
            continue
        ratios = [m.ratio for m in row.models]
        worst = max(ratios, key=lambda ratio: max(ratio, 1 / ratio))
        counts = f"{row.sequences:,}", f"{row.unique:,}", f"{row.unique / row.sequences:.0%}"
        shares = f"{geometric_mean(ratios):.3f}", f"{row.error():.1%}", f"{worst:.2f}"
        cells = str(row.granularity), str(len(ratios)), *counts, *shares
        yield line([*cells, f"{row.cheaper():.2f}"])
    yield ""
    yield line(["model", "ms", *(f"G = {granularity}" for granularity in GRANULARITIES)])
    yield line("---" for _ in range(2 + len(GRANULARITIES)))
    ratio_at = [{m.model: m.ratio for m in row.models} for row in rows]
    for name, us in model_us.items():
        ratios_of = (f"{by_model[name]:.2f}" if name in by_model else "–" for by_model in ratio_at)
        yield line([name, f"{us / 1_000:.2f}", *ratios_of])
    failed = [e for e in latencies if not isinstance(e, Machine) and e.failure]
    if failed:
        yield ""
        yield f"Not measured: {len(failed)} models and sequences; the first: {failed[0].failure}"


if __name__ == "__main__":
    for text in page(Path(sys.argv[1])):
        print(text)
