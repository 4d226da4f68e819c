"""Sizes of results that onnx (1.23) infers otherwise than ONNX's text and runtimes have them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, helper

from benanza_ingest.resolving.inferring.windows import slid

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Rule = Callable[[Mapping[str, Any], Shape, Sequence[Array | None]], Shape | None]
"""The sizes of the first result, by a node's attributes, its first input's sizes, and the elements
of its inputs, None for those that aren't known. None where onnx is right.
"""


def corrected(node: NodeProto, sizes: Shape, values: Sequence[Array | None]) -> Shape | None:
    """The sizes of a node's first result; None where onnx is right. Raises what `slid` raises."""
    rule = _RULES.get(node.op_type) if not node.domain else None
    if rule is None:
        return None
    return rule({a.name: helper.get_attribute_value(a) for a in node.attribute}, sizes, values)


@contextmanager
def without_corrected(protos: Iterable[NodeProto]) -> Iterator[None]:
    """Hides nodes whose results may have to be corrected, for the length of a `with` block: what
    follows from them would be wrong as well.
    """
    hidden = [(proto, proto.op_type) for proto in protos if proto.op_type in _RULES]
    try:
        for proto, _ in hidden:
            proto.op_type = ""
        yield
    finally:
        for proto, op_type in hidden:
            proto.op_type = op_type


def _pooled(
    attributes: Mapping[str, Any], sizes: Shape, values: Sequence[Array | None]
) -> Shape | None:
    if not attributes.get("ceil_mode"):
        return None
    return (*sizes[:2], *slid(sizes[2:], attributes["kernel_shape"], attributes))


def _resized(
    attributes: Mapping[str, Any], sizes: Shape, values: Sequence[Array | None]
) -> Shape | None:
    """Runtimes multiply in single precision: 5 times 2.6 is 13, and not a little less."""
    if attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        return None
    given = [value for value in values[1:] if value is not None and value.size]
    if len(given) != 1 or given[0].dtype != np.float32:  # sizes in place of scales
        return None
    axes = [axis % len(sizes) for axis in attributes.get("axes") or range(len(sizes))]
    resized = list(sizes)
    for axis, scale in zip(axes, given[0].ravel(), strict=True):
        resized[axis] = int(np.float32(sizes[axis]) * np.float32(scale))
    return tuple(resized)


_RULES: dict[str, Rule] = {
    "AveragePool": _pooled,
    "LpPool": _pooled,
    "MaxPool": _pooled,
    "Resize": _resized,
}
