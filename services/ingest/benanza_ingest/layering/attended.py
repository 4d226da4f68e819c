"""How many pairs of a query and a key attention works on.

A kernel needn't compute those that a causal mask or a window takes away.
"""

from typing import NamedTuple

from benanza_schemas.layer import OMITTED, Layer, Operator


class Attended(NamedTuple):
    """So many queries and keys, of which `before` stand before the first query's own. A query sees
    keys up to `left` places before its own and `right` behind it; None is any number.
    """

    queries: int
    keys: int
    before: int
    left: int | None = None
    right: int | None = None

    def pairs(self) -> int:
        """Of a query and a key that it sees."""
        ends = self.queries * self.keys if self.right is None else self._up_to(self.right + 1)
        return ends - (0 if self.left is None else self._up_to(-self.left))

    def seen(self) -> int:
        """How many keys any query sees."""
        first = 0 if self.left is None else max(0, self.before - self.left)
        end = self.keys
        if self.right is not None:
            end = min(end, self.before + self.queries + self.right)
        return max(0, end - first)

    def _up_to(self, shift: int) -> int:
        """Pairs whose key stands before the query's own place, moved by `shift`."""
        shift += self.before
        some = min(max(-shift, 0), self.queries)
        whole = min(max(self.keys - shift, some), self.queries)
        rising = whole - some
        return (
            (some + whole - 1) * rising // 2 + shift * rising + (self.queries - whole) * self.keys
        )


def standard(layer: Layer, operator: Operator) -> Attended:
    """Of ONNX's Attention: https://onnx.ai/onnx/operators/onnx__Attention.html.

    Where an input says how many keys count, all do.
    """
    query, key = (layer.tensors[operator.inputs[slot]].shape for slot in (0, 1))
    places = (*operator.inputs, *(OMITTED,) * 7)
    past = layer.tensors[places[4]].shape[2] if places[4] != OMITTED else 0
    axis = -2 if len(query) == 4 else 1
    queries, keys = query[axis], past + key[axis]
    before = keys - queries if places[6] != OMITTED else past
    sizes = (operator.integer(name, -1) for name in ("left_window_size", "right_window_size"))
    left, right = (size if size >= 0 else None for size in sizes)
    if operator.integer("is_causal"):
        right = 0
    return Attended(queries, keys, before, left, right)
