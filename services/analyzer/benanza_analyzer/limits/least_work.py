"""The least work of a model, whatever is fused: below that of every cover's calls, as it is made.

Products have to be done: their weights and what is kept for them are read, their operations done,
and one after the other where one needs what another computes. Each layer claims its part of that.
Where layers of a group claim more than the group does as one call, since it merges or simplifies
them, their claims shrink until they don't. So the claims of all layers are at most the work of the
calls of any cover, by each kind of work. Nothing else counts: values between layers may stay on the
chip.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.critical_path import critical_path
from benanza_analyzer.limits.speed_of_light import Work
from benanza_analyzer.models.catalogue import Catalogue

Floats = npt.NDArray[np.float64]

GroupAt = tuple[tuple[int, ...], int]
"""A group: the positions of its layers, and its number in the catalogue."""


class LeastWork(NamedTuple):
    """That of a model. `reads` are the bytes that are claimed of each layer and group with a
    product, by its number in `numbers`, and `fixed` those of them that are as many at any
    precision; where it stands several times, the most. `flops` are the fewest operations of each,
    as of the model: another version of ingest may have found others for another model.
    """

    whole: Work
    numbers: npt.NDArray[np.int32]
    reads: Floats
    fixed: Floats
    flops: Floats


def least_work(
    numbers: npt.NDArray[np.int32],
    wanted: Floats,
    wanted_fixed: Floats,
    groups: Sequence[GroupAt],
    edges: Sequence[tuple[int, int]],
    catalogue: Catalogue,
) -> LeastWork:
    """That of a model whose layers have these numbers, `NOTHING` where they don't count.

    `wanted` are the bytes that each layer reads at the least, and `wanted_fixed` those of them that
    are as many at any precision. The edges ascend by source.
    """
    moved, flops = np.array(catalogue.bytes), np.array(catalogue.least_flops)
    is_product = np.array(catalogue.products, np.float64)
    reads = _claims(np.minimum(wanted, moved[numbers]) * is_product[numbers], groups, moved)
    share = np.divide(reads, wanted, out=np.zeros(len(reads)), where=wanted > 0)
    fixed = np.minimum(wanted_fixed, wanted) * share
    whole = Work(
        bytes=reads,
        fixed=fixed,
        flops=math.fsum(_claims(flops[numbers], groups, flops)),
        calls=_longest_chain(is_product[numbers], groups, is_product, edges),
    )
    of_layers = np.stack((reads, fixed), axis=1)
    claimed = np.zeros((len(moved), 2))
    np.maximum.at(claimed, numbers, of_layers)
    for positions, number in groups:
        claimed[number] = np.maximum(claimed[number], of_layers[list(positions)].sum(axis=0))
    calls = np.unique([*numbers.tolist(), *(number for _, number in groups)]).astype(np.int32)
    calls = calls[(is_product[calls] > 0) | (claimed[calls, 0] > 0)]
    return LeastWork(whole, calls, claimed[calls, 0], claimed[calls, 1], flops[calls])


def _claims(wanted: Floats, groups: Sequence[GroupAt], offered: Floats) -> Floats:
    """What each layer claims, so that no group's layers claim more than it offers."""
    shares = np.ones(len(wanted))
    for positions, number in groups:
        at = list(positions)
        together = wanted[at].sum()
        if together > offered[number]:
            shares[at] = np.minimum(shares[at], offered[number] / together)
    return wanted * shares


def _longest_chain(
    is_product: Floats,
    groups: Sequence[GroupAt],
    offered: Floats,
    edges: Sequence[tuple[int, int]],
) -> float:
    """The most calls on any path, where a call of any cover has one product on it, or the share of
    one that it has of the longest path of products that some group has.
    """
    before: dict[int, list[int]] = defaultdict(list)
    for source, target in edges:
        before[target].append(source)
    shares = np.ones(len(is_product))
    for positions, number in groups:
        chain = _chain_within(sorted(positions), before, is_product)
        if chain > offered[number]:
            at = list(positions)
            shares[at] = np.minimum(shares[at], offered[number] / chain)
    calls = (is_product * shares).tolist()
    sources, targets = zip(*edges, strict=True) if edges else ((), ())
    path = critical_path(sources, targets, [0.0] * len(sources), calls)
    return math.fsum(calls[position] for position in path)


def _chain_within(
    positions: Sequence[int], before: Mapping[int, Sequence[int]], is_product: Floats
) -> float:
    """The most products on a path within these layers, which come in topological order."""
    chains: dict[int, float] = {}
    for position in positions:
        inside = (chains[source] for source in before.get(position, ()) if source in chains)
        chains[position] = max(inside, default=0.0) + is_product[position]
    return max(chains.values())
