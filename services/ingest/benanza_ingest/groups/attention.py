"""Attention: the softmax of a product of queries and keys, times values.

The product may be scaled by a number, and masks may be added to it. Libraries run all of it as one
call, in which the scores never leave the chip. They read the keys as they were before an exporter
transposed them, and can write the result in another order of axes. So there are further groups,
with the layers that prepare the keys, and with a Transpose of the result.

Source: `torch.nn.functional.scaled_dot_product_attention` as PyTorch's exporter decomposes it.
"""

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.epilogue import LONGEST
from benanza_ingest.groups.wiring import Wiring

RULE = "attention"


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the layers of each group, in the order in which they run.

    Each group is a chain: only the next layer reads the result of a layer.
    """
    groups: list[tuple[int, ...]] = []
    for start, layer in enumerate(wiring.layers):
        if not _is_compute(layer, "MatMul") or not _has_matrices(wiring, start):
            continue
        chain = _chain(wiring, start)
        if chain is None:
            continue
        keys = _before(wiring, start)
        follower = wiring.only_reader(chain[-1])
        after: tuple[int, ...] = ()
        if follower is not None and _is_transpose(wiring.layers[follower]):
            after = (follower,)
        wanted = dict.fromkeys(
            before + chain + behind for before in ((), keys) for behind in ((), after)
        )
        groups.extend(group for group in wanted if len(group) <= LONGEST)
    return groups


def _chain(wiring: Wiring, start: int) -> tuple[int, ...] | None:
    """The chain from the product of queries and keys to the product with values, if any."""
    chain = [start]
    has_softmax = False
    while len(chain) < LONGEST:
        follower = wiring.only_reader(chain[-1])
        if follower is None:
            return None
        layer = wiring.layers[follower]
        value = _between(wiring, chain[-1], follower)
        if layer.kind == "view" and _reads_first(wiring, follower, value):
            if not _keeps_matrices(wiring, follower, value):
                return None
        elif _is_compute(layer, "Softmax") and not has_softmax and _is_over_last_axis(layer):
            has_softmax = True
        elif has_softmax:
            ends = _is_compute(layer, "MatMul") and _reads_first(wiring, follower, value)
            return (*chain, follower) if ends and _has_matrices(wiring, follower) else None
        elif not _is_scale(wiring, follower, value) and not _is_mask(wiring, follower, value):
            return None
        chain.append(follower)
    return None


def _before(wiring: Wiring, product: int) -> tuple[int, ...]:
    """The layers before a product's keys that only scale them or change their shape or axes."""
    found: list[int] = []
    name = wiring.node(product).inputs[1]
    while name in wiring.writers:
        position = wiring.writers[name]
        layer, given = wiring.layers[position], wiring.node(position).inputs
        if wiring.only_reader(position) is None:
            break
        if layer.kind == "view" or _is_transpose(layer):
            name = given[0]
        elif _is_compute(layer, "Mul") or _is_compute(layer, "Div"):
            name = given[1] if given[0] in wiring.graph.constants else given[0]
            if not _is_scale(wiring, position, name):
                break
        else:
            break
        found.insert(0, position)
    # Views at the start take no time, and don't belong to the group.
    first = next((at for at, p in enumerate(found) if wiring.layers[p].kind != "view"), len(found))
    return tuple(found[first:])


def _is_compute(layer: ExtractedLayer, op: str) -> bool:
    return layer.op == op and layer.kind == "compute" and not layer.domain


def _is_transpose(layer: ExtractedLayer) -> bool:
    return layer.op == "Transpose" and layer.kind == "movement" and not layer.domain


def _between(wiring: Wiring, before: int, after: int) -> str:
    """The value that one layer writes and the other reads."""
    read = wiring.node(after).inputs
    return next(name for name in wiring.node(before).outputs if name and name in read)


def _reads_first(wiring: Wiring, position: int, value: str) -> bool:
    return wiring.node(position).inputs[0] == value


def _shape(wiring: Wiring, name: str) -> tuple[int | str | None, ...] | None:
    known = wiring.graph.types.get(name)
    return None if known is None else known.shape


def _has_matrices(wiring: Wiring, product: int) -> bool:
    """Whether no operand of a product is a vector."""
    shapes = [_shape(wiring, name) for name in wiring.node(product).inputs]
    return all(shape is not None and len(shape) >= 2 for shape in shapes)


def _keeps_matrices(wiring: Wiring, position: int, value: str) -> bool:
    """Whether a view of a value has the same last two axes."""
    before, after = (_shape(wiring, name) for name in (value, wiring.node(position).outputs[0]))
    return before is not None and after is not None and before[-2:] == after[-2:]


def _is_scale(wiring: Wiring, position: int, value: str) -> bool:
    """Whether a layer multiplies a value by one constant number, or divides it by one."""
    layer, given = wiring.layers[position], wiring.node(position).inputs
    if not _is_compute(layer, "Mul") and not _is_compute(layer, "Div"):
        return False
    other = given[1] if given[0] == value else given[0]
    shape = _shape(wiring, other)
    if layer.op == "Div" and given[0] != value:
        return False
    return other in wiring.graph.constants and shape is not None and all(n == 1 for n in shape)


def _is_mask(wiring: Wiring, position: int, value: str) -> bool:
    """Whether a layer adds something to a value without broadcasting the value."""
    if not _is_compute(wiring.layers[position], "Add"):
        return False
    return _shape(wiring, value) == _shape(wiring, wiring.node(position).outputs[0])


def _is_over_last_axis(layer: ExtractedLayer) -> bool:
    """Whether a softmax is over the last axis. Before version 13, all axes from its own count."""
    assert layer.layer is not None, "compute layers are known"
    operator = layer.layer.operators[0]
    rank = len(layer.layer.tensors[operator.outputs[0]].shape)
    default = 1 if operator.version < 13 else -1
    axis = next((a.value for a in operator.attributes if a.name == "axis"), default)
    return isinstance(axis, int) and axis % rank == rank - 1
