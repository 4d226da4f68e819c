"""A product with what moves its operands before it, and what moves its result after it.

Libraries take matrices with gaps between rows and between matrices, transposed or not. What a
Transpose, Slice or Expand only shows in another way is hence read and written where it is. So would
be what a Gather chooses, but a layer doesn't say which it chooses: most are alike in all else.
"""

from collections.abc import Iterable, Iterator

from benanza_ingest.groups.attention.layouts import Placed, Shape, inverse, joined, whole
from benanza_ingest.groups.attention.movement import may_move, moved, shape_of
from benanza_ingest.groups.attention.products import contraction
from benanza_ingest.groups.epilogue import LONGEST, Chains, prefixes
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.operators.table import RESHAPING

RULE = "in place"

MOST_MOVES = 6
"""Of one operand, or of the result: exporters write fewer."""


def propose(wiring: Wiring, epilogues: Chains, attended: set[int]) -> list[tuple[int, ...]]:
    """Positions of the layers of each group, in the order in which they run.

    A group has all that moves operands, and as much of the epilogue as any other group of the
    product, or all that moves the result. Products within an attention are left to it.
    """
    groups: list[tuple[int, ...]] = []
    for start in wiring.of("Gemm", "MatMul", "Einsum"):
        if start in attended or not _is_product(wiring, start):
            continue
        before = tuple(
            sorted([position for slot in (0, 1) for position in _before(wiring, start, slot)])
        )
        after = tuple(_after(wiring, start))
        chains = prefixes(epilogues.get(start, ()))
        candidates = [(*before, start, *after)] if after else []
        if before:
            candidates += [(*before, *chain) for chain in ((start,), *chains)]
        groups += [group for group in candidates if len(group) <= LONGEST]
    return groups


def _is_product(wiring: Wiring, position: int) -> bool:
    layer = wiring.layers[position]
    if layer.op == "Gemm":
        return layer.kind == "compute"
    return contraction(wiring, position) is not None


def _before(wiring: Wiring, product: int, slot: int) -> list[int]:
    """The layers that move an operand and that nothing else reads, up to the first movement of
    which strides say where its result's elements are.
    """
    moves: list[int] = []
    names = [wiring.node(product).inputs[slot]]
    reader = product
    while len(moves) < MOST_MOVES:
        position = wiring.writers.get(names[0])
        if position is None or wiring.only_reader(position) != reader:
            break
        if not _may_be_before(wiring, position):
            break
        moves.insert(0, position)
        names.insert(0, wiring.node(position).inputs[0])
        reader = position
    while moves and not _is_read_in_place(wiring, moves, names):
        moves.pop(0)
        names.pop(0)
    return moves


def _may_be_before(wiring: Wiring, position: int) -> bool:
    """Whether strides may say where the elements of a layer's result are."""
    layer = wiring.layers[position]
    # Other views hardly ever stand next to a product.
    known = layer.op in RESHAPING if layer.kind == "view" else layer.op != "Gather"
    return known and may_move(wiring, position)


def _is_read_in_place(wiring: Wiring, moves: list[int], names: list[str]) -> bool:
    """Whether the first of these layers moves elements, and strides say where all of them are."""
    if wiring.layers[moves[0]].kind == "view" or names[0] in wiring.graph.constants:
        return False
    results = zip(moves, names[1:], strict=True)
    return _has_strides(_seen(wiring, results, whole(shape_of(wiring, names[0]))))


def _seen(wiring: Wiring, results: Iterable[tuple[int, str]], view: Placed | None) -> Placed | None:
    """Where the elements are after these layers, one after another, each with its result."""
    for position, result in results:
        view = view and moved(wiring, position, result, view)
    return view


def _has_strides(view: Placed | None) -> bool:
    """Whether the elements along each axis are at equal distances."""
    return view is not None and all(len(joined(axis)) < 2 for axis in view.axes)


def _after(wiring: Wiring, product: int) -> list[int]:
    """The layers that move the result and that alone read it, up to a Transpose, if strides say
    where the result is then to be written. None after a Gemm with a bias, which has two axes: its
    columns would become rows, to which libraries add no bias.
    """
    node = wiring.node(product)
    moves = [] if any(node.inputs[2:]) else list(_moving(wiring, product))
    shape = shape_of(wiring, node.outputs[0])
    while moves and not _is_written_in_place(wiring, moves, shape):
        moves.pop()
    return moves


def _is_written_in_place(wiring: Wiring, moves: list[int], shape: Shape) -> bool:
    """Whether the last of these layers moves elements of a result of this shape, and strides say
    where it is to be written.
    """
    results = [(position, wiring.node(position).outputs[0]) for position in moves]
    view = _seen(wiring, results, whole(shape))
    moves_last = wiring.layers[moves[-1]].kind != "view"
    return moves_last and view is not None and _has_strides(inverse(view, shape))


def _moving(wiring: Wiring, position: int) -> Iterator[int]:
    for _ in range(MOST_MOVES):
        follower = wiring.only_reader(position)
        if follower is None or not may_move(wiring, follower):
            return
        if wiring.layers[follower].op not in RESHAPING | {"Transpose"}:
            return
        yield follower
        position = follower
