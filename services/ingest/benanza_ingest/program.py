"""The steps that run an ONNX model, each of which is a layer or a group."""

from collections.abc import Mapping, Sequence

from benanza_ingest.extract import wired
from benanza_ingest.groups.attention import propose as attention
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

    A block holds the positions of one layer or of a group; the last position of a group is that of
    the layer to which all others lead. Each layer that isn't a view is in one block at most; a
    layer in no block is not in the program. Raises `ModelError` as `extract` does.
    """
    wiring = wired(content, batch=batch, dims=dims or {}, limits=limits or Limits()).wiring
    joiner = Joiner(wiring)
    attentions = {proposal.positions: proposal for proposal in attention.propose(wiring)}
    covered = {position for block in blocks for position in block}
    views = [
        (position,)
        for position, layer in enumerate(wiring.layers)
        if layer.kind == "view" and position not in covered
    ]
    steps = []
    # A group reads nothing that is written after its last layer, and nothing before that reads it.
    for block in sorted((*blocks, *views), key=max):
        positions = tuple(sorted(block))
        named = (
            attentions[positions].named() if positions in attentions else joiner.named(positions)
        )
        kind = wiring.layers[max(block)].kind
        steps.append(ProgramStep(block, kind, named.fingerprint, named.layer, named.names))
    return Program(tuple(steps), tuple(wiring.graph.outputs))
