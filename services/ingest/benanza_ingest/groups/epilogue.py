"""A convolution or matrix product with what follows it: batch norm, bias, residual, activation.

Libraries compute all of these on the product's result while it is still in registers: cuDNN's
and oneDNN's fused convolutions, cuBLASLt's epilogues. Every prefix of such a chain is a group
of its own; an activation that is written out in several layers comes as a whole.
"""

from benanza_ingest.groups.gated import gated
from benanza_ingest.groups.wiring import Wiring

RULE = "epilogue"

LONGEST = 16
"""Layers in a group at most. No library takes more, and all prefixes of a chain are groups."""

PRODUCTS = frozenset(("Conv", "ConvTranspose", "Gemm", "MatMul"))
ACTIVATIONS = frozenset(
    "Relu LeakyRelu PRelu Sigmoid Tanh Clip Elu Selu Gelu HardSigmoid HardSwish Softplus Mish "
    "Swish ThresholdedRelu".split()
)
ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Sum"))


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the layers of each group, in the order in which they run."""
    groups: list[tuple[int, ...]] = []
    for start, layer in enumerate(wiring.layers):
        if layer.op not in PRODUCTS or layer.domain or layer.kind != "compute":
            continue
        chain = [start]
        residual = False
        while len(chain) < LONGEST:
            follower = wiring.only_reader(chain[-1])
            if follower is None:
                activation = gated(wiring, chain[-1])
                if activation and len(chain) + len(activation) <= LONGEST:
                    groups.append((*chain, *activation))
                break
            step = _step(wiring, chain[-1], follower)
            if step is None or (step == "residual" and residual):
                break
            residual |= step == "residual"
            chain.append(follower)
            groups.append(tuple(chain))
            if step == "activation":
                break
    return groups


def _step(wiring: Wiring, before: int, position: int) -> str | None:
    """What a layer does to the result of the one before it, if it can be part of the chain."""
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.kind != "compute" or layer.domain or layer.layer is None:
        return None
    value = next(name for name in wiring.node(before).outputs if name in node.inputs)
    types = wiring.graph.types
    mine, result = types.get(value), types.get(node.outputs[0])
    # A broadcast that makes the result larger can't happen in place.
    if mine is None or result is None or mine.shape != result.shape:
        return None
    if layer.op in ACTIVATIONS:
        return "activation" if node.inputs[0] == value else None
    if layer.op == "BatchNormalization":
        return "affine" if node.inputs[0] == value else None
    if layer.op not in ARITHMETIC or len(node.inputs) != 2:
        return None
    other = node.inputs[1] if node.inputs[0] == value else node.inputs[0]
    if other in wiring.graph.constants:
        return "affine" if layer.op != "Div" or node.inputs[0] == value else None
    theirs = types.get(other)
    same = theirs is not None and theirs.shape == mine.shape
    return "residual" if same and layer.op in ("Add", "Sum") else None
