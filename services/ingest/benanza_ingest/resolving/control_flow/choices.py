"""Chooses the branch of an If: the one that runs, or the cheaper one where that isn't known."""

from contextlib import suppress
from math import inf
from operator import itemgetter
from typing import NamedTuple

from benanza_ingest.errors import ModelError
from benanza_ingest.layering.layers import Layers
from benanza_ingest.resolving.causes import Causes
from benanza_ingest.resolving.control_flow.bodies import body_of, nodes_in, prefix_of
from benanza_ingest.resolving.control_flow.placing import BodyPlace
from benanza_ingest.resolving.graph import Node, without_dead
from benanza_ingest.resolving.types import TensorType, tensor_type

_BRANCHES = ("then_branch", "else_branch")

Cost = tuple[float, float, int]


class _Branch(NamedTuple):
    """A branch that was put in place: its live nodes, its results, and the nodes in its body."""

    nodes: list[Node]
    results: list[str]
    hidden: int


class Choices:
    """Chooses branches in one graph. Costs are those of `layers`."""

    def __init__(self, place: BodyPlace, causes: Causes, layers: Layers) -> None:
        self._place = place
        self._causes = causes
        self._layers = layers
        self._costs: dict[str, tuple[float, float]] = {}

    def taken(self, node: Node, depth: int) -> list[str] | None:
        """Puts the branch in place that runs, by the constant condition of an If, and returns the
        names of its results. Returns None if the condition isn't known, or if it can't be done.
        """
        if node.inputs[0] not in self._place.constants:
            return None
        condition = self._place.constants.value(node.inputs[0])
        if condition is None or condition.size != 1:
            return None
        body = body_of(node.proto, _BRANCHES[not condition.item()])
        return self._place.body(body, prefix_of(node.proto), {}, depth)

    def cheaper(self, node: Node, depth: int) -> int | None:
        """Puts the cheaper branch of an If in place, before the If, which then reads its results.

        Returns how many nodes the body of the other branch has; None, and does nothing, if a branch
        can't be put in place. What is compared is the sum of the FLOPs of the layers on which the
        results of a branch depend; where these are equal, that of the bytes that they move; then
        the number of these layers; and if that is equal too, the first branch counts. So an empty
        branch is the cheaper one. A layer that is skipped costs nothing here, but where one can't
        run on such inputs, the branch isn't chosen if the other can. What the branches that can run
        say of the type of a result is its type.
        """
        place = self._place
        start = len(place.nodes)
        tried = []
        for name in _BRANCHES:
            body = body_of(node.proto, name)
            results = place.body(body, f"{prefix_of(node.proto)}{name}/", {}, depth)
            if results is None or len(results) < len(node.outputs):
                del place.nodes[start:]
                return None
            live = without_dead(place.nodes[start:], place.results(results), place.opsets)
            del place.nodes[start:]
            tried.append(_Branch(live, results, nodes_in(body)))
        costs = [self._cost(branch) for branch in tried]
        (_, chosen), (cost, other) = sorted(zip(costs, tried, strict=True), key=itemgetter(0))
        place.nodes += chosen.nodes
        node.captured += tuple(place.results(chosen.results))
        for name, *both in zip(node.outputs, chosen.results, other.results, strict=False):
            types = [place.constants.type_of(result) for result in both]
            known = types[0] if cost[0] == inf else _in_common(*types)
            if known is not None and name:
                place.types[name] = known
        return other.hidden

    def _cost(self, branch: _Branch) -> Cost:
        costs = [self._cost_of(node) for node in branch.nodes]
        return sum(flops for flops, _ in costs), sum(moved for _, moved in costs), len(costs)

    def _cost_of(self, node: Node) -> tuple[float, float]:
        """Of one node; nodes of branches in branches are asked for with each."""
        name = next(filter(None, node.outputs))
        if name not in self._costs:
            self._costs[name] = inf, inf
            if not self._causes.is_wrong(node):
                with suppress(ModelError):  # a tensor beyond the limits
                    layer = self._layers.layer(node)
                    self._costs[name] = layer.flops, layer.bytes
        return self._costs[name]


def _in_common(first: TensorType | None, second: TensorType | None) -> TensorType | None:
    """What is the same in two types; None if not even the element type is."""
    if first is None or second is None or first.dtype != second.dtype:
        return None
    one, other = first.shape, second.shape
    if one is None or other is None or len(one) != len(other):
        return TensorType(first.dtype, None)
    pairs = zip(one, other, strict=True)
    return tensor_type(first.dtype, tuple([a if a == b else None for a, b in pairs]))
