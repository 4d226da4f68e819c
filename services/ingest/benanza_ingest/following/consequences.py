"""Leaves out places of the batch from which a product follows that no model has.

At batch size 1, tokens × batch × width that are reshaped to tokens × heads × width are either
batch·tokens × heads or tokens × batch·heads. From one of these it follows that each element of the
batch is multiplied by each, or that the width of a weight would have to grow. A place is left out
only if that is so wherever else the batch may be; an operator that isn't known here says nothing.
Constants are taken to be without the batch, unless they depend on the shape of a value.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod

from benanza_ingest.following.places import BatchPlace, seen_as
from benanza_ingest.resolving.graph import Graph, Node
from benanza_schemas.operators.table import RESHAPING, named

Places = frozenset[BatchPlace | None]
"""Where the batch may be in a value; None stands for a value without it."""

_WITHOUT: Places = frozenset((None,))

NODES_AHEAD = 128
"""The nodes after a value that are looked at. A block of attention has about fifty."""

_MOST_BACK = 64
"""As far is looked back for where the batch may be in what meets the value."""

_MOST_CHOICES = 256
"""So many choices of the places in a node's inputs are followed."""

VIEWS = RESHAPING - {"Identity"}

BROADCASTING = named(lambda facts: facts.others == "broadcast")

_KEEPING = frozenset(
    "Abs Cast Ceil Clip DequantizeLinear Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity "
    "LeakyRelu Log Neg Not QuantizeLinear Reciprocal Relu Round Sigmoid Sign Softmax Softplus Sqrt "
    "Tanh".split()
)
"""The batch is in their results where it is in their first inputs."""


class Consequences:
    """What follows in one graph from places of the batch.

    `own` is the graph at the former batch size. `place` returns where the batch is in a value that
    was reached already, and `reached` says whether it was.
    """

    def __init__(
        self,
        own: Graph,
        former: int,
        place: Callable[[str], BatchPlace | None],
        reached: Callable[[str], bool],
    ) -> None:
        self._own = own
        self._former = former
        self._place = place
        self._reached = reached
        self._at = {name: i for i, node in enumerate(own.nodes) for name in node.outputs if name}

    def possible(self, name: str, places: Iterable[BatchPlace]) -> list[BatchPlace]:
        """Those of `places` of the batch in the value `name` from which nothing wrong follows."""
        return [place for place in places if self._is_possible(name, place)]

    def _is_possible(self, name: str, place: BatchPlace) -> bool:
        if name not in self._at:
            return True
        known: dict[str, Places | None] = {name: frozenset((place,))}
        after = {name}
        start = self._at[name] + 1
        for node in self._own.nodes[start : start + NODES_AHEAD]:
            if after.isdisjoint(node.inputs):
                continue
            result = self._after(node, known, _MOST_BACK)
            if result is not None and not result:
                return False
            known.update(dict.fromkeys(node.outputs, result))
            after.update(filter(None, node.outputs))
        return True

    def _where(self, name: str, known: dict[str, Places | None], back: int) -> Places | None:
        """Where the batch may be in a value; None if that isn't known."""
        if name not in known:
            if self._reached(name):
                known[name] = frozenset((self._place(name),))
            elif name in self._own.constants:
                known[name] = self._in_constant(name, known, back)
            elif name in self._at and back:
                known[name] = self._after(self._own.nodes[self._at[name]], known, back - 1)
            else:
                known[name] = None
        return known[name]

    def _in_constant(self, name: str, known: dict[str, Places | None], back: int) -> Places | None:
        made, sizes = self._own.constants.producer(name), self._sizes(name)
        if made is None or (sizes is not None and prod(sizes) == 1):
            return _WITHOUT
        node, inputs = made
        if node.op_type in ("Shape", "Size") or not back:
            return None
        given = [self._where(source, known, back - 1) for source in inputs if source]
        return _WITHOUT if all(places == _WITHOUT for places in given) else None

    def _after(self, node: Node, known: dict[str, Places | None], back: int) -> Places | None:
        """Where the batch may be in the result of a node: nowhere if its inputs can't meet."""
        inputs = node.inputs[:1] if node.op_type in VIEWS else node.inputs
        given = [self._where(name, known, back) for name in inputs if name]
        sizes = [self._sizes(name) for name in (*inputs, node.outputs[0]) if name]
        if node.domain or None in given or None in sizes:
            return None
        choices = [choice for choice in given if choice is not None]
        if prod(map(len, choices)) > _MOST_CHOICES:
            return None
        union: set[BatchPlace | None] = set()
        for places in product(*choices):
            if not any(places):
                union.add(None)
                continue
            result = self._result(node, places, [shape for shape in sizes if shape is not None])
            if result is None:
                return None
            union.update(result)
        return frozenset(union)

    def _result(
        self, node: Node, places: Sequence[BatchPlace | None], sizes: Sequence[tuple[int, ...]]
    ) -> Sequence[BatchPlace] | None:
        """The places in a result of one choice of the inputs' places; None if they aren't known.

        `sizes` are those of the inputs, and at the end of the result.
        """
        into, first = sizes[-1], places[0]
        if node.op_type in BROADCASTING:
            return _together(places, sizes, into, 0)
        if node.op_type == "MatMul":
            return _multiplied(places, sizes)
        if first is None:
            return None
        if node.op_type in VIEWS:
            return seen_as(first, sizes[0], into, self._former)
        if node.op_type in _KEEPING:
            return [first]
        if node.op_type == "Transpose":
            order = next((list(a.ints) for a in node.proto.attribute if a.name == "perm"), None)
            order = order or list(reversed(range(len(into))))
            return [BatchPlace(order.index(first.axis), first.inner)]
        if node.op_type == "Gemm" and not any(places[1:]):
            rows = next((int(a.i) for a in node.proto.attribute if a.name == "transA"), 0)
            return [BatchPlace(0, first.inner)] if first.axis == rows else []
        return None

    def _sizes(self, name: str) -> tuple[int, ...] | None:
        known = self._own.constants.type_of(name)
        return known.dims() if known is not None and known.resolved else None


def _together(
    places: Sequence[BatchPlace | None],
    sizes: Sequence[tuple[int, ...]],
    into: tuple[int, ...],
    matrix: int,
) -> Sequence[BatchPlace] | None:
    """The place in a result of sizes that broadcast: the same one, counted from the last axis.

    The last `matrix` axes don't broadcast. None if the axis is of another size in the result.
    """
    axes = {
        (len(shape) - place.axis, place.inner, shape[place.axis])
        for place, shape in zip(places, sizes, strict=False)
        if place is not None
    }
    if len(axes) > 1:
        return []
    from_end, inner, size = axes.pop()
    if from_end <= matrix:
        return []
    axis = len(into) - from_end
    return [BatchPlace(axis, inner)] if into[axis] == size else None


def _multiplied(
    places: Sequence[BatchPlace | None], sizes: Sequence[tuple[int, ...]]
) -> Sequence[BatchPlace] | None:
    """The place in a product of matrices: among the first axes, or in the rows or columns of one
    if the other one is without the batch."""
    (left, right), into = places, sizes[-1]
    if min(map(len, sizes)) < 2:
        return None
    if right is None and left is not None and left.axis == len(sizes[0]) - 2:
        return [BatchPlace(len(into) - 2, left.inner)]
    if left is None and right is not None and right.axis == len(sizes[1]) - 1:
        return [BatchPlace(len(into) - 1, right.inner)]
    return _together(places, sizes, into, 2)
