"""A chain of element-wise layers, such as BatchNormalization–Relu before a convolution.

One generated kernel reads the first value, computes the whole chain in registers and writes the
last value. A chain begins after the epilogue of a convolution or matrix product.
"""

from itertools import dropwhile

from benanza_ingest.groups import epilogue
from benanza_ingest.groups.epilogue import ACTIVATIONS, ARITHMETIC, LONGEST, PRODUCTS
from benanza_ingest.groups.wiring import Wiring

RULE = "elementwise"

_ELEMENTWISE = (
    ACTIVATIONS
    | ARITHMETIC
    | frozenset("BatchNormalization Exp Erf Log Max Min Neg Pow Reciprocal Sqrt".split())
    | frozenset(("QuantizeLinear", "DequantizeLinear"))
)


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the layers of each chain, in the order in which they run.

    A chain is as long as possible; it is cut where a group would have too many layers.
    """
    follows: dict[int, int] = {}
    for position, layer in enumerate(wiring.layers):
        if layer.layer is None or layer.kind != "compute" or layer.domain:
            continue
        if layer.op not in _ELEMENTWISE | PRODUCTS:
            continue
        follower = wiring.only_reader(position)
        if follower is not None and _continues(wiring, position, follower):
            # A layer that reads several values continues only one chain.
            follows.setdefault(follower, position)
    before = {position: follower for follower, position in follows.items()}
    taken = {position for group in epilogue.propose(wiring) for position in group}
    groups: list[tuple[int, ...]] = []
    for start, layer in enumerate(wiring.layers):
        if start in follows:
            continue
        chain = [start]
        while chain[-1] in before:
            chain.append(before[chain[-1]])
        if layer.op in PRODUCTS:
            chain = list(dropwhile(taken.__contains__, chain[1:]))
        pieces = (tuple(chain[at : at + LONGEST]) for at in range(0, len(chain), LONGEST))
        groups.extend(piece for piece in pieces if len(piece) > 1)
    return groups


def _continues(wiring: Wiring, position: int, follower: int) -> bool:
    """Whether the follower computes each element of its result from one element of its input."""
    layer = wiring.layers[follower]
    if layer.layer is None or layer.kind != "compute" or layer.domain:
        return False
    if layer.op not in _ELEMENTWISE:
        return False
    value = next(n for n in wiring.node(position).outputs if n in wiring.node(follower).inputs)
    if layer.op == "BatchNormalization" and wiring.node(follower).inputs[0] != value:
        return False
    types = wiring.graph.types
    mine, result = types.get(value), types.get(wiring.node(follower).outputs[0])
    return mine is not None and result is not None and mine.shape == result.shape
