"""The steps that run an ONNX model, each of which is a layer or a group."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import networkx

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import wired
from benanza_ingest.groups.quantised.units import DEQUANTISE, QUANTISE
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.limits import Limits
from benanza_ingest.named_blocks import NamedBlocks
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation
from benanza_schemas.program import Program, ProgramStep


def program(
    content: bytes,
    blocks: Sequence[tuple[int, ...]],
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
    fingerprints: Mapping[tuple[int, ...], str] | None = None,
    derivation: Derivation = AS_WRITTEN,
) -> Program:
    """The model as a program of these blocks, and of the views outside them that have elements.

    A block holds the positions of one layer or of a group. Where these are several groups, such as
    one with their numbers and one without, that is taken whose fingerprint is in `fingerprints`.
    Each layer that isn't a view is in one block at most; a layer in no block is not in the program.
    No blocks may need each other's results in a circle. Raises `ModelError` as `extract` does, and
    for a DequantizeLinear that only a call on integers makes a view, outside of one.
    """
    wiring = wired(
        content,
        batch=batch,
        dims=dims or {},
        limits=limits or Limits(),
        derivation=derivation,
    ).wiring
    covered = {position for block in blocks for position in block}
    views = [
        (position,)
        for position, layer in enumerate(wiring.layers)
        if layer.kind == "view" and not layer.reason and position not in covered
    ]
    if any(wiring.layers[position].op in (QUANTISE, DEQUANTISE) for (position,) in views):
        raise ModelError(
            "its bound has no call for some of what is quantised, and counts it as if there were "
            "one; a whole model can only be run of calls"
        )
    named_blocks = NamedBlocks(wiring)
    steps = []
    for block in _in_order((*blocks, *views), wiring):
        named = named_blocks.named(tuple(sorted(block)), (fingerprints or {}).get(block))
        kind = wiring.layers[max(block)].kind
        steps.append(ProgramStep(block, kind, named.fingerprint, named.layer, named.names))
    return Program(tuple(steps), tuple(map(named_blocks.value, wiring.graph.outputs)))


def _in_order(blocks: Collection[tuple[int, ...]], wiring: Wiring) -> Iterator[tuple[int, ...]]:
    """The blocks, each after those whose results it reads; of several orders, the one in which
    those that end earlier come first.
    """
    block_of: dict[int, tuple[int, ...]] = {
        position: (position,) for position in range(len(wiring.layers))
    }
    block_of |= {position: block for block in blocks for position in block}
    graph = networkx.DiGraph()
    graph.add_nodes_from(block_of.values())
    graph.add_edges_from(
        (block_of[source], block_of[target])
        for source, target in wiring.edges
        if block_of[source] != block_of[target]
    )
    held = set(blocks)
    for block in networkx.lexicographical_topological_sort(graph, key=max):
        if block in held:
            yield block
