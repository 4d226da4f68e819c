"""Products with weights in int4: ONNX Runtime's `MatMulNBits`."""

from collections import Counter

from msgspec.structs import replace

from benanza_ingest.deriving.building import Building, new_node
from benanza_ingest.deriving.products import BLOCK, FloatProduct, attribute
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import tensor_type

DOMAIN = "com.microsoft"

_BITS = 4
_BIAS = 5
"""The position of the operator's bias."""


class FourBits:
    """Packs the weights of products, each once for all its readers, and takes biases along."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._building = Building(graph)
        self._packed: dict[tuple[str, int], tuple[str, str]] = {}
        self._rows: dict[str, str] = {}

    def nodes(self, known: FloatProduct) -> list[Node] | str:
        """What runs instead of a product of matrices, or why its weights can't be packed."""
        if known.depth % BLOCK:
            return f"sums of {known.depth} numbers aren't of whole blocks of {BLOCK}"
        node = known.node
        factors = attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0)
        if factors != (1.0, 1.0):
            return "alpha or beta isn't 1"
        if attribute(node, "transA", 0):
            return "the data are transposed"
        if (known.weights, known.axis) not in self._packed:
            self._packed[known.weights, known.axis] = self._pack(known)
        packed, scales = self._packed[known.weights, known.axis]
        columns = self._dims(known.weights)[known.axis]
        made = new_node(
            "MatMulNBits",
            node.title(),
            (known.data, packed, scales),
            node.outputs,
            domain=DOMAIN,
            K=known.depth,
            N=columns,
            bits=_BITS,
            block_size=BLOCK,
        )
        bias = next(iter(node.inputs[2:]), "")
        if not bias:
            return [made]
        if row := self._row(bias, columns):
            return [_with_bias(made, row)]
        result = self._graph.types[node.outputs[0]]
        assert result is not None, "the results of products whose operands are known are, too"
        sums = self._building.value(f"{node.outputs[0]}/sums", result)
        added = new_node("Add", f"{node.title()}/bias", (sums, bias), node.outputs)
        return [replace(made, outputs=(sums,)), added]

    def with_biases(self, nodes: list[Node]) -> list[Node]:
        """The nodes, where products take along a row of constants that alone is added to them."""
        reads = Counter(name for node in nodes for name in (*node.inputs, *node.captured))
        reads.update(self._graph.outputs)
        places = {
            node.outputs[0]: place
            for place, node in enumerate(nodes)
            if node.op_type == "MatMulNBits" and reads[node.outputs[0]] == 1
        }
        left = list(nodes)
        gone = set()
        for place, node in enumerate(nodes):
            if (node.op_type, node.domain) != ("Add", ""):
                continue
            for sums, bias in (node.inputs, node.inputs[::-1]):
                made = left[places[sums]] if sums in places else None
                if made is None or len(made.inputs) > _BIAS or bias not in self._graph.constants:
                    continue
                if self._dims(node.outputs[0]) != self._dims(sums):
                    continue  # the bias has more axes
                if row := self._row(bias, self._dims(sums)[-1]):
                    left[places[sums]] = replace(_with_bias(made, row), outputs=node.outputs)
                    gone.add(place)
        return [node for place, node in enumerate(left) if place not in gone]

    def _pack(self, known: FloatProduct) -> tuple[str, str]:
        """The weights and their scales."""
        columns, blocks = self._dims(known.weights)[known.axis], known.depth // BLOCK
        floats = self._graph.types[known.weights]
        assert floats is not None, "products are of values whose types are known"
        return (
            self._building.weight(
                f"{known.weights}/packed",
                tensor_type("uint8", (columns, blocks, BLOCK * _BITS // 8)),
            ),
            self._building.weight(
                f"{known.weights}/scales", tensor_type(floats.dtype, (columns, blocks))
            ),
        )

    def _row(self, bias: str, columns: int) -> str:
        """The bias as a vector; empty if it is no row of constants."""
        known = self._graph.constants.type_of(bias) if bias in self._graph.constants else None
        if known is None or not known.resolved or known.dims()[-1:] != (columns,):
            return ""
        if known.elements() != columns:
            return ""
        if known.dims() == (columns,):
            return bias
        if bias not in self._rows:
            row = tensor_type(known.dtype, (columns,))
            self._rows[bias] = self._building.weight(f"{bias}/row", row)
        return self._rows[bias]

    def _dims(self, name: str) -> tuple[int, ...]:
        known = self._graph.types[name]
        assert known is not None, "products are of values whose types are known"
        return known.dims()


def _with_bias(made: Node, row: str) -> Node:
    left_out = ("",) * (_BIAS - len(made.inputs))
    return replace(made, inputs=(*made.inputs, *left_out, row))
