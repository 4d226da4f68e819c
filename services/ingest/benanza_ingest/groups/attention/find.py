"""Finds attention around a softmax, and where ONNX's own operator stands."""

from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from benanza_ingest.groups.attention.layouts import (
    Placed,
    Shape,
    expanded,
    reshaped,
    sliced,
    transposed,
    whole,
)
from benanza_ingest.groups.attention.masks import Seen, without_known
from benanza_ingest.groups.attention.movement import dtype_of, shape_of
from benanza_ingest.groups.attention.products import Labels, arranged
from benanza_ingest.groups.attention.scores import Term, rounded, scores, weighted
from benanza_ingest.groups.attention.sinks import Sinks
from benanza_ingest.groups.wiring import Wiring

NEWEST = 24
"""The newest version of Attention that has no windows."""

HEADS = ("q_num_heads", "kv_num_heads", "kv_num_heads")


class OfProduct(NamedTuple):
    """Queries, keys or values as an operand of a product, with a label for each of its axes.

    Those `wanted` have these sizes: the axes before the matrices, rows and columns. Only `rows` are
    read, if there are any: keys and values that some query sees.
    """

    name: str
    labels: Labels
    wanted: Labels
    shape: Shape
    rows: range = range(0)

    def seen(self, view: Placed) -> Placed | None:
        """Where the matrices are, if the value is seen so."""
        return _of_rows(arranged(view, self.labels, self.wanted, self.shape), self.rows)


class OfOperator(NamedTuple):
    """The same of ONNX's operator, of this shape by batch, head, row and column.

    With three axes, the last one holds the columns of all heads. Each head is `repeated`. `rows`
    are as in `OfProduct`.
    """

    name: str
    shape: Shape
    repeated: int
    rows: range = range(0)

    def seen(self, view: Placed) -> Placed | None:
        """Where the matrices are, if the value is seen so."""
        batch, heads, rows, columns = self.shape
        if len(view.axes) == 3:
            by_row = reshaped(view, (batch, rows, heads, columns))
            if by_row is None:
                return None
            view = transposed(by_row, (0, 2, 1, 3))
        axes = list(view.axes)
        axes[1] += ((self.repeated, 0),) if self.repeated > 1 else ()
        return _of_rows(Placed(view.offset, tuple(axes)), self.rows)


def _of_rows(view: Placed, rows: range) -> Placed | None:
    if not rows:
        return view
    return sliced(view, len(view.axes) - 2, rows.start, len(rows), 1)


Operand = OfProduct | OfOperator


class Match(NamedTuple):
    """An attention: the layers that compute it, its operands and what is computed of them.

    `lead` are the axes before those of the matrices, the heads last. `result` is the view that the
    last layer's result is of the values by these axes, query and column. `given` are attributes of
    ONNX's operator other than `scale`. `counts_keys` says that it is told that all keys count: then
    the last query has the place of the last key, and otherwise the first that of the first. `sinks`
    are those that the softmax has beside the scores.
    """

    members: tuple[int, ...]
    operands: tuple[Operand, ...]
    lead: Shape
    scale: float
    terms: tuple[Term, ...]
    given: tuple[tuple[str, int | float], ...]
    result: Placed
    counts_keys: bool = False
    sinks: Sinks | None = None

    def added(self) -> tuple[tuple[str, Placed], ...]:
        """What scores get, apart from numbers: the names of values, and views in their shape."""
        terms = tuple([(term.name, term.view) for term in self.terms if term.name])
        return (*terms, self.sinks) if self.sinks else terms


def find(wiring: Wiring, position: int) -> Match | None:
    """The attention whose softmax, or whose operator, the layer at a position is."""
    layer = wiring.layers[position]
    if layer.kind != "compute":
        return None
    written_out = layer.op == "Softmax"
    match = (_written_out if written_out else _operator)(wiring, position)
    if match is None:
        return None
    # A file can say something else of the result than its operators do.
    declared = shape_of(wiring, wiring.node(match.members[-1]).outputs[0])
    return match if match.result.shape() == declared else None


def _written_out(wiring: Wiring, softmax: int) -> Match | None:
    before = scores(wiring, softmax)
    if before is None:
        return None
    after = weighted(wiring, softmax, before.precision, before.sinks is not None)
    if after is None:
        return None
    first, second = before.product, after.product
    *leading, row, column = first.result
    key = 0 if column in first.labels[0] else 1
    if row in first.labels[key] or column in first.labels[1 - key]:
        return None
    *later, rows, summed = second.labels[after.weights]
    if after.swapped:
        rows, summed = summed, rows
    theirs = second.labels[1 - after.weights]
    width = [label for label in theirs if label not in (*later, rows, summed)]
    if summed != second.summed or rows in theirs or len(width) != 1:
        return None
    wanted = (*later, rows, *width)
    if set(second.result) != set(wanted):
        return None
    sizes, last = first.sizes(wiring), second.sizes(wiring)
    lead, after_lead = (
        tuple([counts[label] for label in labels])
        for counts, labels in ((sizes, leading), (last, later))
    )
    value = second.operands[1 - after.weights]
    names = first.operands[1 - key], first.operands[key], value
    repeats = prod(shape_of(wiring, second.operands[after.weights])) != prod(
        (*after_lead, sizes[row], sizes[column])
    )
    if repeats or prod(lead) != prod(after_lead) or 0 in (*sizes.values(), *last.values()):
        return None
    if not _same_type(wiring, names):
        return None
    left = without_known(
        wiring, before.terms, (sizes[row], sizes[column]), dtype_of(wiring, names[0])
    )
    if left.causal and before.sinks:
        left = Seen(before.terms, False, range(sizes[column]))
    operands = []
    for name, labels, outer, matrix, shape in (
        (names[0], first.labels[1 - key], leading, (row, first.summed), sizes),
        (names[1], first.labels[key], leading, (column, first.summed), sizes),
        (names[2], theirs, later, (summed, *width), last),
    ):
        axes = (*outer, *matrix)
        read = left.keys if matrix[0] in (column, summed) else range(0)
        sizes_of_axes = tuple([shape[label] for label in axes])
        operands.append(OfProduct(name, labels, axes, sizes_of_axes, read))
    given: dict[str, int | float] = {"is_causal": 1} if left.causal else {}
    if before.cap:
        given["softcap"] = rounded(before.cap)
    if before.precision:
        given["softmax_precision"] = before.precision
    made = whole((*after_lead, sizes[row], last[width[0]]))
    return Match(
        before.members + after.members,
        tuple(operands),
        lead,
        before.scale,
        left.terms,
        tuple(given.items()),
        transposed(made, tuple([wanted.index(label) for label in second.result])),
        sinks=before.sinks,
    )


def _operator(wiring: Wiring, position: int) -> Match | None:
    """ONNX's operator, without a cache and what else libraries lack."""
    layer, node = wiring.layers[position], wiring.node(position)
    assert layer.layer is not None, "compute layers are known"
    if any(node.inputs[4:6]) or any(node.outputs[1:]):
        return None
    if layer.layer.operators[0].version > NEWEST:
        return None
    counts = [wiring.layers[position].attribute(name) for name in HEADS]
    shapes = [shape_of(wiring, name) for name in node.inputs[:3]]
    for slot, (count, shape) in enumerate(zip(counts, shapes, strict=True)):
        if len(shape) == 3:
            if not isinstance(count, int):
                return None
            shapes[slot] = shape[0], count, shape[1], shape[2] // count
    (batch, heads, queries, size), (*_, keys, width) = shapes[0], shapes[2]
    operands = [
        OfOperator(name, shape, heads // shape[1])
        for name, shape in zip(node.inputs, shapes, strict=False)
    ]
    terms: tuple[Term, ...] = ()
    for mask in filter(None, node.inputs[3:4]):
        shape, chosen = shape_of(wiring, mask), dtype_of(wiring, mask) == "bool"
        if shape[-1] not in (1, keys) or not (chosen or _same_type(wiring, (mask, node.inputs[0]))):
            return None
        view = expanded(whole(shape), (batch, heads, queries, keys))
        terms = (Term(mask, view, (None, -np.inf) if chosen else ()),)
    given: dict[str, int | float] = {}
    for name in ("is_causal", "softmax_precision"):
        value = wiring.layers[position].attribute(name)
        given |= {name: value} if isinstance(value, int) and value else {}
    if terms and not given.get("is_causal"):
        left = without_known(wiring, terms, (queries, keys), dtype_of(wiring, node.inputs[0]))
        terms, given = left.terms, given | ({"is_causal": 1} if left.causal else {})
        operands[1:] = [operand._replace(rows=left.keys) for operand in operands[1:]]
    cap = wiring.layers[position].attribute("softcap")
    given |= {"softcap": cap} if isinstance(cap, float) and cap else {}
    counted = next(iter(node.inputs[6:7]), "")
    if counted and (queries > keys or not _is_everywhere(wiring, counted, keys)):
        return None
    scale = wiring.layers[position].attribute("scale")
    scale = scale if isinstance(scale, float) else 1 / sqrt(size)
    made: Placed | None = whole((batch, heads, queries, width))
    if len(shape_of(wiring, node.outputs[0])) == 3 and made is not None:
        made = reshaped(transposed(made, (0, 2, 1, 3)), (batch, queries, heads * width))
    if made is None or not _same_type(wiring, node.inputs[:3]):
        return None
    return Match(
        (position,),
        tuple(operands),
        (batch, heads),
        scale,
        terms,
        tuple(given.items()),
        made,
        counts_keys=bool(counted) and "is_causal" in given and queries < keys,
    )


def _is_everywhere(wiring: Wiring, name: str, number: int) -> bool:
    """Whether a value is known to be this number in each place."""
    constants = wiring.graph.constants
    value = constants.value(name) if name in constants else None
    return value is not None and bool((value == number).all())


def _same_type(wiring: Wiring, names: tuple[str, ...]) -> bool:
    return len({dtype_of(wiring, name) for name in names}) == 1
