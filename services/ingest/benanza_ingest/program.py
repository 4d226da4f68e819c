"""The steps that run an ONNX model, each of which is a layer or a group."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter

from benanza_ingest.extract import wired
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.limits import Limits
from benanza_schemas.program import Program, ProgramStep


def program(
    content: bytes,
    blocks: Sequence[tuple[int, ...]],
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
) -> Program:
    """The model as a program of these blocks, and of the views outside them.

    A block holds the positions of one layer or of a group. Each layer that isn't a view is in one
    block at most; a layer in no block is not in the program. Raises `ModelError` as `extract` does,
    and `graphlib.CycleError` if blocks wait for each other.
    """
    wiring = wired(content, batch=batch, dims=dims or {}, limits=limits or Limits()).wiring
    joiner = Joiner(wiring)
    covered = {position for block in blocks for position in block}
    views = [
        (position,)
        for position, layer in enumerate(wiring.layers)
        if layer.kind == "view" and position not in covered
    ]
    steps = []
    for block in _in_order((*blocks, *views), wiring.edges):
        named = joiner.named(tuple(sorted(block)))
        kind = wiring.layers[max(block)].kind
        steps.append(ProgramStep(block, kind, named.fingerprint, named.layer, named.names))
    return Program(tuple(steps), tuple(wiring.graph.outputs))


def _in_order(
    blocks: Sequence[tuple[int, ...]], edges: Iterable[tuple[int, int]]
) -> list[tuple[int, ...]]:
    """The blocks, each after those whose results it reads."""
    block_of = {position: number for number, block in enumerate(blocks) for position in block}
    order: TopologicalSorter[int] = TopologicalSorter(dict.fromkeys(range(len(blocks)), ()))
    for source, target in edges:
        before, after = block_of.get(source), block_of.get(target)
        if before is not None and after is not None and before != after:
            order.add(after, before)
    return [blocks[number] for number in order.static_order()]
