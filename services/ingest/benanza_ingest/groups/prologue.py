"""A convolution with its prologue, such as densenet's BatchNormalization–Relu.

cuDNN's graph API computes the prologue on the first operand while the convolution reads it: the
"generic runtime fusion engines" of its developer guide, with operations before the convolution.
Layers that follow a convolution or a matrix product are no prologue: they cost nothing in the
epilogue of that product.
"""

from benanza_ingest.groups.epilogue import LONGEST, PRODUCTS, Chains, prefixes, step
from benanza_ingest.groups.wiring import Wiring

RULE = "prologue"


def propose(wiring: Wiring, epilogues: Chains) -> list[tuple[int, ...]]:
    """Positions of the layers of each group, in the order in which they run.

    Each has the whole prologue of a convolution, and as much of its epilogue as fits. There is one
    group per convolution, since a kernel with a prologue takes a second to compile.
    """
    groups: list[tuple[int, ...]] = []
    for start in wiring.of("Conv"):
        before = _before(wiring, start) if wiring.layers[start].kind == "compute" else ()
        if before:
            chains = ((start,), *prefixes(epilogues.get(start, ())))
            groups.append(max((before + c for c in chains if len(before + c) <= LONGEST), key=len))
    return groups


def _before(wiring: Wiring, start: int) -> tuple[int, ...]:
    """The prologue of a convolution: scales and shifts by channel, then at most one Relu."""
    positions: list[int] = []
    name = wiring.node(start).inputs[0]
    writers = wiring.writers
    while name in writers and wiring.only_reader(writers[name]) is not None:
        position = writers[name]
        layer = wiring.layers[position]
        if layer.op in PRODUCTS and not layer.domain:
            return ()
        value = _value(wiring, position)
        what = step(wiring, value, position) if value else None
        if what != "affine" and not (layer.op == "Relu" and what and not positions):
            break
        if len(positions) == LONGEST - 1:
            break
        positions.insert(0, position)
        name = value
    return tuple(positions)


def _value(wiring: Wiring, position: int) -> str:
    """The input of a layer that is no constant, if its other inputs are one number per channel."""
    node = wiring.node(position)
    if any(node.outputs[1:]):
        return ""
    if wiring.layers[position].op in ("BatchNormalization", "Relu"):
        return node.inputs[0]
    constants, types = wiring.graph.constants, wiring.graph.types
    values = [name for name in node.inputs if name not in constants]
    result = types.get(node.outputs[0])
    if len(values) != 1 or result is None or result.shape is None:
        return ""
    for name in node.inputs:
        known = types.get(name)
        if name in constants and (known is None or not _by_channel(known.shape, len(result.shape))):
            return ""
    return values[0]


def _by_channel(shape: tuple[int | str | None, ...] | None, rank: int) -> bool:
    """Whether a constant has no more than a number for each channel of a value of this rank."""
    if shape is None:
        return False
    full = (1,) * (rank - len(shape)) + shape
    return all(size == 1 for axis, size in enumerate(full) if axis != 1)
