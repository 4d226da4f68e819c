"""A convolution or matrix product with its epilogue: batch norm, bias, residual, activation.

Libraries compute the epilogue on the product's result in registers: cuDNN's and oneDNN's fused
convolutions, cuBLASLt's epilogues. Every prefix of such a chain is a group of its own; an
activation that is written out in several layers is in a group as a whole. Views behind a product of
matrices are in the groups of what follows them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from benanza_ingest.groups.epilogue_form import epilogue_form
from benanza_ingest.groups.gated import gated
from benanza_ingest.groups.gelu import Gelu, gelu
from benanza_ingest.groups.joining import Named
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.operators.table import facts_of

RULE = "epilogue"

LONGEST = 16
"""The most layers in a group. No library fuses more, and all prefixes of a chain are groups."""

PRODUCTS = frozenset(("Conv", "ConvTranspose", "Gemm", "MatMul"))
ARITHMETIC = frozenset(("Add", "Sub", "Mul", "Div", "Sum"))


class Chain(NamedTuple):
    """Layers of a group, in the order in which they run: a product, and what follows it.

    `form` is the group's layer where that isn't made of the model's own operators.
    """

    positions: tuple[int, ...]
    form: Named | None = None


Chains = dict[int, list[Chain]]
"""The groups of each product that has any, by the product's position, shorter ones first."""


def propose(wiring: Wiring) -> Chains:
    """The groups of all products."""
    chains: Chains = {}
    for start in wiring.of(*PRODUCTS):
        product_chains = _chains(wiring, start) if wiring.layers[start].kind == "compute" else []
        if product_chains:
            chains[start] = product_chains
    return chains


def prefixes(chains: Iterable[Chain]) -> list[tuple[int, ...]]:
    """Those of the groups of a product that are made of the model's own operators."""
    return [chain.positions for chain in chains if chain.form is None]


def _chains(wiring: Wiring, start: int) -> list[Chain]:
    chains: list[Chain] = []
    positions = [start]
    residual = viewed = False
    while len(positions) < LONGEST:
        follower = wiring.only_reader(positions[-1])
        if follower is None:
            if activation := gated(wiring, positions[-1]):
                _add(chains, wiring, (*positions, *activation), viewed)
            elif written_out := gelu(wiring, wiring.node(positions[-1]).outputs[0]):
                _add(chains, wiring, (*positions, *written_out.positions), viewed, written_out)
            break
        if _is_view_of_rows(wiring, start, follower):
            positions.append(follower)
            viewed = True
            continue
        names = wiring.node(follower).inputs
        value = next((n for n in wiring.node(positions[-1]).outputs if n in names), None)
        if value is None:  # It reads it by a sequence.
            break
        what = step(wiring, value, follower)
        if what is None or (what == "residual" and residual):
            break
        residual |= what == "residual"
        positions.append(follower)
        _add(chains, wiring, tuple(positions), viewed)
        if what == "activation":
            break
    return chains


def _add(
    chains: list[Chain],
    wiring: Wiring,
    positions: tuple[int, ...],
    viewed: bool,
    written_out: Gelu | None = None,
) -> None:
    """Adds a chain, in which there are views if `viewed`, unless it is too long."""
    if len(positions) > LONGEST:
        return
    if not viewed and written_out is None:
        chains.append(Chain(positions))
    elif form := epilogue_form(wiring, positions, written_out):
        chains.append(Chain(positions, form))


def _is_view_of_rows(wiring: Wiring, product: int, position: int) -> bool:
    """Whether a layer only says in another way how many rows a product of matrices has."""
    layer, types = wiring.layers[position], wiring.graph.types
    if layer.kind != "view" or wiring.layers[product].op not in ("Gemm", "MatMul"):
        return False
    known = [types.get(wiring.node(writer).outputs[0]) for writer in (product, position)]
    shapes = [result.shape for result in known if result is not None and result.shape is not None]
    return len(shapes) == 2 and min(map(len, shapes)) > 1 and shapes[0][-1] == shapes[1][-1]


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
    if facts_of(layer.op).activation:
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
