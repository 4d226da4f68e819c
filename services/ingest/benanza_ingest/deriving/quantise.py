"""Quantises the products of a graph in floats.

With int4, weights of matrices are packed in blocks, and products are ONNX Runtime's `MatMulNBits`.
With int8 and fp8, data and weights go through a QuantizeLinear and a DequantizeLinear, as TensorRT
takes them: zero points are 0, data has one scale, and weights have a scale for each channel of the
result (int8) or one (fp8). Sources: ONNX Runtime's definition of `MatMulNBits`; TensorRT's
documentation, "Working with Quantized Types".
"""

import re

from benanza_ingest.deriving.eight_bits import EightBits
from benanza_ingest.deriving.four_bits import FourBits
from benanza_ingest.deriving.products import is_product, product
from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.graph import Graph, Node
from benanza_schemas.events.derivation import Quantised

_QUANTISED = re.compile(
    r"^(QLinear|QOrdered|QAttention|QGemm|QMoE|DynamicQuantize|QuantizeLinear|DequantizeLinear)"
    r"|Integer|NBits|Bnb4|FpQ4|Fp4|Fp8|Float8|BlockQuantized"
)
"""What the names of operators on quantised values contain."""


def quantise(graph: Graph, to: Quantised) -> list[str]:
    """Gives the graph's products weights of this type. Says how many, and which stay as they are, a
    line each.

    Raises `ModelError` for a graph that is quantised already, and if nothing can be quantised.
    """
    if found := next((node for node in graph.nodes if _QUANTISED.search(node.op_type)), None):
        raise ModelError(
            f"can't make {to} of a model that is quantised already, as {found.title()!r} says "
            f"({found.op_type}); name the model in floats, or leave out --quantised"
        )
    form = FourBits(graph) if to == "int4" else EightBits(graph, to)
    nodes: list[Node] = []
    count = 0
    left: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if not is_product(node):
            nodes.append(node)
            continue
        known = product(graph, node, to)
        made = known if isinstance(known, str) else form.nodes(known)
        if isinstance(made, str):
            left.setdefault(made, []).append(node)
            nodes.append(node)
        else:
            nodes += made
            count += 1
    notes = [_stay(products, why) for why, products in left.items()]
    if not count:
        why = "; ".join(notes) or "it has no Conv, Gemm or MatMul"
        raise ModelError(f"nothing of the model can be in {to}: {why}")
    graph.nodes = form.with_biases(nodes) if isinstance(form, FourBits) else nodes
    return [f"{count:,} {'product' if count == 1 else 'products'} in {to}", *notes]


def _stay(products: list[Node], why: str) -> str:
    first = repr(products[0].title())
    if len(products) == 1:
        return f"{first} stays in floats: {why}"
    return f"{len(products):,} products stay in floats, such as {first}: {why}"
