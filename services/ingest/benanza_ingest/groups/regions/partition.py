"""Divides the fusible layers of a model into regions.

All fusible layers between the same heavy ones are fused as far as their rows fit, as a compiler
does that fuses by what a loop reads and writes. A layer that doesn't fit begins a new stage. Stages
grow along the edges, so what has the same level and stage is convex. Parts that aren't connected
there are one region if they read the same, or if the same layer reads them.

Source: the scheduler of PyTorch's Inductor, which fuses vertically and horizontally.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from benanza_ingest.groups.epilogue import PRODUCTS
from benanza_ingest.groups.regions.flow import RowsError, rows_after
from benanza_ingest.groups.regions.fusible_graph import MOST_LAYERS, FusibleGraph
from benanza_ingest.groups.regions.levels import Sets, levels
from benanza_ingest.groups.regions.rows import Rows

MOST_OF_FEW = 8
"""Reductions of a few elements join where no more than so many are read for each result."""

Positions = tuple[int, ...]
Place = tuple[int, int]


def partition(graph: FusibleGraph, without: set[int]) -> list[list[Positions]]:
    """Disjoint regions, each as its unconnected parts, which may be single layers.

    Positions ascend. Connected layers that are all in `without` are left out.
    """
    regions: list[list[Positions]] = []
    side_by_side: dict[Place, list[Positions]] = defaultdict(list)
    for place, positions in _connected(graph):
        if without.issuperset(positions):
            continue
        pieces = list(_runnable(graph, positions))
        if len(pieces) > 1:
            regions.extend([[piece] for piece in pieces])  # one may wait for another
        else:
            side_by_side[place].append(positions)
    for parts in side_by_side.values():
        regions.extend(_merged(graph, parts) if len(parts) > 1 else [parts])
    return regions


def _connected(graph: FusibleGraph) -> list[tuple[Place, Positions]]:
    """Connected layers of one level and stage, whose rows fit."""
    level = levels(
        graph.wiring, [position not in graph.layers for position in range(len(graph.before))]
    )
    stage = [0] * len(level)
    sets = Sets(len(level))
    sizes = [1] * len(level)
    shapes: list[tuple[int, int] | None] = [None] * len(level)
    short = [frozenset[Rows]()] * len(level)
    moves = [position in graph.moving for position in range(len(level))]
    windowed = [position in graph.windows for position in range(len(level))]
    for position, layer in graph.layers.items():
        before = [p for p in graph.before[position] if level[p] == level[position]]
        stage[position] = max([stage[p] for p in before]) if before else 0
        near = [p for p in before if stage[p] == stage[position]]
        size, shape, fits = 1, layer.reduction, True
        moved, has_window = moves[position], windowed[position]
        reduces = layer.reduction is not None or position in graph.short
        pieces = {sets.find(p) for p in near}
        for piece in pieces:
            size += sizes[piece]
            fits = fits and (shape is None or shapes[piece] in (None, shape))
            shape = shape or shapes[piece]
            # A window reads each element several times, and a reduction goes over a row several
            # times: what they read had to be computed as often.
            fits = fits and (moves[piece] or position not in graph.windows)
            fits = fits and not (reduces and windowed[piece])
            moved = moved and moves[piece]
            has_window = has_window or windowed[piece]
        mine = [layer.reads] if position in graph.short else []
        few = frozenset(mine).union(*[short[piece] for piece in pieces])
        fits = fits and (not few or _elements(few) <= MOST_OF_FEW)
        fits = fits and all(moves[sets.find(p)] for p in graph.indices(position) if p in near)
        if size > MOST_LAYERS or not fits or not _flows(graph, position, near, shape):
            stage[position] += 1
            shapes[position] = layer.reduction
            short[position] = frozenset(mine)
            _flows(graph, position, ())
            continue
        root = position
        for piece in pieces:
            root = sets.join(piece, root)
        sizes[root], shapes[root], moves[root] = size, shape, moved
        windowed[root] = has_window
        short[root] = few
    members: dict[int, list[int]] = defaultdict(list)
    for position in graph.layers:
        members[sets.find(position)].append(position)
    return [((level[first], stage[first]), tuple(layers)) for first, layers in members.items()]


def _elements(few: Iterable[Rows]) -> int:
    """How many elements one follows from, if these reductions of a few follow one another."""
    return prod([size for rows in few for digits in rows for size, _ in digits])


def _flows(
    graph: FusibleGraph, position: int, near: Sequence[int], shape: tuple[int, int] | None = None
) -> bool:
    """Whether each element of a layer's results needs one row; if so, their rows are noted.

    `near` are the layers before it in its region, `shape` is that of the region's rows.
    """
    wiring, fusible = graph.wiring, graph.layers[position]
    if shape is None and fusible.reduction is None:
        return True
    layer, node = wiring.layers[position].layer, wiring.graph.nodes[position]
    assert layer is not None, "fusible layers are known"
    given = [graph.rows.get(n) if wiring.writers.get(n) in near else None for n in node.inputs]
    try:
        new_rows = rows_after(layer, fusible, given, position)
    except RowsError:
        return False
    known = {n: rows for n, rows in zip(node.outputs, new_rows, strict=False) if rows is not None}
    if known and shape is not None and fusible.size > prod(shape):
        return False  # rows would be computed again and again
    graph.rows.update(known)
    return True


def _runnable(graph: FusibleGraph, positions: Positions) -> Iterator[Positions]:
    """Cuts connected layers into parts that one kernel can run, each after those it waits for."""
    if len(positions) == 1 or graph.is_runnable(positions):
        yield positions
        return
    needed = set(graph.ill_placed(positions, graph.wiring.results(positions)))
    for position in reversed(positions):
        if position in needed:
            needed.update(graph.before[position])
    first = tuple([position for position in positions if position in needed])
    if not 0 < len(first) < len(positions):
        first = positions[: len(positions) // 2]
    rest = set(positions).difference(first)
    yield from _runnable(graph, first)
    yield from _runnable(graph, tuple([position for position in positions if position in rest]))


def _merged(graph: FusibleGraph, parts: Sequence[Positions]) -> list[list[Positions]]:
    """Merges parts that don't wait for each other if they read the same or are read together."""
    regions: list[list[Positions]] = []
    nearby: dict[object, int] = {}
    for part in parts:
        ties = _ties(graph, part)
        for number in sorted({nearby[tie] for tie in ties if tie in nearby}):
            together = tuple(
                sorted([position for other in (*regions[number], part) for position in other])
            )
            if graph.is_runnable(together):
                regions[number].append(part)
                break
        else:
            number = len(regions)
            regions.append([part])
        nearby.update([(tie, number) for tie in ties])
    return regions


def _ties(graph: FusibleGraph, part: Positions) -> set[object]:
    """What ties a part to others: values that it reads, or of which it reads the products, and the
    heavy layers that read its results.
    """
    wiring = graph.wiring
    ties: set[object] = set()
    for name in graph.reads(part):
        known = wiring.graph.types.get(name)
        if known is not None and known.resolved and known.elements() > 1:
            ties.add(name)
        writer = wiring.writers.get(name)
        if writer is not None and wiring.layers[writer].op in PRODUCTS:
            ties.add(wiring.graph.nodes[writer].inputs[0])
    for name in wiring.results(part):
        heavy = [
            reader for reader in wiring.readers[name] if reader >= 0 and reader not in graph.layers
        ]
        ties.update(heavy)
    return ties
