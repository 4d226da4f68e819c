"""From the bytes of an ONNX file to the steps that run it, each a layer or a group of them."""

from collections.abc import Mapping, Sequence

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
    """The model as these blocks of layers, given by position, and the views between them.

    Blocks hold each layer that isn't a view at most once; one that a block leaves out is left
    out of the program too. Of a group, the last layer is that which all others lead to. Raises
    `ModelError` as `extract` does.
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
    # A group reads nothing that is made after its last layer, and nothing before reads from it.
    for block in sorted((*blocks, *views), key=max):
        named = joiner.named(tuple(sorted(block)))
        kind = wiring.layers[max(block)].kind
        steps.append(ProgramStep(block, kind, named.fingerprint, named.layer, named.names))
    return Program(tuple(steps), tuple(wiring.graph.outputs))
