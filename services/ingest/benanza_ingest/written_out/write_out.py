"""Writes operators out as others, of which libraries run each."""

from collections.abc import Callable

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.written_out import (
    attention,
    channels_last,
    grouped_attention,
    quantised,
)
from benanza_ingest.written_out.einsum import einsum
from benanza_ingest.written_out.writing import WritingOut

_OWN = "com.microsoft"

_FORMS: dict[tuple[str, str], Callable[[WritingOut, Node], bool]] = {
    ("", "Einsum"): einsum,
    ("", "QLinearMatMul"): quantised.between_floats,
    (_OWN, "Attention"): attention.projected,
    (_OWN, "DynamicQuantizeMatMul"): quantised.dynamically_quantised,
    (_OWN, "GroupQueryAttention"): grouped_attention.normalised,
    (_OWN, "MatMulIntegerToFloat"): quantised.scaled,
    (_OWN, "MultiHeadAttention"): attention.multi_head,
    (_OWN, "NhwcConv"): channels_last.convolution,
}
"""By domain and operator, what adds the nodes, or says that the node stays as it is."""


def write_out(graph: Graph) -> None:
    """Changes the graph so that those that can be written with others are, where all types are
    known.
    """
    graph.nodes = [made for node in graph.nodes for made in _written(graph, node)]


def _written(graph: Graph, node: Node) -> list[Node]:
    form = _FORMS.get((node.domain, node.op_type))
    if form is None or not all(_is_known(graph, name) for name in node.inputs + node.outputs):
        return [node]
    writing = WritingOut(graph, node)
    try:
        return writing.nodes if form(writing, node) else [node]
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # A file can contradict an operator's definition in too many ways to list.
        return [node]


def _is_known(graph: Graph, name: str) -> bool:
    known = graph.constants.type_of(name)
    return not name or (known is not None and known.resolved)
