"""Finds out why shape inference didn't find the type of a value."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from onnx import NodeProto

from benanza_backbone.pasteable import pasteable
from benanza_ingest.resolving.bind import Binding
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.given_inputs import may_be_given
from benanza_ingest.resolving.graph import CONTROL_FLOW, Node
from benanza_ingest.resolving.inferring.inference import Inference
from benanza_ingest.resolving.operators import since_version
from benanza_ingest.resolving.types import Types
from benanza_schemas.operators.table import TABLE, facts_of

_DEPENDENT = frozenset("NonZero NonMaxSuppression Unique Compress ImageDecoder".split())
"""Operators whose results' sizes depend on the elements of their inputs."""

_SHAPING = {
    op_type: facts.deciding
    for (_, op_type), facts in TABLE.items()
    if facts.deciding and op_type not in ("Clip", "CumProd", "CumSum", "Dropout", "Pow", "Trilu")
} | {
    "AffineGrid": (1,),
    "Pad": (1, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "SplitToSequence": (1,),
}
"""Inputs whose elements decide the shape of the result."""


_FAR = 1000
"""What more values decide isn't followed back to the inputs."""


class Cause(NamedTuple):
    """`dims` are the open dimensions that a user has to give, `values` the inputs of which the
    elements. If that doesn't help, `why` says what is wrong.
    """

    why: str
    dims: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def hint(self) -> str:
        """How to mend it, or why it can't be mended."""
        asked = [pasteable("--dim", f"{dim}=N") for dim in self.dims]
        asked += [pasteable("--value", f"{name}=VALUE") for name in self.values]
        return self.why or "give " + " ".join(asked)


DEPENDS_ON_DATA = Cause("it depends on the data")
_CONDITION = Cause("its condition depends on data: export the model with it fixed")
_NOT_TOLD = Cause(
    "onnx's shape inference doesn't say more; export the model with the shapes of its values"
)


class _Asked(NamedTuple):
    """A value whose type isn't known, or, with `elements`, whose elements aren't."""

    name: str
    elements: bool


class Causes:
    """The causes of unknown types in a graph. The cause for a value follows from the causes for the
    inputs of its node.

    Add the nodes in topological order.
    """

    def __init__(
        self,
        binding: Binding,
        types: Types,
        constants: Constants,
        inference: Inference,
        opsets: dict[str, int],
    ) -> None:
        self._inputs = {value.name for value in binding.inputs}
        self._open = binding.asked_for()
        self._binding = binding
        self._types = types
        self._constants = constants
        self._inference = inference
        self._opsets = opsets
        self._found: dict[_Asked, Cause] = {}
        self._writers: dict[str, Node] = {}
        self._told: dict[tuple[str, ...], tuple[str, Cause]] = {}

    def add(self, node: Node) -> None:
        """Adds a node that is no constant."""
        self._writers.update(dict.fromkeys(node.outputs, node))

    def tell(self, node: Node, what: str, cause: Cause) -> None:
        """Adds what became of an operator with bodies, and why: for `of_control_flow`."""
        self._told[tuple(node.proto.output)] = what, cause

    def note(self, node: Node) -> None:
        """Adds a node some of whose outputs have unknown types. It must be no constant."""
        cause = self._of_node(node)
        for name in filter(None, node.outputs):
            self._found[_Asked(name, elements=False)] = self._open_dims(name) or cause

    def of(self, name: str) -> Cause:
        """The reason why the type of this value isn't known."""
        return self._of(_Asked(name, elements=False))

    def is_wrong(self, node: Node) -> bool:
        """Whether shape inference found that a node can't run on such inputs."""
        return self._complaint(node.proto) is not None

    def of_elements(self, names: Sequence[str]) -> Cause:
        """The reason why elements of these values aren't known."""
        return _most_telling([self._of(need) for need in self._needs_of_elements(names)])

    def of_control_flow(self, node: Node) -> tuple[str, Cause]:
        """What became of an operator with bodies that isn't replaced by them, and why."""
        return self._told[tuple(node.proto.output)]

    def of_bodies(self, node: Node) -> Cause:
        """The reason why it isn't known which body of an If or a SequenceMap runs, or how often."""
        condition = node.inputs[0]
        if node.op_type != "If":
            return Cause(
                f"the steps of {_title(node.proto)} are never written out; export the model with "
                "each of them written out"
            )
        if condition not in self._constants or self._constants.value(condition) is None:
            cause = self.of_elements((condition,))
            return _CONDITION if cause == DEPENDS_ON_DATA else cause
        return Cause(
            f"the condition of {_title(node.proto)} is no single value, or it lies too deep in "
            "others; export the model without it"
        )

    def _of_node(self, node: Node) -> Cause:
        if since_version(node.op_type, node.domain, self._opsets.get(node.domain)) is None:
            where = f"{node.domain or 'ai.onnx'}::{node.op_type}"
            return Cause(f"{where} isn't known to the installed onnx")
        standard = not node.domain
        if standard and node.op_type in CONTROL_FLOW:
            return self.of_control_flow(node)[1]
        if standard and node.op_type in _DEPENDENT:
            return DEPENDS_ON_DATA
        complaint = self._complaint(node.proto)
        if complaint is not None:
            return complaint
        needs = self._needs_of_type(node.op_type if standard else "", node.inputs)
        return _most_telling([self._of(need) for need in needs])

    def _of(self, asked: _Asked) -> Cause:
        # Chains of shape arithmetic can be longer than Python's stack is deep.
        pending = [asked]
        while pending:
            question = pending[-1]
            if question in self._found:
                pending.pop()
                continue
            cause = self._own(question)
            if cause is None:
                needs = self._needs(question)
                missing = [need for need in needs if need not in self._found]
                if missing:
                    pending.extend(missing)
                    continue
                cause = _most_telling([self._found[need] for need in needs])
            self._found[question] = cause
        return self._found[asked]

    def _own(self, asked: _Asked) -> Cause | None:
        """The cause if it is the value itself, None if it is one of its inputs."""
        name = asked.name
        if name not in self._constants:
            return self._of_data(name) if asked.elements else self._of_variable(name)
        made = self._constants.producer(name)
        if made is None or made[0].op_type == "Constant":
            return self._of_stored(name)
        node = made[0]
        complaint = self._complaint(node)
        if complaint is not None or self._needs(asked):
            return complaint
        return Cause(
            f"the constant {name!r} is computed by {node.op_type}, which isn't done here; export "
            "the model with its constants folded"
        )

    def _of_variable(self, name: str) -> Cause:
        """The cause for a value that no added node writes."""
        if name not in self._inputs:
            return _NOT_TOLD
        known = self._types.get(name)
        if known is None:
            return Cause(f"the input {name!r} is no tensor of a known element type")
        return self._open_dims(name) or Cause(
            f"the input {name!r} has no declared shape; export the model with one"
        )

    def _of_data(self, name: str) -> Cause:
        """The cause for elements of no constant: a user may give those of small inputs."""
        asked: dict[str, None] = {}
        seen, pending = {""}, [name]
        while pending:
            value = pending.pop()
            if value in seen or value in self._constants:
                continue
            seen.add(value)
            if len(seen) > _FAR:
                return DEPENDS_ON_DATA
            node = self._writers.get(value)
            if value in self._inputs and may_be_given(self._types.get(value)):
                asked[value] = None
            elif node is None or node.domain or not facts_of(node.op_type).evaluated:
                return DEPENDS_ON_DATA
            else:
                pending.extend(node.inputs)
        return Cause("", values=tuple(asked))

    def _of_stored(self, name: str) -> Cause:
        """The cause for a constant that the model contains, and that nothing computes."""
        tensor = self._constants.tensor(name)
        if tensor is not None and tensor.external_data:
            return Cause(
                f"it needs the constant {name!r}, which is stored outside the file; save the "
                "model with its small constants inside"
            )
        return Cause(f"it needs the constant {name!r}, whose elements can't be read")

    def _needs(self, asked: _Asked) -> list[_Asked]:
        """The unknown inputs of the node that computes a constant."""
        made = self._constants.producer(asked.name)
        assert made is not None, "a constant that no node makes has a cause of its own"
        node, inputs = made
        if not asked.elements:
            return self._needs_of_type(node.op_type, inputs)
        if node.op_type in ("Shape", "Size"):
            return self._needs_of_type("", inputs)
        if node.op_type == "CastLike":  # of its second input it uses only the type
            return [*self._needs_of_elements(inputs[:1]), *self._needs_of_type("", inputs[1:])]
        return self._needs_of_elements(inputs)

    def _needs_of_type(self, op_type: str, inputs: tuple[str, ...]) -> list[_Asked]:
        needs = []
        shaping = _SHAPING.get(op_type, ())
        for position, name in enumerate(inputs):
            known = self._constants.type_of(name)
            if name and (known is None or not known.resolved):
                needs.append(_Asked(name, elements=False))
            if position in shaping:
                needs += self._needs_of_elements((name,))
        return needs

    def _needs_of_elements(self, names: Sequence[str]) -> list[_Asked]:
        return [
            _Asked(name, elements=True)
            for name in names
            if name and (name not in self._constants or self._constants.value(name) is None)
        ]

    def _open_dims(self, name: str) -> Cause | None:
        """The open dimensions in a value's shape; None unless they are all that is unknown."""
        known = self._types.get(name)
        if known is None or known.shape is None:
            return None
        lacking = dict.fromkeys(size for size in known.shape if not isinstance(size, int))
        asked = [self._open.get(size or "", ()) for size in lacking]
        return Cause("", tuple(chain.from_iterable(asked))) if asked and all(asked) else None

    def _complaint(self, node: NodeProto) -> Cause | None:
        """What shape inference found wrong with a node; None if nothing."""
        complaint = next(filter(None, map(self._inference.complaints.get, node.output)), None)
        if complaint is None:
            return None
        if node.domain and "; " in complaint:  # It says what to do.
            return Cause(f"{_title(node)}: {complaint}")
        given = ["--batch"] * bool(self._binding.assumed) + ["--dim"] * bool(self._binding.dims)
        mend = f"give {' or '.join(given)} another number, or " if given else ""
        who = "" if node.domain else "onnx says of "
        return Cause(f"{who}{_title(node)}: {complaint}; {mend}export the model again")


def _most_telling(causes: list[Cause]) -> Cause:
    """The first cause that nothing mends that is given, else a cause with all that may be given."""
    for cause in causes:
        if cause.why and cause != _NOT_TOLD:
            return cause
    dims = tuple(dict.fromkeys(name for cause in causes for name in cause.dims))
    values = tuple(dict.fromkeys(name for cause in causes for name in cause.values))
    return Cause("", dims, values) if dims or values else _NOT_TOLD


def _title(node: NodeProto) -> str:
    return f"{node.op_type} {node.name or next(filter(None, node.output), '')!r}"
