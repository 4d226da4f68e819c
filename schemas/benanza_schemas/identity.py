"""Which layers are the same: the canonical form of a layer and its fingerprint.

Two layers are the same iff their graphs are the same up to names: operators, attributes,
wiring, shapes, element types, which inputs are constant, the constants that decide the meaning,
and whether they run as one call or as a network. The inputs of an ONNX operator are ordered, so a
walk from the layer's outputs reaches the operators in an order that doesn't depend on names. Only
outputs that look the same have to be tried in every order.
"""

from collections.abc import Iterable
from hashlib import blake2b
from itertools import groupby, permutations, product

import msgspec

from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor

IDENTITY_VERSION = 1
"""Part of every fingerprint. Raise it when a change gives an existing layer another one."""

FINGERPRINT_BYTES = 16
MAX_OUTPUT_ORDERS = 5040

_PREFIX = f"benanza-layer {IDENTITY_VERSION} ".encode()
_ENCODER = msgspec.msgpack.Encoder()


class LayerError(ValueError):
    """A layer that is not a well-formed graph."""


def fingerprint(layer: Layer) -> str:
    """The identity of a layer, as 32 hexadecimal digits.

    Raises `LayerError` as `canonical` does.
    """
    return digest(_encode(canonical(layer)))


def fingerprint_of_canonical(layer: Layer) -> str:
    """The `fingerprint` of a layer that is canonical already, without the walk."""
    return digest(_encode(layer))


def digest(encoded: bytes) -> str:
    """The 128-bit BLAKE2b hash of these bytes in hexadecimal: a fingerprint, or an event id."""
    return blake2b(encoded, digest_size=FINGERPRINT_BYTES).hexdigest()


def canonical(layer: Layer) -> Layer:
    """The form that is the same for all layers that differ in names and order only.

    Operators are in the order of a depth-first walk from the outputs, tensors in the order in
    which the operators name them. Raises `LayerError` if an operator reads a tensor that a later
    one writes, if the layer has no output, if no output depends on an operator, or if more than
    `MAX_OUTPUT_ORDERS` orders of outputs that look the same would have to be tried.
    """
    check(layer)
    operators = tuple([_in_one_form(operator) for operator in layer.operators])
    layer = Layer(layer.tensors, operators, layer.outputs, layer.execution)
    if len(layer.operators) == 1 and len(layer.outputs) == 1:
        return _renumber(layer, (0,), layer.outputs)
    orders = list(_output_orders(layer))
    candidates = (_renumber(layer, _walk(layer, outputs), outputs) for outputs in orders)
    return next(candidates) if len(orders) == 1 else min(candidates, key=_encode)


def check(layer: Layer) -> None:
    """Raises `LayerError` if an operator reads or writes what it can't, or if the layer has no
    output.
    """
    written: set[int] = set()
    for operator in layer.operators:
        for index in operator.inputs:
            if not OMITTED <= index < len(layer.tensors):
                raise LayerError(f"{operator.op_type} reads tensor {index}, which isn't there")
        for index in operator.outputs:
            if not OMITTED <= index < len(layer.tensors) or index in written:
                raise LayerError(f"{operator.op_type} can't write tensor {index}")
        written.update(operator.outputs)
        written.discard(OMITTED)
    pending = set(written)
    for operator in layer.operators:
        if not pending.isdisjoint(operator.inputs):
            raise LayerError(f"{operator.op_type} reads what a later operator writes")
        pending.difference_update(operator.outputs)
    if not layer.outputs or not set(layer.outputs) <= written:
        raise LayerError("a layer needs outputs, each written by one of its operators")


def _output_orders(layer: Layer) -> Iterable[tuple[int, ...]]:
    """The orders of the outputs to try: sorted by what they compute, ties in every order."""
    if len(set(layer.outputs)) == 1:
        yield layer.outputs[:1]
        return
    ways = _what_each_tensor_computes(layer)
    ranked = sorted(set(layer.outputs), key=lambda index: ways[index])
    ties = [tuple(tie) for _, tie in groupby(ranked, key=lambda index: ways[index])]
    count = 1
    for tie in ties:
        for factor in range(2, len(tie) + 1):
            count *= factor
            if count > MAX_OUTPUT_ORDERS:
                raise LayerError(f"{layer.title()} has too many outputs that look the same")
    for order in product(*(permutations(tie) for tie in ties)):
        yield tuple(index for tie in order for index in tie)


def _what_each_tensor_computes(layer: Layer) -> list[bytes]:
    """For each tensor, a hash of the operators that it depends on."""
    ways = [_hash(_ENCODER.encode(tensor)) for tensor in layer.tensors]
    for operator in layer.operators:
        above = [b"" if i == OMITTED else ways[i] for i in operator.inputs]
        alone = (operator.op_type, operator.domain, operator.version, operator.attributes)
        head = _hash(_ENCODER.encode((alone, above)))
        for slot, index in enumerate(operator.outputs):
            if index != OMITTED:
                ways[index] = _hash(_ENCODER.encode((head, slot, ways[index])))
    return ways


def _walk(layer: Layer, outputs: tuple[int, ...]) -> tuple[int, ...]:
    """The operators in depth-first order from the outputs, each after those it reads from."""
    writer = {i: n for n, op in enumerate(layer.operators) for i in op.outputs if i != OMITTED}
    order: dict[int, None] = {}
    for output in outputs:
        pending = [(writer[output], False)]
        while pending:
            position, inputs_done = pending.pop()
            if position in order:
                continue
            if inputs_done:
                order[position] = None
                continue
            pending.append((position, True))
            for index in reversed(layer.operators[position].inputs):
                if index in writer:
                    pending.append((writer[index], False))
    if len(order) != len(layer.operators):
        raise LayerError(f"an operator of {layer.title()} is of no use to any of its outputs")
    return tuple(order)


def _renumber(layer: Layer, order: tuple[int, ...], outputs: tuple[int, ...]) -> Layer:
    places: dict[int, int] = {OMITTED: OMITTED}
    tensors: list[Tensor] = []
    operators = []
    for position in order:
        operator = layer.operators[position]
        for index in operator.inputs + operator.outputs:
            if index not in places:
                places[index] = len(tensors)
                tensors.append(layer.tensors[index])
        operators.append(
            msgspec.structs.replace(
                operator,
                inputs=tuple([places[index] for index in operator.inputs]),
                outputs=tuple([places[index] for index in operator.outputs]),
            )
        )
    return Layer(
        tensors=tuple(tensors),
        operators=tuple(operators),
        outputs=tuple(dict.fromkeys(places[index] for index in outputs)),
        execution=layer.execution,
    )


def _in_one_form(operator: Operator) -> Operator:
    """The operator in one form, where ONNX allows several."""
    names = [attribute.name for attribute in operator.attributes]
    if OMITTED not in (operator.inputs + operator.outputs) and names == sorted(names):
        return operator
    return Operator(
        op_type=operator.op_type,
        domain=operator.domain,
        version=operator.version,
        attributes=tuple(sorted(operator.attributes, key=lambda a: a.name)),
        inputs=_without_tail(operator.inputs),
        outputs=_without_tail(operator.outputs),
    )


def _without_tail(indices: tuple[int, ...]) -> tuple[int, ...]:
    """Without the omitted ones at the end, which have no meaning."""
    end = len(indices)
    while end and indices[end - 1] == OMITTED:
        end -= 1
    return indices[:end]


def _encode(layer: Layer) -> bytes:
    """A canonical layer as MessagePack, its fields in the order of their definition."""
    return _PREFIX + _ENCODER.encode(layer)


def _hash(encoded: bytes) -> bytes:
    return blake2b(encoded, digest_size=FINGERPRINT_BYTES).digest()
