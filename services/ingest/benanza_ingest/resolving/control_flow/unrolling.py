"""Writes out Loops and Scans whose number of steps is known."""

from collections.abc import Sequence
from math import inf

from onnx import GraphProto

from benanza_ingest.resolving.causes import DEPENDS_ON_DATA, Cause, Causes
from benanza_ingest.resolving.control_flow.placing import BodyPlace
from benanza_ingest.resolving.control_flow.steps import TOO_MANY, TOO_MANY_PARTS, UNFIT, Steps
from benanza_ingest.resolving.graph import Node
from benanza_ingest.resolving.sequences import MOST_PARTS

SCAN_SINCE = 9
"""The opset version from which on a Scan has no axis for a batch."""

_ENDLESS = Cause("how often it runs depends on data: export the model with a fixed number of steps")
_OLD = Cause("a Scan of opset 8 is never written out: export the model with a newer opset")
_EMPTY = Cause("what it takes apart is empty, or of several lengths: export the model again")


class Unroller:
    """Writes out the Loops and Scans of one graph."""

    def __init__(self, place: BodyPlace, causes: Causes) -> None:
        self._place = place
        self._causes = causes

    def unrolled(self, node: Node, depth: int) -> list[str] | Cause:
        """Puts the steps of a Loop or a Scan in place, as often as its body runs, and returns the
        names of its results. If that isn't known, or if they are too many, returns why, and does
        nothing.

        A step reads what the one before hands on. A Split takes apart what a Scan reads, and a
        Concat joins what each step adds: https://onnx.ai/onnx/operators/onnx__Scan.html. Those of a
        Scan move nothing: how long its results are is known before the first step, which a Loop's
        are not.
        """
        start = len(self._place.nodes)
        steps = Steps(self._place, node, depth)
        outcome = (self._loop if node.op_type == "Loop" else self._scan)(node, steps)
        if isinstance(outcome, Cause):
            del self._place.nodes[start:]
        return outcome

    def _loop(self, node: Node, steps: Steps) -> list[str] | Cause:
        most, going, *states = node.inputs
        limit = self._number(most) if most else inf
        goes_on = self._number(going) if going else 1
        if limit is None or goes_on is None:
            return self._why_unknown((most, going))
        held, results = len(states), len(node.proto.output)
        if results < held or not steps.fit(2 + held, 1 + results):
            return UNFIT
        added: list[list[str]] = []
        while goes_on and len(added) < limit:
            outputs = steps.step([steps.constant(len(added)), steps.constant(True), *states])
            if outputs is None:
                return TOO_MANY
            goes_on = self._number(outputs[0])
            if goes_on is None:
                return self._why_unknown(outputs[:1])
            states = outputs[1 : 1 + held]
            added.append(outputs[1 + held :])
            if results > held and len(added) > MOST_PARTS:
                return TOO_MANY_PARTS
            if len(added) == 1 and goes_on and _never_ends(steps.body):
                coming = (limit - 1) * max(1, len(steps.body.node))
                if coming > self._place.left_nodes:
                    return TOO_MANY
        if added or results == held:
            parts, axes = list(zip(*added, strict=True)), [0] * (results - held)
            return steps.joined(states, parts, axes, in_place=False)
        start = len(self._place.nodes)
        outputs = steps.step([steps.constant(0), steps.constant(True), *states])
        del self._place.nodes[start:]
        return TOO_MANY if outputs is None else steps.none_added(states, outputs[1 + held :])

    def _scan(self, node: Node, steps: Steps) -> list[str] | Cause:
        given = {a.name: a for a in node.proto.attribute}
        count = given["num_scan_inputs"].i if "num_scan_inputs" in given else 0
        held, results = len(node.inputs) - count, len(node.proto.output)
        if self._place.opsets.get("", 1) < SCAN_SINCE:
            return _OLD
        if held < 0 or count < 1 or not steps.fit(len(node.inputs), results):
            return UNFIT

        def numbers(name: str, size: int) -> list[int]:
            listed = list(given[name].ints) if name in given else []
            return [*listed, *[0] * size][:size]

        parts = []
        axes, back = numbers("scan_input_axes", count), numbers("scan_input_directions", count)
        for name, axis, backwards in zip(node.inputs[held:], axes, back, strict=True):
            slices = steps.taken_apart(name, axis)
            if slices is None:
                known = self._place.types.get(name)
                unknown = known is None or not known.resolved
                return self._causes.of(name) if unknown else TOO_MANY_PARTS
            parts.append(slices[::-1] if backwards else slices)
        if len(set(map(len, parts))) > 1 or not parts[0]:
            return _EMPTY
        states, added = list(node.inputs[:held]), []
        for step_inputs in zip(*parts, strict=True):
            outputs = steps.step([*states, *step_inputs])
            if outputs is None:
                return TOO_MANY
            states = outputs[:held]
            added.append(outputs[held:])
        axes = numbers("scan_output_axes", results - held)
        back = numbers("scan_output_directions", results - held)
        columns = zip(zip(*added, strict=True), back, strict=True)
        turned = [column[::-1] if backwards else column for column, backwards in columns]
        return steps.joined(states, turned, axes, in_place=True)

    def _why_unknown(self, names: Sequence[str]) -> Cause:
        cause = self._causes.of_elements(names)
        return _ENDLESS if cause == DEPENDS_ON_DATA else cause

    def _number(self, name: str) -> int | None:
        """The value of a constant of one element; None if it isn't known."""
        value = self._place.constants.value(name) if name in self._place.constants else None
        return int(value.item()) if value is not None and value.size == 1 else None


def _never_ends(body: GraphProto) -> bool:
    """Whether the condition that a Loop's body hands on is the one that it gets, or
    another that no step changes."""
    written = {output: node for node in body.node for output in node.output}
    name = body.output[0].name
    while name in written and written[name].op_type in ("Identity", "Cast"):
        name = written[name].input[0]
    return name not in written
