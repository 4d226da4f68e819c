"""Finds what ONNX Runtime may fuse to one operator, by what each function must have.

Exporters write each in several ways, and which of them it fuses, ONNX Runtime says itself when it
runs a group. So a function is all that leads from one value, or from a sum, to one result, around
an operator that says what is meant. ONNX Runtime also makes one division of any `1 / a * b`, one
Clip of a Relu and a Clip, one Transpose of several, and takes factors into a product of matrices
and a Pad into a pooling.
Sources: gelu_fusion.cc, bias_gelu_fusion.cc, fast_gelu_fusion.cc, quick_gelu_fusion.cc,
layer_norm_fusion.cc, skip_layer_norm_fusion.cc, div_mul_fusion.cc, relu_clip_fusion.cc,
pad_fusion.cc and matmul_scale_fusion.cc of ONNX Runtime 1.31.
"""

from collections.abc import Iterable, Iterator, Set

from benanza_ingest.groups.functions.join import is_number
from benanza_ingest.groups.gelu import which
from benanza_ingest.groups.wiring import OUTSIDE, Wiring

RULE = "function"

Operators = frozenset[str]

OF_GELU = frozenset("Add Div Mul Pow Sub".split())
OF_GATE = frozenset(("Mul",))
OF_NORM = frozenset("Add Cast Div Mul Pow ReduceMean Sub".split())
MOST = 14
"""No way to write such a function that was seen has more operators."""


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the layers of each group, ascending."""
    groups: list[set[int]] = []
    for anchor in wiring.of("Erf", "Tanh"):
        groups += _gelus(wiring, anchor)
    for anchor in wiring.of("Sigmoid"):
        groups += _gated(wiring, anchor)
    for anchor in wiring.of("Sqrt"):
        groups += _norms(wiring, anchor)
    for anchor in wiring.of("Div"):
        groups += _quotient(wiring, anchor)
    for anchor in wiring.of("Pad"):
        groups += _pair(wiring, anchor, {"AveragePool", "MaxPool"})
    for anchor in wiring.of("Relu"):
        groups += _pair(wiring, anchor, {"Clip"})
    for anchor in wiring.of("Transpose"):
        groups += _in_row(wiring, anchor)
    for anchor in wiring.of("MatMul"):
        groups += _scaled(wiring, anchor)
    return list(dict.fromkeys([tuple(sorted(group)) for group in groups]))


def _gelus(wiring: Wiring, anchor: int) -> Iterator[set[int]]:
    """A Gelu around its Erf or Tanh, and with the sum before it."""
    for group in _around(wiring, anchor, OF_GELU):
        constants = [name for name in _read(wiring, group) if name in wiring.graph.constants]
        sources = _sources(wiring, group)
        if len(sources) > 1 or not all(is_number(wiring, name) for name in constants):
            continue
        (value,) = sources
        times_read = sum(value in wiring.node(position).inputs for position in group)
        if times_read < 2 or which(wiring, value, sorted(group)) is None:
            continue
        yield group
        before = wiring.writers.get(value, OUTSIDE)
        if _is(wiring, before, {"Add"}) and group.issuperset(wiring.readers[value]):
            yield group | {before}
        return


def _gated(wiring: Wiring, anchor: int) -> Iterator[set[int]]:
    """A value by its own Sigmoid, which may be that of a multiple."""
    for group in _around(wiring, anchor, OF_GATE):
        operators = [wiring.layers[position].op for position in sorted(group)]
        if operators in (["Sigmoid", "Mul"], ["Mul", "Sigmoid", "Mul"]):
            yield group


def _norms(wiring: Wiring, anchor: int) -> Iterator[set[int]]:
    """Norms around their root, with a factor and a bias or without, and with the sum before.

    What a difference from the mean is read by isn't a norm of its own, but a part of one.
    """
    for group in _around(wiring, anchor, OF_NORM):
        operators = [wiring.layers[position].op for position in sorted(group)]
        if any(
            _is(wiring, writer, {"Sub"}) for writer in _writers(wiring, _sources(wiring, group))
        ):
            continue
        if operators[-1] != "Div" and "ReduceMean" in operators and "Div" in operators:
            yield group


def _quotient(wiring: Wiring, anchor: int) -> list[set[int]]:
    """A product with a number divided by a value."""
    divides = is_number(wiring, wiring.node(anchor).inputs[0])
    return _pair(wiring, anchor, {"Mul"}) if divides else []


def _pair(wiring: Wiring, first: int, operators: Set[str]) -> list[set[int]]:
    """A layer and the only one that reads it, if that is one of these operators."""
    reader = wiring.only_reader(first)
    return [{first, reader}] if reader is not None and _is(wiring, reader, operators) else []


def _in_row(wiring: Wiring, first: int) -> Iterator[set[int]]:
    """Transposes of which each but the last one is only read by the next."""
    row = [first]
    while len(row) < MOST and (pair := _pair(wiring, row[-1], {"Transpose"})):
        row.append(max(pair[0]))
    if len(row) > 1:
        yield set(row)


def _scaled(wiring: Wiring, anchor: int) -> Iterator[set[int]]:
    """A product of matrices with ever more of the numbers that its operands and its result are
    multiplied by, and of what exchanges the last two axes of its operands.
    """
    after = wiring.only_reader(anchor)
    ends = [{after}] if after is not None and _scales(wiring, after) else []
    before, pending = {anchor}, [anchor]
    groups = [{anchor}]
    while pending:
        reader = pending.pop()
        for writer in _writers(wiring, wiring.node(reader).inputs):
            moves = _scales(wiring, writer) or _turns_matrices(wiring, writer)
            if moves and wiring.only_reader(writer) == reader:
                before.add(writer)
                pending.append(writer)
                groups.append(set(before))
    for group in groups:
        for end in (set[int](), *ends):
            if any(_scales(wiring, position) for position in group | end):
                yield group | end


def _scales(wiring: Wiring, position: int) -> bool:
    """Whether a layer multiplies or divides by a number."""
    if not _is(wiring, position, {"Div", "Mul"}):
        return False
    first, second = wiring.node(position).inputs
    divides = wiring.layers[position].op == "Div"
    return is_number(wiring, second) or (not divides and is_number(wiring, first))


def _turns_matrices(wiring: Wiring, position: int) -> bool:
    """Whether a layer exchanges the last two axes."""
    if not _is(wiring, position, {"Transpose"}):
        return False
    order = wiring.layers[position].attribute("perm")
    rank = len(order) if isinstance(order, tuple) else 0
    return rank > 1 and order == (*range(rank - 2), rank - 1, rank - 2)


def _around(wiring: Wiring, anchor: int, operators: Operators) -> Iterator[set[int]]:
    """The sets of these operators that begin with ever more of what an operator reads."""
    before = {anchor}
    while len(before) < MOST:
        sources = _sources(wiring, before)
        if len(sources) == 1 or _begins_with_sum(wiring, before, sources):
            yield from _closed(wiring, before, sources, operators)
        last = max(_writers(wiring, sources), default=OUTSIDE)
        if not _is(wiring, last, operators):
            return
        before.add(last)


def _begins_with_sum(wiring: Wiring, group: set[int], sources: set[str]) -> bool:
    """Whether two values are only added up, to each other or to constants."""
    first = [position for position in group if not sources.isdisjoint(wiring.node(position).inputs)]
    return len(sources) == 2 and all(wiring.layers[position].op == "Add" for position in first)


def _closed(
    wiring: Wiring, before: set[int], sources: set[str], operators: Operators
) -> Iterator[set[int]]:
    """These layers and the first ones behind them, with all that leads there from the sources, each
    time that all results but one are read by them alone.
    """
    inside = set(before)
    while len(inside) <= MOST:
        read_by = {member: wiring.readers[wiring.node(member).outputs[0]] for member in inside}
        ends = [member for member in inside if not inside.issuperset(read_by[member])]
        beside = _sources(wiring, inside) - sources
        if len(ends) == 1 and not beside:
            yield set(inside)
        joining = set(_writers(wiring, beside))
        if not beside:
            left = {reader for end in ends for reader in read_by[end]} - inside - {OUTSIDE}
            joining = {min(left, default=OUTSIDE)}
        if len(joining) < len(beside) or not all(
            _is(wiring, member, operators) for member in joining
        ):
            return
        inside |= joining


def _is(wiring: Wiring, position: int, operators: Set[str]) -> bool:
    """Whether there is a layer at a position that computes or moves, with one of these operators of
    the standard domain.
    """
    if position == OUTSIDE:
        return False
    layer = wiring.layers[position]
    return layer.op in operators and not layer.domain and layer.kind != "skipped"


def _writers(wiring: Wiring, names: Iterable[str]) -> list[int]:
    """The layers that write these values, as far as any does."""
    return [wiring.writers[name] for name in names if name in wiring.writers]


def _sources(wiring: Wiring, group: Iterable[int]) -> set[str]:
    """The values that these layers read and that none of them writes."""
    written = {name for position in group for name in wiring.node(position).outputs}
    read = _read(wiring, group)
    return {name for name in read - written if name not in wiring.graph.constants}


def _read(wiring: Wiring, group: Iterable[int]) -> set[str]:
    return {name for position in group for name in wiring.node(position).inputs if name}
