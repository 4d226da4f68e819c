"""Replaces sequence operators by ordinary ones.

Exporters write SplitToSequence and SequenceAt for a Split. A sequence whose tensors are known by
name needs no operator.
"""

from collections.abc import Callable

import numpy as np
from onnx import NodeProto, helper

from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.types import Types, tensor_type

SINCE = 11
"""The opset version that introduced sequences."""

MAX_PARTS = 4096
"""A sequence of more tensors is not resolved: each would be an output of one Split."""

MOST_PARTS = 1 << 14
"""Of all sequences of a model together, when they are made and when they are joined; no further
ones are resolved."""

MOST_READ = 1 << 20
"""Tensors in sequences that a model's nodes read, each as often as it is read."""


class Sequences:
    """The known sequences of a graph: for each name, the names of the tensors in it."""

    def __init__(self, types: Types, constants: Constants) -> None:
        self._types = types
        self._constants = constants
        self._parts: dict[str, list[str]] = {}
        self._left = MOST_PARTS
        self._read = 0

    def alias(self, name: str, of: str) -> None:
        """Adds `name` as another name of `of`, if that is a known sequence."""
        if of in self._parts:
            self._parts[name] = self._parts[of]

    @property
    def any_known(self) -> bool:
        """Whether any sequence is known; most models have none."""
        return bool(self._parts)

    def parts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the tensors in those of these values that are known sequences.

        Raises `ModelError` if too many were asked for altogether.
        """
        tensors = tuple([part for name in names for part in self._parts.get(name, ())])
        self._read += len(tensors)
        if self._read > MOST_READ:
            raise ModelError(
                f"the model reads more than {MOST_READ:,} tensors in sequences; export it again "
                "without sequences"
            )
        return tensors

    def resolve(
        self, node: NodeProto, inputs: tuple[str, ...], opset: int
    ) -> tuple[list[NodeProto], dict[str, str]] | None:
        """The nodes and aliases that replace a sequence operator.

        `inputs` are the names of its inputs with aliases resolved. Returns None if the operator
        can't be replaced because a position or a length depends on data.
        """
        rules: dict[str, Callable[..., tuple[list[NodeProto], dict[str, str]] | None]] = {
            "SplitToSequence": self._split,
            "ConcatFromSequence": self._concat,
            "SequenceAt": self._at,
            "SequenceLength": self._length,
        }
        if node.op_type in rules:
            return rules[node.op_type](node, inputs, opset)
        parts = self._changed(node.op_type, inputs)
        if parts is None or len(parts) > self._left:
            return None
        self._left -= len(parts)
        self._parts[node.output[0]] = parts
        return [], {}

    def _changed(self, op_type: str, inputs: tuple[str, ...]) -> list[str] | None:
        if op_type == "SequenceEmpty":
            return []
        if op_type == "SequenceConstruct":
            return list(inputs)
        if inputs[0] not in self._parts:
            return None
        parts = list(self._parts[inputs[0]])
        insert = op_type == "SequenceInsert"
        given = inputs[2:3] if insert else inputs[1:2]
        position = self._position(given[0], len(parts), insert) if given and given[0] else -1
        if position is None:
            return None
        if insert:
            parts.insert(len(parts) if position == -1 else position, inputs[1])
        elif parts:
            parts.pop(position)
        return parts

    def _position(self, name: str, length: int, insert: bool) -> int | None:
        value = self._constants.value(name)
        if value is None or value.size != 1 or value.dtype.kind not in "iu":
            return None
        position = int(value.item())
        position += length if position < 0 else 0
        return position if 0 <= position < length + insert else None

    def _at(
        self, node: NodeProto, inputs: tuple[str, ...], _opset: int
    ) -> tuple[list[NodeProto], dict[str, str]] | None:
        parts = self._parts.get(inputs[0])
        if parts is None:
            return None
        position = self._position(inputs[1], len(parts), insert=False)
        return None if position is None else ([], {node.output[0]: parts[position]})

    def _length(
        self, node: NodeProto, inputs: tuple[str, ...], _opset: int
    ) -> tuple[list[NodeProto], dict[str, str]] | None:
        parts = self._parts.get(inputs[0])
        if parts is None:
            return None
        self._constants.add_array(node.output[0], np.array(len(parts), np.int64))
        return [], {}

    def _split(
        self, node: NodeProto, inputs: tuple[str, ...], opset: int
    ) -> tuple[list[NodeProto], dict[str, str]] | None:
        known = self._types.get(inputs[0])
        if known is None or known.shape is None:
            return None
        attributes = {a.name: a.i for a in node.attribute}
        axis = attributes.get("axis", 0)
        size = known.shape[axis] if -len(known.shape) <= axis < len(known.shape) else None
        if not isinstance(size, int):
            return None
        lengths = self._lengths(inputs[1] if len(inputs) > 1 else "", size)
        if lengths is None or len(lengths) > self._left:
            return None
        self._left -= len(lengths)
        output = node.output[0]
        names = [f"{output}[{i}]" for i in range(len(lengths))]
        if not names:
            self._parts[output] = []
            return [], {}
        for name, length in zip(names, lengths, strict=True):
            shape = list(known.shape)
            shape[axis] = length
            self._types[name] = tensor_type(known.dtype, tuple(shape))
        nodes = [self._with_ints("Split", [inputs[0]], names, "split", lengths, opset, axis=axis)]
        without = (len(inputs) < 2 or not inputs[1]) and not attributes.get("keepdims", 1)
        if without:
            squeezed = [f"{name}.squeezed" for name in names]
            for name, result in zip(names, squeezed, strict=True):
                nodes.append(self._with_ints("Squeeze", [name], [result], "axes", [axis], opset))
            names = squeezed
        self._parts[output] = names
        return nodes, {}

    def _lengths(self, split: str, size: int) -> list[int] | None:
        value = np.array(1) if not split else self._constants.value(split)
        if value is None or value.dtype.kind not in "iu" or value.ndim > 1:
            return None
        if value.ndim == 1:
            lengths = [int(length) for length in value]
            fit = sum(lengths) == size and min(lengths, default=0) >= 0
            return lengths if fit and len(lengths) <= MAX_PARTS else None
        length = int(value)
        if length < 1 or -(-size // length) > MAX_PARTS:
            return None
        return [min(length, size - start) for start in range(0, size, length)]

    def _concat(
        self, node: NodeProto, inputs: tuple[str, ...], opset: int
    ) -> tuple[list[NodeProto], dict[str, str]] | None:
        parts = self._parts.get(inputs[0])
        if not parts or len(parts) > self._left:
            return None
        self._left -= len(parts)
        attributes = {a.name: a.i for a in node.attribute}
        axis = attributes.get("axis", 0)
        nodes = []
        if attributes.get("new_axis", 0):
            raised = [f"{node.output[0]}.part[{i}]" for i in range(len(parts))]
            for part, name in zip(parts, raised, strict=True):
                nodes.append(self._with_ints("Unsqueeze", [part], [name], "axes", [axis], opset))
            parts = raised
        concat = helper.make_node("Concat", parts, [node.output[0]], name=node.name, axis=axis)
        return [*nodes, concat], {}

    def _with_ints(
        self,
        op_type: str,
        inputs: list[str],
        outputs: list[str],
        argument: str,
        ints: list[int],
        opset: int,
        **attributes: int,
    ) -> NodeProto:
        """A node with a list of numbers: an attribute up to opset 12, an input later."""
        as_input = opset >= 13
        if as_input:
            name = f"{outputs[0]}.{argument}"
            self._constants.add_array(name, np.array(ints, np.int64))
            inputs = [*inputs, name]
        node = helper.make_node(op_type, inputs, outputs)
        node.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items())
        if not as_input:
            node.attribute.append(helper.make_attribute(argument, ints))
        return node
