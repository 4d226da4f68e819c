"""A shuffle of an image's channels: seen as rows of a table, they are read by columns.

ShuffleNet does so after a convolution in groups, and exporters write it as a Reshape to one axis
more, a Transpose and a Reshape back. The image between them is none that could have its channels
last; as one call the shuffle leaves them where they are.
"""

from itertools import pairwise

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.groups.wiring import Wiring

RULE = "shuffle"

FEWEST_AXES = 3
"""Of an image: a batch, channels, and an axis of space."""


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of each Reshape, Transpose and Reshape that do nothing but that."""
    groups: list[tuple[int, ...]] = []
    for start, layer in enumerate(wiring.layers):
        if not _is(layer, "Reshape", "view"):
            continue
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
    image, table = _shapes(wiring.layers[start])
    _, after = _shapes(wiring.layers[end])
    if len(image) < FEWEST_AXES or image != after or len(table) != len(image) + 1:
        return False
    batch, rows, columns, *space = table
    return image == (batch, rows * columns, *space) and _swaps_second_and_third(
        wiring.layers[transpose]
    )


def _shapes(layer: ExtractedLayer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of what a layer reads first, and of what it writes."""
    assert layer.layer is not None, "skipped layers are left out"
    tensors, operator = layer.layer.tensors, layer.layer.operators[0]
    return tensors[operator.inputs[0]].shape, tensors[operator.outputs[0]].shape


def _swaps_second_and_third(layer: ExtractedLayer) -> bool:
    assert layer.layer is not None, "skipped layers are left out"
    perm = next((a.value for a in layer.layer.operators[0].attributes if a.name == "perm"), ())
    return isinstance(perm, tuple) and perm == (0, 2, 1, *range(3, len(perm)))
