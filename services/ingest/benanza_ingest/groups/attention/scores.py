"""From a softmax back to the product of queries and keys, and on to the product with values."""

from collections.abc import Iterator
from typing import NamedTuple

import ml_dtypes
import numpy as np

from benanza_ingest.groups.attention.layouts import Placed, expanded, reshaped, whole
from benanza_ingest.groups.attention.movement import dtype_of, shape_of
from benanza_ingest.groups.attention.products import Contraction, contraction
from benanza_ingest.groups.attention.sinks import Sinks, appended, drops_sinks
from benanza_ingest.groups.wiring import OUTSIDE, Wiring
from benanza_schemas.element_types import TO_ONNX

LONGEST = 16
"""The most layers between the product and the softmax."""

FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))


class Term(NamedTuple):
    """What is done to the scores apart from their scale: one of three, by what is not empty.

    A tensor is added; a tensor of bools chooses between the scores and a number; or what was added
    before is multiplied with `factor`. `view` is the tensor's, in the
    shape of the scores. `chosen` holds a number for True and one for False, None for the score.
    """

    name: str = ""
    view: Placed = Placed(0, ())
    chosen: tuple[float | None, ...] = ()
    factor: float = 1.0


class Scores(NamedTuple):
    """The layers from a product to its softmax, the softmax included, and what they compute.

    `terms` are done one after the other to zeros, and added to the scores times `scale`, or to
    `cap * tanh(scale * score / cap)` if there is a `cap`. `precision` is ONNX's number of the type
    in which the softmax is computed, zero if that is the type of the scores. `sinks` are those that
    the softmax has beside them, if there are any.
    """

    members: tuple[int, ...]
    product: Contraction
    scale: float
    cap: float
    terms: tuple[Term, ...]
    precision: int
    sinks: Sinks | None = None


class Weighted(NamedTuple):
    """The layers after a softmax up to the product with values, that product included.

    `weights` is which operand of the product the softmax is, and `swapped` whether its last two
    axes were transposed before.
    """

    members: tuple[int, ...]
    product: Contraction
    weights: int
    swapped: bool


def number(wiring: Wiring, name: str) -> float | None:
    """The value of a constant that is one known number."""
    constants = wiring.graph.constants
    if name not in constants or any(size != 1 for size in shape_of(wiring, name)):
        return None
    value = constants.value(name)
    return None if value is None else float(np.ravel(value)[0])


def factor(wiring: Wiring, position: int) -> tuple[str, float] | None:
    """What a layer multiplies with one positive number, or divides by one, and that factor."""
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.kind != "compute" or layer.domain or layer.op not in ("Mul", "Div"):
        return None
    for value, other in (node.inputs, node.inputs[::-1])[: 1 + (layer.op == "Mul")]:
        by = number(wiring, other)
        if by is None or not np.isfinite(by) or by <= 0 or value in wiring.graph.constants:
            continue
        if shape_of(wiring, value) == shape_of(wiring, node.outputs[0]):
            return value, by if layer.op == "Mul" else 1 / by
    return None


def rounded(value: float) -> float:
    """A number as an attribute of an operator, of seven digits: exporters round what they write."""
    return float(np.float32(f"{value:.7g}"))


def scores(wiring: Wiring, softmax: int) -> Scores | None:
    """What a softmax is taken of, if that is attention's, over the last axis."""
    name = wiring.node(softmax).inputs[0]
    rank = len(shape_of(wiring, name))
    axis = wiring.layers[softmax].attribute("axis")
    if not isinstance(axis, int) or axis % max(rank, 1) != rank - 1:
        return None
    joined = appended(wiring, softmax)
    path = _path(wiring, joined.scores if joined else name, LONGEST)
    if path is None:
        return None
    product = contraction(wiring, path[0][0])
    assert product is not None, "a path begins at one"
    value = wiring.node(path[0][0]).outputs[0]
    shape, dtype = shape_of(wiring, value), dtype_of(wiring, value)
    scale, cap, terms, precision = 1.0, 0.0, list[Term](), 0
    for position, carrier in path[1:]:
        layer, node = wiring.layers[position], wiring.node(position)
        result = node.outputs[0]
        if layer.kind == "view":
            shape = shape_of(wiring, result)
            for place, term in enumerate(terms):
                seen = reshaped(term.view, shape) if term.name else term.view
                if seen is None:
                    return None
                terms[place] = term._replace(view=seen)
        elif precision:
            return None
        elif layer.op == "Cast":
            precision = TO_ONNX[dtype_of(wiring, result)]
        elif scaling := factor(wiring, position):
            scale *= scaling[1]
            cap *= scaling[1]
            if terms:
                terms.append(Term(factor=scaling[1]))
        elif layer.op == "Tanh":
            if cap or terms:
                return None
            cap = 1.0
        else:
            term = _term(wiring, position, carrier)
            seen = whole(shape_of(wiring, term.name))
            terms.append(term._replace(view=expanded(seen, shape)))
    members = [position for position, _ in path]
    if joined and (precision or cap):
        return None
    members += [*(joined.members if joined else ()), softmax]
    sinks = joined.sinks if joined else None
    found = Scores(tuple(members), product, scale, cap, tuple(terms), precision, sinks)
    return found if dtype in FLOATS else None


def _path(wiring: Wiring, name: str, most: int) -> list[tuple[int, str]] | None:
    """The layers from a product to the one that writes a value, each with the scores it reads."""
    position = wiring.writers.get(name)
    if position is None or wiring.only_reader(position) is None or not most:
        return None
    if contraction(wiring, position) is not None:
        return [(position, "")]
    for carrier in _carriers(wiring, position):
        path = _path(wiring, carrier, most - 1)
        if path is not None:
            return [*path, (position, carrier)]
    return None


def _carriers(wiring: Wiring, position: int) -> Iterator[str]:
    """Which inputs of a layer may be the scores."""
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.layer is None or layer.domain or not node.outputs[0]:
        return
    shape = shape_of(wiring, node.outputs[0])
    if layer.kind == "view" or layer.op == "Cast":
        first = node.inputs[0]
        is_float = {dtype_of(wiring, name) for name in (first, node.outputs[0])} <= FLOATS
        if is_float and shape_of(wiring, first)[-2:] == shape[-2:] and layer.op != "Transpose":
            yield first
    elif scaling := factor(wiring, position):
        yield scaling[0]
    elif layer.op == "Tanh":
        yield node.inputs[0]
    elif layer.op == "Add":
        first, second = node.inputs
        if first != second:
            yield from (name for name in node.inputs if shape_of(wiring, name) == shape)
    elif layer.op == "Where":
        for name, other in (node.inputs[1:], node.inputs[:0:-1]):
            if _hides(wiring, other) and shape_of(wiring, name) == shape:
                yield name


def _hides(wiring: Wiring, name: str) -> bool:
    """Whether a constant is one number so small that its softmax is zero beside any score."""
    value = number(wiring, name)
    return value is not None and value <= lowest(dtype_of(wiring, name)) / 2


def lowest(dtype: str) -> float:
    """The smallest number of a type."""
    return float(ml_dtypes.finfo(dtype).min)  # type: ignore[no-untyped-call]  # as it stands


def _term(wiring: Wiring, position: int, carrier: str) -> Term:
    node = wiring.node(position)
    if wiring.layers[position].op == "Add":
        return Term(next(name for name in node.inputs if name != carrier))
    condition, *branches = node.inputs
    return Term(
        condition,
        chosen=tuple([None if name == carrier else number(wiring, name) for name in branches]),
    )


def weighted(wiring: Wiring, softmax: int, precision: int, sinks: bool) -> Weighted | None:
    """The product of a softmax with values, if nothing else becomes of it. Of one with `sinks`,
    these have to be dropped before.
    """
    position, members, swapped = softmax, list[int](), False
    source = wiring.node(softmax)
    if any(source.outputs[1:]):
        return None
    while len(members) < LONGEST:
        name = wiring.node(position).outputs[0]
        guard = _guard(wiring, name)
        if guard:
            members.extend(guard)
            position = guard[-1]
            continue
        follower = wiring.only_reader(position)
        if follower is None:
            return None
        members.append(follower)
        layer, node = wiring.layers[follower], wiring.node(follower)
        if layer.layer is None or layer.domain:
            return None
        product = contraction(wiring, follower)
        if product is not None:
            if precision or sinks:
                return None
            return Weighted(tuple(members), product, product.operands.index(name), swapped)
        if node.inputs[0] != name:
            return None
        shape = shape_of(wiring, node.outputs[0])
        if layer.op == "Transpose":
            rank = len(shape)
            if wiring.layers[follower].attribute("perm") != (*range(rank - 2), rank - 1, rank - 2):
                return None
            swapped = not swapped
        elif sinks and not swapped and drops_sinks(wiring, follower):
            sinks = False
        elif layer.op == "Cast" and layer.kind != "view":
            if not precision or dtype_of(wiring, node.outputs[0]) not in FLOATS:
                return None
            precision = 0
        elif layer.kind != "view" or shape_of(wiring, name)[-2:] != shape[-2:]:
            return None
        position = follower
    return None


def _guard(wiring: Wiring, name: str) -> tuple[int, ...]:
    """The IsNaN and the Where that put zeros into rows of which all was masked, if it is these."""
    readers = wiring.readers[name]
    if len(readers) != 2 or OUTSIDE in readers:
        return ()
    test, choice = readers
    layers = wiring.layers[test], wiring.layers[choice]
    if [layer.op for layer in layers] != ["IsNaN", "Where"] or None in [
        layer.layer for layer in layers
    ]:
        return ()
    condition, zero, value = wiring.node(choice).inputs
    alone = condition in wiring.node(test).outputs and wiring.only_reader(test) == choice
    if not alone or value != name or number(wiring, zero) != 0:
        return ()
    if shape_of(wiring, wiring.node(choice).outputs[0]) != shape_of(wiring, name):
        return ()
    return test, choice
