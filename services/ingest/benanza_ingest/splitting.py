"""Splits a model into sequences of layers, from which DLBricks makes its benchmarks.

The rule is that of the paper's algorithms 1 and 2 (Li et al., "DLBricks: Composable Benchmark
Generation to Reduce Deep Learning Benchmarking Effort on CPUs", ICPE 2020).
"""

from collections.abc import Iterator

from msgspec.structs import replace

from benanza_ingest.extracted import LayerSequence
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.identity import LayerError, fingerprint_of_canonical
from benanza_schemas.layer import Layer


def split(wiring: Wiring, granularity: int) -> tuple[LayerSequence, ...]:
    """The sequences of at most `granularity` layers that make up the model, each layer in one.

    A layer that was skipped is in none, and ends the sequence before it. Where layers can't be
    joined, as too many of their results look the same, the first of them is a sequence of its own.
    Raises `ValueError` for a granularity below 1.
    """
    if granularity < 1:
        raise ValueError(f"a sequence has at least one layer, not {granularity}")
    joiner = Joiner(wiring)
    sequences: list[LayerSequence] = []
    for run in _runs(wiring):
        begin = 0
        while begin < len(run):
            sequence = _sequence(wiring, joiner, run[begin : begin + granularity])
            sequences.append(sequence)
            begin += len(sequence.positions)
    return tuple(sequences)


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
            return _network(positions, joiner.join(positions).layer)
        except LayerError:
            positions = positions[:1]
    only = wiring.layers[positions[0]].layer
    assert only is not None, "runs are without skipped layers"
    return _network(positions[:1], only)


def _network(positions: tuple[int, ...], layer: Layer) -> LayerSequence:
    network = replace(layer, execution="network")
    return LayerSequence(positions, network, fingerprint_of_canonical(network))
