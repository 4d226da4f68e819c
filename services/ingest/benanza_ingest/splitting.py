"""Splits a model into sequences of layers, from which DLBricks makes its benchmarks.

The rule is that of the paper's algorithms 1 and 2 (Li et al., "DLBricks: Composable Benchmark
Generation to Reduce Deep Learning Benchmarking Effort on CPUs", ICPE 2020).
"""

from collections.abc import Iterator

import msgspec

from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.identity import LayerError
from benanza_schemas.layer import Layer


class LayerSequence(msgspec.Struct, frozen=True):
    """Layers of a model, by position, that follow each other in its topological order.

    `layer` is their network in canonical form, with all inputs and results. `fingerprint` is that
    of the same layers as one call: to be measured as a network is another measurement, which a job
    has to say beside it.
    """

    positions: tuple[int, ...]
    layer: Layer
    fingerprint: str


def split(wiring: Wiring, granularity: int) -> tuple[LayerSequence, ...]:
    """The sequences of at most `granularity` layers that make up the model, each layer in one.

    A layer that was skipped is in none, and ends the sequence before it. Where layers can't be
    joined, as too many of their results look the same, the first of them is a sequence of its own.
    Raises `ValueError` for a granularity below 1.
    """
    if granularity < 1:
        raise ValueError(f"a sequence has at least one layer, not {granularity}")
    joiner = Joiner(wiring)
    found: list[LayerSequence] = []
    for run in _runs(wiring):
        begin = 0
        while begin < len(run):
            sequence = _sequence(wiring, joiner, run[begin : begin + granularity])
            found.append(sequence)
            begin += len(sequence.positions)
    return tuple(found)


def _runs(wiring: Wiring) -> Iterator[tuple[int, ...]]:
    """The longest sequences without a skipped layer."""
    run: list[int] = []
    for position, layer in enumerate(wiring.layers):
        if layer.layer is not None:
            run.append(position)
        elif run:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def _sequence(wiring: Wiring, joiner: Joiner, positions: tuple[int, ...]) -> LayerSequence:
    if len(positions) > 1:
        try:
            joined = joiner.join(positions)
            return LayerSequence(positions, joined.layer, joined.fingerprint)
        except LayerError:
            positions = positions[:1]
    only = wiring.layers[positions[0]]
    assert only.layer is not None, "runs are without skipped layers"
    return LayerSequence(positions, only.layer, only.fingerprint)
