"""The products of a resolved graph whose weights may be quantised."""

from typing import NamedTuple

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType
from benanza_schemas.events.derivation import Quantised

BLOCK = 32
"""Weights in int4 that share a scale, as ONNX Runtime's exporters of decoders have it."""

_FLOATS = frozenset(("float32", "float16", "bfloat16"))

_PRODUCTS = frozenset(("Conv", "Gemm", "MatMul"))


class FloatProduct(NamedTuple):
    """A product of `data` with constant `weights`.

    `axis` of the weights is that of the result's channels. `depth` is how many numbers are added up
    for each number of a product of matrices; it is 0 for a convolution.
    """

    node: Node
    data: str
    weights: str
    axis: int
    depth: int


def is_product(node: Node) -> bool:
    """Whether a node is a product of matrices or a convolution."""
    return not node.domain and node.op_type in _PRODUCTS


def product(graph: Graph, node: Node, to: Quantised) -> FloatProduct | str:
    """The product that this node is, or why such products stay in floats."""
    data, weights = node.inputs[:2]
    if weights not in graph.constants:
        is_first = data in graph.constants
        return "their weights come first" if is_first else "both their operands are computed"
    of_data, of_weights = _type(graph, data), _type(graph, weights)
    if of_data is None or of_weights is None:
        return "their sizes aren't known; bind dimensions with --dim"
    if not {of_data.dtype, of_weights.dtype} <= _FLOATS:
        return f"they are in {of_weights.dtype}"
    if not of_data.elements() or not of_weights.elements():
        return "they have no elements"
    if node.op_type == "Conv":
        is_known = to == "int8"
        return (
            FloatProduct(node, data, weights, 0, 0) if is_known else f"{to} is for MatMul and Gemm"
        )
    if len(of_weights.dims()) != 2 or len(of_data.dims()) < 2:
        return "an operand is a vector, or their weights are several matrices"
    axis = 0 if attribute(node, "transB", 0) else 1
    return FloatProduct(node, data, weights, axis, of_weights.dims()[1 - axis])


def attribute(node: Node, name: str, default: float) -> float:
    """A number among a node's attributes."""
    given = next((each for each in node.proto.attribute if each.name == name), None)
    if given is None:
        return default
    return float(given.f) if isinstance(default, float) else int(given.i)


def _type(graph: Graph, name: str) -> TensorType | None:
    known = graph.constants.type_of(name) if name in graph.constants else graph.types.get(name)
    return known if known is not None and known.resolved else None
