"""Products of one operand by several constants, such as queries, keys and values, as one call.

Constants of one shape are a batch, with which a library multiplies once; each product is a result
of its own. The same holds with a bias added to each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import factorial, prod

from benanza_ingest.groups.epilogue import step
from benanza_ingest.groups.regions.fusible_graph import MOST_ORDERS, MOST_RESULTS
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.layer import OMITTED

RULE = "merged"


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the products of one operand, and of those with the sum behind each."""
    siblings: dict[object, list[int]] = defaultdict(list)
    for position in wiring.of("Gemm", "MatMul"):
        key = _shared_key(wiring, position)
        if key is not None:
            siblings[key].append(position)
    groups: list[tuple[int, ...]] = []
    for products in siblings.values():
        for group in _chunks(wiring, products):
            groups.append(tuple(group))
            sums = [_bias(wiring, product) for product in group]
            biases = [position for position in sums if position is not None]
            if len(biases) == len(group):
                groups.append(tuple(sorted([*group, *biases])))
    return groups


def _shared_key(wiring: Wiring, position: int) -> object:
    """What a product has to have in common with another; None if it can't be merged."""
    constants = wiring.graph.constants
    first, *others = wiring.node(position).inputs
    if first in constants or any(name and name not in constants for name in others):
        return None
    layer = wiring.layers[position].layer
    assert layer is not None, "skipped layers are left out"
    operator = layer.operators[0]
    weight = layer.tensors[operator.inputs[1]]
    if len(weight.shape) != 2:
        return None
    has_bias = len(operator.inputs) > 2 and operator.inputs[2] != OMITTED
    return operator.op_type, first, operator.attributes, weight.dtype, weight.shape, has_bias


def _chunks(wiring: Wiring, products: Sequence[int]) -> Iterator[list[int]]:
    """At least two products each, no more than a group may have results."""
    chunk: list[int] = []
    for product in products:
        fingerprints = Counter([wiring.layers[member].fingerprint for member in (*chunk, product)])
        if len(chunk) == MOST_RESULTS or prod(map(factorial, fingerprints.values())) > MOST_ORDERS:
            yield chunk
            chunk = []
        chunk.append(product)
    if len(chunk) > 1:
        yield chunk


def _bias(wiring: Wiring, product: int) -> int | None:
    """The layer that adds a constant to the result of a product, if nothing else reads it."""
    follower = wiring.only_reader(product)
    if follower is None or wiring.layers[follower].op != "Add":
        return None
    adds = step(wiring, wiring.node(product).outputs[0], follower) == "affine"
    return follower if adds else None
