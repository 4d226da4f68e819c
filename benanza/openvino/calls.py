"""Which layers the nodes of OpenVINO's execution graph compute, and how long they take."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from onnx import GraphProto, NodeProto

from benanza.profiling.joining import layers_of_nodes
from benanza.profiling.spans import Span, timed_call
from benanza.profiling.whole_model import named_after, positions_in
from benanza_analyzer.answers.kinds import CONVERSIONS
from benanza_schemas.events import FrameworkCall


class ExecutedNode(NamedTuple):
    """A node of the execution graph: its own name, those of the operations of the model that are
    known to be in it (`originalLayersNames`), and the nodes that it reads. One that doesn't run was
    found to have nothing to do, as one that views its input.
    """

    name: str
    op: str
    originals: str
    reads: tuple[str, ...]
    runs: bool


def framework_calls(
    nodes: Sequence[ExecutedNode], layers: GraphProto, executions: Sequence[Sequence[float]]
) -> tuple[FrameworkCall, ...]:
    """The nodes that take time or compute layers.

    `nodes` are in the order in which they run, which they do one after the other; `executions` have
    the time of each in microseconds. `layers` are those of a `WholeModel`.
    """
    named = _with_names(nodes, layers)
    graph = GraphProto(node=[NodeProto(name=node.originals, op_type=node.op) for node in named])
    starts = [list(accumulate(execution, initial=0.0)) for execution in executions]
    calls = []
    for number, computed in enumerate(layers_of_nodes(layers, graph)):
        node = named[number]
        # What OpenVINO wrote out as several nodes, each of them computes.
        positions = tuple(sorted({*computed, *positions_in(node.originals)}))
        if node.runs or positions:
            spans = [
                Span(start[number], execution[number])
                for start, execution in zip(starts, executions, strict=True)
            ]
            calls.append(timed_call(node.name, node.op, positions, spans))
    return tuple(calls)


def _with_names(nodes: Sequence[ExecutedNode], layers: GraphProto) -> list[ExecutedNode]:
    """The nodes, with names for those that run without one: OpenVINO forgets names where it puts
    one operation in the place of several. Such a node computes the layers without a node of their
    own that lie just before those of its readers.

    A node that doesn't run, such as one that lays out weights, shows only what no other does.
    """
    shown = {position for node in nodes if node.runs for position in positions_in(node.originals)}
    named = {
        node.name: node
        if node.runs
        else node._replace(
            originals=named_after(
                position for position in positions_in(node.originals) if position not in shown
            )
        )
        for node in nodes
    }
    shown |= {position for node in named.values() for position in positions_in(node.originals)}
    readers: dict[str, list[str]] = {}
    for node in nodes:
        for source in node.reads:
            readers.setdefault(source, []).append(node.name)
    before = _sources(layers)
    for node in reversed(nodes):
        if node.runs and node.op not in CONVERSIONS and not positions_in(node.originals):
            after = {
                position
                for reader in readers.get(node.name, ())
                for position in positions_in(named[reader].originals)
            }
            found = set(_unshown(after, before, shown))
            shown |= found
            named[node.name] = node._replace(originals=named_after(sorted(found)))
    return list(named.values())


def _sources(layers: GraphProto) -> list[list[int]]:
    """For each layer those that write what it reads."""
    writer = {value: position for position, node in enumerate(layers.node) for value in node.output}
    return [[writer[value] for value in node.input if value in writer] for node in layers.node]


def _unshown(after: set[int], before: Sequence[Sequence[int]], shown: set[int]) -> Iterator[int]:
    """The layers that aren't shown from which only such lead to those after them."""
    left = [source for position in after for source in before[position]]
    seen = set[int]()
    while left:
        position = left.pop()
        if position not in shown and position not in seen:
            seen.add(position)
            yield position
            left += before[position]
