"""Follows another batch size than the model's own through the graph, node by node.

A model that was exported at a fixed batch size may hold it in constants. The graph is resolved at
its own batch size first; at another one each tensor must be as large as there, but for one axis
that grew as the batch did. What plainly holds the batch is mended; where the batch is lost, the
model is refused.
"""

from benanza_ingest.errors import ModelError
from benanza_ingest.following.consequences import VIEWS
from benanza_ingest.following.mend import STATES, Mender
from benanza_ingest.following.places import BatchPlace, scaled_axis, seen_as
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.inferring.inference import Inference
from benanza_schemas.operators.table import facts_of


class BatchFollower:
    """Follows the batch, which changes from `former` to `batch`, through one graph.

    `own` is the graph at the former size. Call `mend` before the types of a node are inferred and
    `check` afterwards, in topological order, and `refuse` at the end.
    """

    def __init__(
        self,
        own: Graph,
        former: int,
        batch: int,
        constants: Constants,
        inference: Inference,
    ) -> None:
        self._own = own
        self._former = former
        self._batch = batch
        self._constants = constants
        self._inference = inference
        self._places: dict[str, BatchPlace | None] = {"": None}
        self._faults: dict[str, str] = {}
        self._mender = Mender(own, former, batch, constants, self._place)

    def mend(self, node: Node) -> None:
        """Replaces constants that the node reads, if they plainly hold the former batch size."""
        self._mender.mend(node)

    def check(self, node: Node) -> None:
        """Finds where the batch is in the results of a node, and whether it is lost there."""
        read = [*node.inputs, *node.captured]
        if not any(map(self._place, read)):
            return
        wrong = self._misfit(node)
        # The scale and the zero point are of the whole batch.
        of_all = node.op_type == "DynamicQuantizeLinear" and not node.domain
        for name in filter(None, node.outputs[:1] if of_all else node.outputs):
            self._faults[name] = wrong or self._check_result(node, name)

    def refuse(self, live: list[Node]) -> None:
        """Raises `ModelError` with the first of these nodes at which the batch is lost."""
        for node in live:
            for name in filter(None, node.outputs):
                if self._faults.get(name):
                    raise ModelError(
                        f"the batch size of {self._batch} is lost at node {node.title()!r} "
                        f"({node.op_type}): {self._faults[name]}; the model was exported at batch "
                        f"size {self._former}: export it anew at batch size {self._batch}, or with "
                        "an open batch size"
                    )

    def _place(self, name: str) -> BatchPlace | None:
        """Where the batch is in a value; None if it isn't in it."""
        if name in self._mender.repeated:
            return self._mender.repeated[name]
        if name not in self._places:
            own, new = self._sizes(name)
            axis = None
            if own is not None and new is not None:
                axis = scaled_axis(own, new, self._former, self._batch)
            self._places[name] = None if axis is None or own is None else self._alone(axis, own)
        return self._places[name]

    def _sizes(self, name: str) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
        """A value's sizes at the former and at the new batch size, as far as they are known."""
        own, new = self._own.constants.type_of(name), self._constants.type_of(name)
        return (
            own.dims() if own is not None and own.resolved else None,
            new.dims() if new is not None and new.resolved else None,
        )

    def _alone(self, axis: int, own: tuple[int, ...]) -> BatchPlace:
        return BatchPlace(axis, 1 if own[axis] == self._former else None)

    def _check_result(self, node: Node, name: str) -> str:
        """Notes where the batch is in a result. Returns what is wrong; nothing if it is there."""
        own, new = self._sizes(name)
        if own is None:
            return "how large its result is isn't known"
        if new is None:
            complaint = self._inference.complaints.get(name, "its inputs don't fit together")
            return f"at that batch size, {complaint}"
        if name in self._mender.unclear:
            return f"it can't be told where the batch is in its result, {_shape(own)}"
        axis = scaled_axis(own, new, self._former, self._batch)
        if axis is None and own == new:
            return f"its result stays {_shape(own)}"
        if axis is None:
            return f"its result, {_shape(own)} at batch size {self._former}, would be {_shape(new)}"
        if name in self._mender.picked:
            self._places[name] = self._mender.picked[name]
            return ""
        view = node.op_type in VIEWS
        place = (self._place_in_view if view else self._inherited)(node, own, axis)
        if place is None:
            return f"the batch isn't in one axis of its result, {_shape(own)}"
        self._places[name] = place
        return ""

    def _place_in_view(self, node: Node, own: tuple[int, ...], axis: int) -> BatchPlace | None:
        before, (sizes, _) = self._place(node.inputs[0]), self._sizes(node.inputs[0])
        if before is None or sizes is None:
            return None
        seen = seen_as(before, sizes, own, self._former)
        return next((place for place in seen if place.axis == axis), None)

    def _inherited(self, node: Node, own: tuple[int, ...], axis: int) -> BatchPlace:
        """The place in a result that isn't a view: as in the inputs that have an equal axis."""
        inners = set()
        for name in (*node.inputs, *node.captured):
            place, (sizes, _) = self._place(name), self._sizes(name)
            if place is not None and sizes is not None and sizes[place.axis] == own[axis]:
                inners.add(place.inner)
        alone = self._alone(axis, own)
        return BatchPlace(axis, inners.pop()) if alone.inner is None and len(inners) == 1 else alone

    def _misfit(self, node: Node) -> str:
        """What is wrong with the inputs of a node, where shape inference doesn't see it."""
        facts = facts_of(node.op_type, node.domain)
        places = [self._place(name) for name in node.inputs]
        first, others = places[0] if places else None, places[1:]
        without = [
            name
            for name, place in zip(node.inputs, places, strict=True)
            if name and not place and not self._is_scale(name)
        ]
        wrong = ""
        if facts.others == "channels":
            if first is None or first.axis or any(others):
                wrong = "the batch is among what it takes as channels"
        elif facts.others == "last axes":
            if first is None or first.axis >= self._start(node) or any(others):
                wrong = "the batch is among the axes that it normalises"
        elif facts.others == "instructions":
            wrong = "what it does depends on the batch size" if any(others) else ""
        elif node.op_type == "Einsum" and not node.domain:
            wrong = self._misfit_of_einsum(node, places)
        elif facts.kind == "recurrent" and not node.domain:
            wrong = self._misfit_of_states(node, places)
        elif facts.others not in ("broadcast", "fit") and without:
            wrong = f"its input {without[0]!r} is without the batch"
        return wrong

    def _is_scale(self, name: str) -> bool:
        """Whether a value is one number and no batch size, as scales and zero points are."""
        known = self._constants.type_of(name)
        if known is None or not known.resolved or known.elements() != 1:
            return False
        return known.dtype not in ("int32", "int64")

    def _start(self, node: Node) -> int:
        """The first axis that a node normalises."""
        sizes, _ = self._sizes(node.inputs[0])
        axis = next((int(a.i) for a in node.proto.attribute if a.name == "axis"), -1)
        return axis + len(sizes or ()) if axis < 0 else axis

    def _misfit_of_einsum(self, node: Node, places: list[BatchPlace | None]) -> str:
        """The batch must have one letter, which no input without the batch has."""
        equation = next((a.s.decode() for a in node.proto.attribute if a.name == "equation"), "")
        terms = [term.strip() for term in equation.replace(" ", "").split("->")[0].split(",")]
        if "..." in equation:
            terms = []
        letters = {
            term[place.axis : place.axis + 1]
            for term, place in zip(terms, places, strict=False)
            if place is not None
        }
        alone = zip(terms, places, strict=False)
        mixed = any(place is None and letters & set(term) for term, place in alone)
        return "" if len(letters) == 1 and not mixed else "its inputs don't share the batch"

    def _misfit_of_states(self, node: Node, places: list[BatchPlace | None]) -> str:
        layout = next((a.i for a in node.proto.attribute if a.name == "layout"), 0)
        first = places[0]
        if first is None or any(places[1:4]):
            return "its weights depend on the batch size"
        for position, axis in STATES.items():
            if position < len(places) and node.inputs[position]:
                place = places[position]
                held = place is not None and place.axis == (axis if position == 4 else 1 - layout)
                if held != (first.axis == 1 - layout) or (place is not None and not held):
                    return f"its input {node.inputs[position]!r} is of another batch size"
        return ""


def _shape(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes)) or "one number"
