"""A shuffle of a feature map's channels: written as the rows of a table, they are read by columns.

ShuffleNet shuffles channels after a grouped convolution, and exporters write that as a Reshape to
one more axis, a Transpose and a Reshape back. The value in between can't have channels last; as
one call, the shuffle can have either layout.
"""

from itertools import pairwise

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.wiring import Wiring

RULE = "shuffle"

FEWEST_AXES = 3
"""The fewest axes of a feature map: batch, channels, and one of space."""


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of the Reshape, the Transpose and the Reshape of each shuffle."""
    groups: list[tuple[int, ...]] = []
    for start in wiring.of("Reshape"):
        transpose = wiring.only_reader(start)
        if transpose is None or not _is(wiring.layers[transpose], "Transpose", "movement"):
            continue
        end = wiring.only_reader(transpose)
        if end is None or not _is(wiring.layers[end], "Reshape", "view"):
            continue
        if _shuffles(wiring, start, transpose, end):
            groups.append((start, transpose, end))
    return groups


def _is(layer: ExtractedLayer, op: str, kind: str) -> bool:
    return (layer.op, layer.domain, layer.kind) == (op, "", kind) and layer.layer is not None


def _shuffles(wiring: Wiring, start: int, transpose: int, end: int) -> bool:
    nodes = [wiring.node(position) for position in (start, transpose, end)]
    if any(after.inputs[0] not in before.outputs for before, after in pairwise(nodes)):
        return False
    feature_map, table = _shapes(wiring.layers[start])
    _, after = _shapes(wiring.layers[end])
    if len(feature_map) < FEWEST_AXES or feature_map != after:
        return False
    if len(table) != len(feature_map) + 1:
        return False
    batch, rows, columns, *space = table
    return feature_map == (batch, rows * columns, *space) and _swaps_second_and_third(
        wiring.layers[transpose]
    )


def _shapes(layer: ExtractedLayer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of a layer's first input and of its output."""
    assert layer.layer is not None, "skipped layers are left out"
    tensors, operator = layer.layer.tensors, layer.layer.operators[0]
    return tensors[operator.inputs[0]].shape, tensors[operator.outputs[0]].shape


def _swaps_second_and_third(layer: ExtractedLayer) -> bool:
    perm = layer.attribute("perm")
    return isinstance(perm, tuple) and perm == (0, 2, 1, *range(3, len(perm)))
