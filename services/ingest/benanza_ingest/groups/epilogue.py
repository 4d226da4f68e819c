"""A convolution or matrix product with its epilogue: batch norm, bias, residual, activation.

Libraries compute the epilogue on the product's result in registers: cuDNN's and oneDNN's fused
convolutions, cuBLASLt's epilogues. Every prefix of such a chain is a group of its own; an
activation that is written out in several layers is in a group as a whole.
"""

from benanza_ingest.groups.gated import gated
from benanza_ingest.groups.wiring import Wiring

RULE = "epilogue"

LONGEST = 16
"""The most layers in a group. No library fuses more, and all prefixes of a chain are groups."""

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
        if layer.op in PRODUCTS and not layer.domain and layer.kind == "compute":
            groups.extend(prefixes(wiring, start))
    return groups


def prefixes(wiring: Wiring, start: int) -> list[tuple[int, ...]]:
    """The prefixes of the chain that starts at a product, each with at least one layer after it."""
    found: list[tuple[int, ...]] = []
    chain = [start]
    residual = False
    while len(chain) < LONGEST:
        follower = wiring.only_reader(chain[-1])
        if follower is None:
            activation = gated(wiring, chain[-1])
            if activation and len(chain) + len(activation) <= LONGEST:
                found.append((*chain, *activation))
            break
        names = wiring.node(follower).inputs
        value = next(name for name in wiring.node(chain[-1]).outputs if name in names)
        what = step(wiring, value, follower)
        if what is None or (what == "residual" and residual):
            break
        residual |= what == "residual"
        chain.append(follower)
        found.append(tuple(chain))
        if what == "activation":
            break
    return found


def step(wiring: Wiring, value: str, position: int) -> str | None:
    """What a layer does to a value that it reads: `affine` (with constants), `activation`, or
    `residual` (it adds another value); None if it can't be part of an epilogue.
    """
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.kind != "compute" or layer.domain or layer.layer is None:
        return None
    types = wiring.graph.types
    mine, result = types.get(value), types.get(node.outputs[0])
    # An epilogue can't enlarge the result by a broadcast.
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
