"""Replaces constants of a node that plainly hold the model's own batch size.

They are the shapes that Reshape, Expand and Resize make, the indices by which a Gather picks the
same from each element of the batch, what a Concat joins to each, what must be as long as an axis
that holds the batch, and the states in which recurrent operators begin.
"""

from collections.abc import Callable

import numpy as np

from benanza_ingest.following.consequences import BROADCASTING, Consequences
from benanza_ingest.following.gathered import picked_from_all, picked_from_each, place_in_indices
from benanza_ingest.following.places import BatchPlace, plain_place, seen_as
from benanza_ingest.resolving.fold import MAX_ELEMENTS, Array, Constants
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType

_LARGEST = 2**63 - 1
"""Of the sizes in a shape, which are 64 bits wide."""

STATES = {4: 0, 5: 1, 6: 1}
"""The inputs of recurrent operators that are as long as the batch, and the axis in which."""


class Mender:
    """Mends nodes of a graph whose batch size changes from `former` to `batch`.

    `own` is the graph at the former size; `place` returns where the batch is in a value, None if
    it isn't in it. `unclear` are the results of Reshapes in which no one can tell where it is,
    `repeated` the constants that were repeated as often as the batch grew, and in which axis, and
    `picked` the places of the batch in results of Gathers that were mended.
    """

    def __init__(
        self,
        own: Graph,
        former: int,
        batch: int,
        constants: Constants,
        place: Callable[[str], BatchPlace | None],
    ) -> None:
        self._own = own
        self._former = former
        self._batch = batch
        self._constants = constants
        self._place = place
        self._consequences = Consequences(own, former, place, self._is_reached)
        self.unclear: set[str] = set()
        self.repeated: dict[str, BatchPlace] = {}
        self.picked: dict[str, BatchPlace] = {}

    def mend(self, node: Node) -> None:
        """Replaces inputs of this node, if they plainly hold the former batch size."""
        if node.domain:  # What another domain calls a Gather may be anything.
            return
        places = [self._place(name) for name in node.inputs]
        if not any(places):
            return
        match node.op_type:
            case "Reshape" if places[0] is not None:
                self._mend_reshape(node, places[0])
            case "Expand" if places[0] is not None:
                self._mend_expand(node, places[0])
            case "Resize" if places[0] is not None:
                self._mend_resize(node, places[0])
            case "Gather" if places[0] is not None:
                self._mend_gather(node, places[0])
            case "Concat":
                self._mend_concat(node, places)
            case "MatMul" | "GatherElements":
                self._mend_constants(node, places)
            case op_type if op_type in BROADCASTING:
                self._mend_constants(node, places)
            case "LSTM" | "GRU" | "RNN" if places[0] is not None:
                self._mend_states(node, places[0])

    def _mend_reshape(self, node: Node, before: BatchPlace) -> None:
        wanted = self._fixed(node, 1)
        into = self._own_sizes(node.outputs[0])
        out_of = self._own_sizes(node.inputs[0])
        if wanted is None or into is None or out_of is None or len(wanted) != len(into):
            return
        after = plain_place(before, out_of, into, self._former)
        if after is None:
            places = seen_as(before, out_of, into, self._former)
            possible = self._consequences.possible(node.outputs[0], places)
            if len(possible) != 1:
                self.unclear.add(node.outputs[0])
                return
            after = possible[0]
        mended = [
            # 0 stands for the size that the input has at that axis.
            into[axis] if size == 0 and before.axis in (axis, after.axis) else size
            for axis, size in enumerate(wanted)
        ]
        if mended[after.axis] != -1:
            mended[after.axis] = self._grown(into[after.axis])
        self._replace(node, 1, mended)

    def _mend_expand(self, node: Node, before: BatchPlace) -> None:
        wanted, sizes = self._fixed(node, 1), self._own_sizes(node.inputs[0])
        if wanted is None or sizes is None:
            return
        axis = before.axis + len(wanted) - len(sizes)
        if 0 <= axis < len(wanted) and wanted[axis] == sizes[before.axis]:
            self._replace(node, 1, [*wanted[:axis], self._grown(wanted[axis]), *wanted[axis + 1 :]])

    def _mend_resize(self, node: Node, before: BatchPlace) -> None:
        wanted, sizes = self._fixed(node, 3), self._own_sizes(node.inputs[0])
        if wanted is None or sizes is None:
            return
        axes = next((list(a.ints) for a in node.proto.attribute if a.name == "axes"), None)
        axes = [axis % len(sizes) for axis in axes or range(len(sizes))]
        if before.axis not in axes:
            return
        slot = axes.index(before.axis)
        if slot < len(wanted) and wanted[slot] == sizes[before.axis]:
            self._replace(node, 3, [*wanted[:slot], self._grown(wanted[slot]), *wanted[slot + 1 :]])

    def _mend_gather(self, node: Node, before: BatchPlace) -> None:
        """Picks from each element of the batch what was picked from one, all in the same axis."""
        name, sizes = node.inputs[1], self._own_sizes(node.inputs[0])
        indices = self._own.constants.value(name)
        if name not in self._constants or indices is None or sizes is None or not before.inner:
            return
        axis = self._attribute(node, "axis", 0) % len(sizes)
        if axis != before.axis or sizes[axis] != before.inner * self._former:
            return
        first = picked_from_each(indices, before.inner, self._former)
        if first is None:
            return
        place = place_in_indices(first.size, indices.shape, self._former)
        known = self._constants.type_of(name)
        if place is None or known is None:
            return
        mended = f"{name}.batch{self._batch}×{before.inner}"
        shape = indices.shape
        shape = (*shape[: place.axis], self._grown(shape[place.axis]), *shape[place.axis + 1 :])
        if first.size * self._batch <= MAX_ELEMENTS:
            value = picked_from_all(first, before.inner, self._batch)
            self._constants.add_array(mended, value.reshape(shape))
        else:
            self._constants.add_unknown(mended, TensorType(known.dtype, shape, resolved=True))
        self._put(node, 1, mended)
        self.picked[node.outputs[0]] = BatchPlace(axis + place.axis, place.inner)

    def _mend_concat(self, node: Node, places: list[BatchPlace | None]) -> None:
        """Repeats constants that are joined to each element of the batch, such as a class token."""
        axis = next(place.axis for place in places if place is not None)
        sizes = self._own_sizes(node.outputs[0])
        if sizes is None or axis == self._attribute(node, "axis", 0) % max(1, len(sizes)):
            return
        for position, place in enumerate(places):
            if place is None:
                self._repeat(node, position, axis)

    def _mend_constants(self, node: Node, places: list[BatchPlace | None]) -> None:
        """Repeats constants that must be as long as an axis in which the batch is the outer part.

        What broadcasts, as it is of length 1 there, stays so. GatherElements doesn't broadcast.
        """
        position, place = next((i, place) for i, place in enumerate(places) if place is not None)
        sizes = self._own_sizes(node.inputs[position])
        if sizes is None or place.inner is None:
            return
        size, from_end = sizes[place.axis], len(sizes) - place.axis
        if size != place.inner * self._former:
            return
        match node.op_type:
            case "GatherElements":
                fits = place.axis != self._attribute(node, "axis", 0) % len(sizes)
            case "MatMul":
                fits = size > 1 and from_end > 2
            case _:
                fits = size > 1
        if not fits:
            return
        for slot, name in enumerate(node.inputs):
            known = self._own_sizes(name) if places[slot] is None else None
            if known is not None and len(known) >= from_end and known[-from_end] == size:
                self._repeat(node, slot, len(known) - from_end, place.inner)

    def _mend_states(self, node: Node, before: BatchPlace) -> None:
        layout = self._attribute(node, "layout", 0)
        if before.axis != 1 - layout:  # it isn't the batch for this operator
            return
        for position, axis in STATES.items():
            if position < len(node.inputs) and self._place(node.inputs[position]) is None:
                self._repeat(node, position, axis if position == 4 else 1 - layout)

    def _repeat(self, node: Node, position: int, axis: int, inner: int | None = None) -> None:
        name = node.inputs[position]
        known = self._constants.type_of(name) if name in self._constants else None
        if known is None or not known.resolved or axis >= len(known.dims()):
            return
        times, left = divmod(self._batch, self._former)
        if left:
            return
        repeated = f"{name}.batch{self._batch}[{axis}]"
        self._constants.add_repeated(repeated, name, axis, times)
        self.repeated[repeated] = BatchPlace(axis, inner)
        self._put(node, position, repeated)

    def _fixed(self, node: Node, position: int) -> list[int] | None:
        """The elements of an input if they are those at the former batch size as well."""
        name = node.inputs[position] if position < len(node.inputs) else ""
        value = self._constants.value(name) if name else None
        former = self._own.constants.value(name) if name else None
        if value is None or former is None or not np.array_equal(value, former):
            return None
        return [int(size) for size in value.ravel()] if value.dtype.kind in "iu" else None

    def _is_reached(self, name: str) -> bool:
        """Whether the type of a value is known at the new batch size."""
        known = self._constants.type_of(name)
        return known is not None and known.resolved

    def _own_sizes(self, name: str) -> tuple[int, ...] | None:
        known = self._own.constants.type_of(name)
        return known.dims() if known is not None and known.resolved else None

    def _grown(self, size: int) -> int:
        return size * self._batch // self._former

    def _attribute(self, node: Node, name: str, default: int) -> int:
        return next((int(a.i) for a in node.proto.attribute if a.name == name), default)

    def _replace(self, node: Node, position: int, sizes: list[int]) -> None:
        if sizes == self._fixed(node, position):
            return
        if any(abs(size) > _LARGEST for size in sizes):
            self.unclear.add(node.outputs[0])
            return
        name = f"{node.inputs[position]}.batch{self._batch}{sizes}"
        value: Array = np.array(sizes, np.int64)
        self._constants.add_array(name, value)
        self._put(node, position, name)

    def _put(self, node: Node, position: int, name: str) -> None:
        node.inputs = (*node.inputs[:position], name, *node.inputs[position + 1 :])
