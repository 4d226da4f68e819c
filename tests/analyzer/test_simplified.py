"""Bounds of models with nodes that nothing needs are those of the same models without them."""

from math import fsum, inf

import numpy as np
from hypothesis import given

from benanza_analyzer.blocks import cheapest_blocks
from benanza_analyzer.critical_path import critical_path
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_schemas.events import ModelIngested
from tests.ingest.groups.simplified.graphs import Pair, pairs
from tests.ingest.test_core import events_of


def ingested(encoded: bytes) -> ModelIngested:
    (model,), _ = events_of(encoded)
    return model


def fingerprints(model: ModelIngested) -> tuple[frozenset[str], frozenset[str]]:
    """Those of its layers, and those of its groups."""
    return (
        frozenset(each.fingerprint for each in model.summaries),
        frozenset(each.fingerprint for each in model.groups),
    )


def bounds_us(model: ModelIngested, known: frozenset[str]) -> tuple[float, float]:
    """The least sum of made-up times of the layers and groups that are known, and of the calls that
    these are the longest path.
    """
    catalogue = Catalogue()
    compiled = compile_architecture(model, catalogue)
    times = np.zeros(len(catalogue))
    for number, fingerprint in enumerate(catalogue.fingerprints[1:], 1):
        times[number] = (int(fingerprint[:2], 16) + 1) / 8 if fingerprint in known else inf
    blocks = cheapest_blocks(compiled, compiled.full, True, times[compiled.full.block_numbers])
    each_us = times[blocks.numbers].tolist()
    edges = blocks.sources.tolist(), blocks.targets.tolist()
    path = critical_path(*edges, [0.0] * len(edges[0]), each_us)
    return fsum(each_us), fsum(each_us[at] for at in path)


@given(pairs())
def test_what_nothing_needs_takes_no_time(pair: Pair) -> None:
    clean, messy = ingested(pair.clean), ingested(pair.messy)
    known = fingerprints(clean)[0] | fingerprints(messy)[0]
    assert bounds_us(messy, known) == bounds_us(clean, known)


@given(pairs())
def test_what_nothing_needs_keeps_nothing_from_being_joined(pair: Pair) -> None:
    """Copies may make a bound smaller, since each may be joined with a reader. Which regions are
    proposed depends on the order of a model's nodes, too; those of both models count.
    """
    clean, messy = ingested(pair.clean), ingested(pair.messy)
    (layers, groups), (more, others) = fingerprints(clean), fingerprints(messy)
    known = layers | more | (groups & others)
    assert bounds_us(messy, known)[0] <= bounds_us(clean, known)[0]
