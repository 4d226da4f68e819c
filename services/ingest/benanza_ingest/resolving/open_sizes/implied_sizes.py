"""Sizes of open dimensions that the graph leaves no choice of.

Exporters leave an axis open that only one size fits: ONNX Runtime's model builder that of a head in
caches, and those of others that of the features that weights multiply.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from onnx import ValueInfoProto, helper

from benanza_ingest.resolving.graph import Graph, Node

Size = int | str | None
Shapes = list[tuple[Size, ...]]
Pairs = Iterator[tuple[Size, Size]]


def implied_sizes(
    outputs: Iterable[ValueInfoProto], graph: Graph, names: list[str]
) -> dict[str, int]:
    """The sizes of those of these open dimensions that have one, by their names: by the operators
    that read them, or since one of the model's outputs, as it declares them, has the name where it
    has this size. A name of which two sizes follow isn't among them.
    """
    if not names:
        return {}
    found = defaultdict[str, set[int]](set)
    for one, other in (*_read(graph), *_declared(outputs, graph)):
        for name, size in ((one, other), (other, one)):
            if isinstance(name, str) and isinstance(size, int):
                found[name].add(size)
    return {name: min(found[name]) for name in names if len(found[name]) == 1}


def _read(graph: Graph) -> Pairs:
    """Pairs of sizes that are the same, by what reads them."""
    for node in graph.nodes:
        rule = _RULES.get((node.domain, node.op_type))
        if rule is not None:
            try:
                yield from rule(node, [_shape(graph, name) for name in node.inputs])
            except (ArithmeticError, LookupError, TypeError, ValueError):
                continue  # What it reads isn't known, or a damaged file contradicts its definition.


def _declared(outputs: Iterable[ValueInfoProto], graph: Graph) -> Pairs:
    """Pairs of what outputs are declared as, and what they are."""
    for value in outputs:
        declared = value.type.tensor_type.shape.dim
        known = _shape(graph, value.name)
        if len(declared) == len(known):
            yield from ((dim.dim_param, size) for dim, size in zip(declared, known, strict=True))


def _shape(graph: Graph, name: str) -> tuple[Size, ...]:
    """The shape of a value, without axes where it isn't known."""
    known = graph.constants.type_of(name) if name else None
    return () if known is None or known.shape is None else known.shape


def _product(node: Node, shapes: Shapes) -> Pairs:
    a, b, *_ = shapes
    yield a[-1], b[-2] if len(b) > 1 else b[0]


def _gemm(node: Node, shapes: Shapes) -> Pairs:
    (a, b, *_), given = shapes, _attributes(node)
    yield a[0 if given.get("transA") else 1], b[1 if given.get("transB") else 0]


def _packed_product(node: Node, shapes: Shapes) -> Pairs:
    yield shapes[0][-1], _attributes(node)["K"]


def _convolution(node: Node, shapes: Shapes) -> Pairs:
    (x, filters, *_), groups = shapes, _attributes(node).get("group", 1)
    channels = filters[1]
    yield x[1], channels * groups if isinstance(channels, int) else None


def _concatenation(node: Node, shapes: Shapes) -> Pairs:
    first, *others = shapes
    axis = _attributes(node)["axis"] % len(first)
    for other in others:
        pairs = zip(first, other, strict=True)
        yield from (pair for place, pair in enumerate(pairs) if place != axis)


def _grouped_attention(node: Node, shapes: Shapes) -> Pairs:
    """Caches in the type of queries have rows as long as a head."""
    given = _attributes(node)
    if given.get("k_quant_type", b"NONE") not in (b"NONE", ""):
        return
    heads = given["num_heads"] + (0 if node.inputs[1] else 2 * given["kv_num_heads"])
    yield from _kept(shapes, (3, 4), heads)


def _multi_head(node: Node, shapes: Shapes) -> Pairs:
    yield from _kept(shapes, (6, 7), _attributes(node)["num_heads"])


def _kept(shapes: Shapes, places: tuple[int, int], heads: int) -> Pairs:
    wide = shapes[0][2]
    if isinstance(wide, int):
        for place in places:
            if shapes[place]:
                yield shapes[place][3], wide // heads


def _attributes(node: Node) -> dict[str, int]:
    return {each.name: helper.get_attribute_value(each) for each in node.proto.attribute}


_RULES: dict[tuple[str, str], Callable[[Node, Shapes], Pairs]] = {
    ("", "Concat"): _concatenation,
    ("", "Conv"): _convolution,
    ("", "Gemm"): _gemm,
    ("", "MatMul"): _product,
    ("com.microsoft", "GroupQueryAttention"): _grouped_attention,
    ("com.microsoft", "MatMulNBits"): _packed_product,
    ("com.microsoft", "MultiHeadAttention"): _multi_head,
}
