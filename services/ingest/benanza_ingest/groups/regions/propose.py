"""Regions: convex parts of the graph that one generated kernel can compute by index arithmetic.

Other calls may take the ends of a region: a product computes what follows it in its epilogue,
attention reads its operands in place, and a kernel may be faster if it doesn't move as well as
reduce. So there are further regions without these ends.
"""

from collections.abc import Iterable, Set

from benanza_ingest.groups.epilogue import Chains
from benanza_ingest.groups.regions.fusible_graph import FusibleGraph
from benanza_ingest.groups.regions.partition import Positions, partition
from benanza_ingest.groups.wiring import Wiring

RULE = "region"

MANY_READERS = 8
"""From so many readers of each of its elements on, a value may be worth a call of its own."""


def propose(wiring: Wiring, epilogues: Chains, attended: Iterable[Set[int]]) -> list[Positions]:
    """Positions of the layers of each region, ascending.

    `epilogues` are products with what libraries compute in their epilogues; each of `attended` are
    layers that other groups may have: attention scales its operands and reads them where they are,
    and a quantised product reads integers before they are dequantised.
    """
    graph = FusibleGraph(wiring)
    proposed = dict.fromkeys(_of_graph(graph, epilogues, attended))
    if graph.has_products():  # A library may multiply faster, although it reads the matrices again.
        without = FusibleGraph(wiring, products=False)
        proposed |= dict.fromkeys(_of_graph(without, epilogues, attended))
    return list(proposed)


def _of_graph(
    graph: FusibleGraph, epilogues: Chains, attended: Iterable[Set[int]]
) -> list[Positions]:
    chains = [[chain.positions for chain in epilogue] for epilogue in epilogues.values()]
    behind: dict[int, list[list[Positions]]] = {}
    for epilogue in chains:
        for follower in epilogue[0][1:]:  # A region may begin behind the views after a product.
            behind.setdefault(follower, []).append(epilogue)
    without = graph.views | _computed_by_convolutions(graph.wiring, chains)
    proposed: dict[Positions, None] = {}
    for parts in partition(graph, without):
        whole = tuple(sorted([position for part in parts for position in part]))
        for positions in dict.fromkeys((whole, *parts)):
            for part in _with_movement_before_windows(graph, positions):
                if graph.weight(part) > 1:
                    for left in _without_ends(graph, part, behind, attended):
                        if not without.issuperset(left) and graph.is_runnable(left):
                            proposed[left] = None
    return list(proposed)


def _computed_by_convolutions(wiring: Wiring, products: Iterable[list[Positions]]) -> set[int]:
    """The layers in epilogues of convolutions, which libraries compute well.

    Activations that are written out are not among them.
    """
    computed: set[int] = set()
    for chains in products:
        product, *followers = chains[-1]
        if wiring.layers[product].op == "Conv" and len(followers) == len(chains):
            computed.update(followers)
    return computed


def _with_movement_before_windows(graph: FusibleGraph, positions: Positions) -> list[Positions]:
    """A region, and if it begins with windows also with the movement before them.

    A window doesn't join what computes its input. But what only moves its input it can read where
    that lies.
    """
    region = set(positions)
    ends = [
        position
        for position in positions
        if position in graph.windows and region.isdisjoint(graph.before[position])
    ]
    while ends:
        before = [
            writer
            for writer in graph.before[ends.pop()]
            if graph.wiring.only_reader(writer) in region
        ]
        moving = graph.moving.intersection(before)
        region |= moving
        ends += moving
    return [positions, tuple(sorted(region))] if len(region) > len(positions) else [positions]


def _without_ends(
    graph: FusibleGraph,
    positions: Positions,
    behind: dict[int, list[list[Positions]]],
    attended: Iterable[Set[int]],
) -> list[Positions]:
    """A region, and what is left of it without its ends, as far as that is several layers.

    `behind` holds the epilogues of each product by the layers in its shortest one; each of
    `attended` are layers in other groups.
    """
    inside = frozenset(positions)
    chains = [epilogue for position in positions for epilogue in behind.get(position, ())]
    shortest = frozenset([follower for epilogue in chains for follower in epilogue[0][1:]])
    longest = frozenset([follower for epilogue in chains for follower in epilogue[-1][1:]])
    moving = inside.intersection(graph.moving)
    read_in_place = [inside & layers for layers in attended]
    unreduced = frozenset(
        [position for position in positions if graph.layers[position].reduction is None]
    )
    wanted = [shortest, longest, longest | moving, *read_in_place, unreduced]
    if inside & graph.short:  # What is broadcast may be computed once, and not for each reader.
        largest = max([graph.layers[position].size for position in positions])
        few = [
            position
            for position in positions
            if graph.layers[position].size * MANY_READERS <= largest
        ]
        wanted.append(frozenset(few))
    if windows := inside & graph.windows:
        first = windows | (inside & graph.views) | _head(graph, positions, moving)
        wanted += [first, first | longest]
    heads, tails = {frozenset[int](): None}, {frozenset[int](): None}
    for ends in dict.fromkeys(wanted):
        if ends and ends != inside:
            heads[_head(graph, positions, ends)] = None
    for ends in dict.fromkeys((*read_in_place, moving)):
        if ends and ends != inside:
            tails[_tail(graph, positions, ends)] = None
    if unreduced != inside:
        tails[inside - _head(graph, positions, unreduced)] = None
    parts = dict.fromkeys([inside - head - tail for head in heads for tail in tails])
    trimmed = dict.fromkeys([_without_views(graph, part) for part in parts])
    return [part for part in trimmed if graph.weight(part) > 1]


def _head(graph: FusibleGraph, positions: Positions, wanted: Set[int]) -> frozenset[int]:
    """Those of the wanted layers that read from no other layer of the region; no views alone."""
    head, others = set[int](), set(positions)
    for position in positions:
        if position in wanted and others.isdisjoint(graph.before[position]):
            head.add(position)
            others.remove(position)
    return frozenset(head if graph.weight(head) else ())


def _tail(graph: FusibleGraph, positions: Positions, wanted: Set[int]) -> frozenset[int]:
    """Those of the wanted layers that no other layer of the region reads; no views alone."""
    tail, read = set[int](), set[int]()
    for position in reversed(positions):
        if position in wanted and position not in read:
            tail.add(position)
        else:
            read.update(graph.before[position])
    return frozenset(tail if graph.weight(tail) else ())


def _without_views(graph: FusibleGraph, positions: Set[int]) -> Positions:
    """The layers without views at the ends, which take no time.

    A view of a value that another layer reads as it is stays, since it is read only once. A view of
    a feature map, or one that makes one, stays as well, unless what it makes or is made of is read
    elsewhere: only with the view can the map have its channels last.
    """
    wiring, left = graph.wiring, set(positions)
    for position in sorted(graph.views.intersection(positions)):
        if left.isdisjoint(graph.before[position]):
            left.remove(position)
            node = wiring.graph.nodes[position]
            inside = left.issuperset(wiring.readers[node.outputs[0]])
            is_map = inside and _is_feature_map(graph, node.inputs[0])
            if node.inputs[0] in graph.reads(left) or is_map:
                left.add(position)
    for position in sorted(graph.views.intersection(left), reverse=True):
        node = wiring.graph.nodes[position]
        names = [*filter(None, node.outputs)]
        is_map = any(_is_feature_map(graph, name) for name in names)
        is_map = is_map and left.issuperset(wiring.readers.get(node.inputs[0], ()))
        if not is_map and all(left.isdisjoint(wiring.readers[name]) for name in names):
            left.remove(position)
    return tuple(sorted(left))


def _is_feature_map(graph: FusibleGraph, name: str) -> bool:
    known = graph.wiring.graph.types.get(name)
    return known is not None and known.shape in graph.feature_maps
