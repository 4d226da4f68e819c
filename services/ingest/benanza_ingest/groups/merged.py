"""Products of one operand by several constants, such as queries, keys and values, as one call.

Constants of one shape are a batch, with which a library multiplies once; each product is a result
of its own. The same holds with a bias added to each.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import factorial, prod

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.epilogue import step
from benanza_ingest.groups.fusible_graph import MOST_ORDERS, MOST_RESULTS
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.layer import OMITTED

RULE = "merged"


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the products of one operand, and of those with the sum behind each."""
    siblings: dict[object, list[int]] = defaultdict(list)
    for position, layer in enumerate(wiring.layers):
        look = _look(wiring, position, layer)
        if look is not None:
            siblings[look].append(position)
    groups: list[tuple[int, ...]] = []
    for products in siblings.values():
        for group in _chunks(wiring, products):
            groups.append(tuple(group))
            sums = [_bias(wiring, product) for product in group]
            found = [position for position in sums if position is not None]
            if len(found) == len(group):
                groups.append(tuple(sorted([*group, *found])))
    return groups


def _look(wiring: Wiring, position: int, layer: ExtractedLayer) -> object:
    """What a product has to have in common with another; None if it can't be merged."""
    if layer.layer is None or layer.domain or layer.kind != "compute":
        return None
    if layer.op not in ("Gemm", "MatMul"):
        return None
    names, operator, constants = (
        wiring.node(position).inputs,
        layer.layer.operators[0],
        wiring.graph.constants,
    )
    if names[0] in constants or any(name and name not in constants for name in names[1:]):
        return None
    weight = layer.layer.tensors[operator.inputs[1]]
    given = sum(index != OMITTED for index in operator.inputs)
    if len(weight.shape) != 2:
        return None
    return layer.op, names[0], operator.attributes, weight.dtype, weight.shape, given


def _chunks(wiring: Wiring, products: Sequence[int]) -> Iterator[list[int]]:
    """At least two products each, no more than a group may have results."""
    chunk: list[int] = []
    for product in products:
        looks = Counter([wiring.layers[at].fingerprint for at in (*chunk, product)])
        if len(chunk) == MOST_RESULTS or prod(map(factorial, looks.values())) > MOST_ORDERS:
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
