"""Sinks: a score for each head that the softmax has besides those of keys, and that has no value.

Exporters append them to the scores as one more column, take the largest score of each row off, and
drop the column behind the softmax. Source: `eager_attention_forward` of GPT-OSS in transformers.
"""

from math import prod
from typing import NamedTuple

from benanza_ingest.groups.attention.layouts import Placed, Shape, expanded
from benanza_ingest.groups.attention.movement import numbers, shape_of
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.operators.table import RESHAPING


class Sinks(NamedTuple):
    """A constant, and a view of it in the shape of the scores, but of one column."""

    name: str
    view: Placed


class Appended(NamedTuple):
    """The layers that append sinks to the scores of this name, in the order in which they run."""

    members: tuple[int, ...]
    scores: str
    sinks: Sinks


def appended(wiring: Wiring, softmax: int) -> Appended | None:
    """What appends sinks to the scores whose softmax the layer at a position is."""
    name, members = wiring.node(softmax).inputs[0], tuple[int, ...]()
    shifted = _shifted(wiring, name, softmax)
    if shifted is not None:
        name, members = shifted
    join = wiring.writers.get(name)
    if join is None or wiring.layers[join].op != "Concat" or wiring.layers[join].domain:
        return None
    shape, axis = shape_of(wiring, name), wiring.layers[join].attribute("axis")
    inputs = wiring.node(join).inputs
    if len(inputs) != 2 or axis not in (-1, len(shape) - 1):
        return None
    if set(wiring.readers[name]) - {*members, softmax}:
        return None
    sinks = _sinks(wiring, inputs[1], (*shape[:-1], 1))
    return None if sinks is None else Appended((join, *members), inputs[0], sinks)


def drops_sinks(wiring: Wiring, position: int) -> bool:
    """Whether a layer drops the last column of its input, and nothing else."""
    layer, node = wiring.layers[position], wiring.node(position)
    if layer.op != "Slice" or layer.domain or len(node.inputs) < 4:
        return False
    *rows, columns = shape_of(wiring, node.inputs[0])
    starts, ends, axes = (numbers(wiring, position, slot) for slot in (1, 2, 3))
    if shape_of(wiring, node.outputs[0]) != (*rows, columns - 1) or starts is None or axes is None:
        return False
    steps = numbers(wiring, position, 4) if any(node.inputs[4:]) else [1]
    return ends is not None and starts == [0] and steps == [1] and axes[0] in (-1, len(rows))


def _shifted(wiring: Wiring, name: str, softmax: int) -> tuple[str, tuple[int, ...]] | None:
    """Of which values a row's largest one was taken off, and the two layers that do so."""
    taken = wiring.writers.get(name)
    if taken is None or wiring.layers[taken].op != "Sub" or wiring.only_reader(taken) != softmax:
        return None
    value, most = wiring.node(taken).inputs
    largest = wiring.writers.get(most)
    if largest is None or wiring.layers[largest].op != "ReduceMax":
        return None
    shape = shape_of(wiring, value)
    by_rows = shape_of(wiring, most) == (*shape[:-1], 1)
    if wiring.node(largest).inputs[0] != value or wiring.only_reader(largest) != taken:
        return None
    return (value, (largest, taken)) if by_rows else None


def _sinks(wiring: Wiring, name: str, shape: Shape) -> Sinks | None:
    """A constant of this shape that has one number for each head, however often it is repeated."""
    constants = wiring.graph.constants
    if name not in constants or shape_of(wiring, name) != shape or len(shape) < 3:
        return None
    heads = shape[-3]
    value = constants.value(name)
    if value is not None and prod(shape) != heads:
        by_head = value.reshape(-1, heads, shape[-2])
        first = by_head[:1, :, :1]
        if (by_head != first).any():
            return None
        axis = ((heads, shape[-2]),) if heads > 1 else ()
        return Sinks(name, expanded(Placed(0, (axis, (), ())), shape))
    while prod(shape_of(wiring, name)) != heads:
        made = constants.producer(name)
        if made is None or made[0].op_type != "Expand":
            return None
        name = made[1][0]
    own = shape_of(wiring, name)
    if own[-3:] != (heads, 1, 1):
        return None
    while (made := constants.producer(name)) is not None and made[0].op_type in RESHAPING:
        name = made[1][0]
    axis = ((heads, 1),) if heads > 1 else ()
    return Sinks(name, expanded(Placed(0, (axis, (), ())), shape))
