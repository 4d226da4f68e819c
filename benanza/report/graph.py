"""The graph of a bound's calls as boxes and arrows, which the page lays out from top to bottom."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import networkx

from benanza.looking.calls.dataflow import read_between
from benanza.render.table import printable, shortened
from benanza.report.blocks import Block, repeated_blocks
from benanza.report.content import ReportedBound
from benanza.report.figures.style import took

MOST_BOXES = 120
"""Of a graph with more, what repeats is drawn once."""

MOST_RANKS = 2000
"""Of more that arrows lead over, as in DenseNets, a layout takes minutes."""

LABEL = 25
"""So many characters of a call's operators fit into its box."""


class Box(NamedTuple):
    """A call in the graph. `call` is its number in the table, `positions` are those of its nodes;
    `names` is what a search looks in; `heat` is its time as a share of that of the slowest call.
    """

    call: int
    label: str
    us: float
    heat: float
    critical: bool
    names: str
    positions: tuple[int, ...]


class Arrows(NamedTuple):
    """Arrows between places of boxes. One that a longer way leads around, as at a residual
    connection, is in `skips`; they are `beside` the boxes where too many would have to find their
    way between these. `blocks` are boxes that repeat and are drawn once, until a reader wants all.
    """

    arrows: tuple[tuple[int, int], ...]
    skips: tuple[tuple[int, int], ...]
    beside: bool
    blocks: tuple[Block, ...]


class CallGraph(NamedTuple):
    """Boxes of calls, and the arrows between them."""

    boxes: tuple[Box, ...]
    arrows: Arrows


def graph(reported: ReportedBound) -> CallGraph:
    """The calls of the bound with what each reads from others, in an order in which they can run.

    Layers that are in no call, such as views, aren't drawn: what they lead to is.
    """
    slowest_us = max(map(took, reported.calls), default=0.0)
    boxes = tuple(
        Box(
            call=number,
            label=_label(call.op),
            us=took(call),
            heat=took(call) / slowest_us if slowest_us else 0.0,
            critical=call.critical,
            names=" ".join((call.op, call.library, *map(shortened, call.layers))),
            positions=tuple(sorted(call.positions)),
        )
        for number, call in enumerate(reported.calls)
    )
    prints = [call.fingerprint for call in reported.calls]
    return CallGraph(boxes, arrows_between(prints, read_between(reported.calls, reported.edges)))


def arrows_between(boxes: Sequence[Hashable], edges: Iterable[tuple[int, int]]) -> Arrows:
    """The arrows of a graph without circles whose boxes are told apart by these marks, with edges
    between their places.
    """
    drawn = networkx.DiGraph()
    drawn.add_nodes_from(range(len(boxes)))
    drawn.add_edges_from(edges)
    skips, ranks = _skips(drawn)
    blocks = repeated_blocks(boxes) if len(boxes) > MOST_BOXES else []
    return Arrows(
        tuple(edge for edge in drawn.edges if edge not in skips),
        tuple(sorted(skips)),
        ranks > MOST_RANKS,
        tuple(blocks),
    )


def _label(op: str) -> str:
    """As many of the operators as have room, and how many more there are."""
    names = op.replace("Normalization", "Norm").split("+")
    for left in range(len(names)):
        more = f"+{left} more" if left else ""
        shown = "+".join(names[: len(names) - left]) + more
        if len(shown) <= LABEL:
            return printable(shown)
    return shortened(names[0], LABEL - len(more)) + more


def _skips(calls: networkx.DiGraph) -> tuple[set[tuple[int, int]], int]:
    """Arrows that lead over ranks which other ways pass through, and over how many together."""
    rank: dict[int, int] = {}
    for depth, numbers in enumerate(networkx.topological_generations(calls)):
        rank.update(dict.fromkeys(numbers, depth))
    skips = {
        (source, target)
        for source, target in calls.edges
        if rank[target] > rank[source] + 1 and calls.out_degree(source) > 1
    }
    return skips, sum(rank[target] - rank[source] for source, target in skips)
