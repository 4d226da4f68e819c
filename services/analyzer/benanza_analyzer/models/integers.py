"""Which layers compute with integers: for these no ceiling of arithmetic is known.

Ceilings are measured in floating point. A processor multiplies integers of 8 bits several times as
fast, and so it does floats of 8 bits, so that the speed of light counts no operation of such
layers. The store's view `layer_rates` goes by the same names.
"""

from benanza_schemas.events import Group, LayerSummary
from benanza_schemas.layer import Layer

_OF_INTEGERS = ("QLinear", "QOrdered", "QAttention", "QGemm", "QMoE", "DynamicQuantize")
"""How the names of such operators begin; ONNX Runtime's own ones among them."""

_INTEGER = ("Integer", "NBits", "Float8", "Fp8")
"""What the names of others contain: MatMulInteger, MatMulIntegerToFloat, MatMulNBits, GemmFloat8.
"""

_BETWEEN_INTEGERS = ("QuantizeLinear", "DequantizeLinear")

QUANTISED = "quantised"
"""How the rules of groups end that ingest proposes of operators on quantised values."""


def computes_with_integers(layer: LayerSummary | Group) -> bool:
    """Whether a layer or a group may compute with integers."""
    if isinstance(layer, Group):
        return layer.rule.endswith(QUANTISED)
    return _named_so(layer.op)


def may_compute_with_integers(layer: Layer) -> bool:
    """The same of a layer's graph, where its operators are known, and not who proposed them."""
    names = [operator.op_type for operator in layer.operators]
    return any(_named_so(name) or name.endswith(_BETWEEN_INTEGERS) for name in names)


def _named_so(op: str) -> bool:
    return op.startswith(_OF_INTEGERS) or any(part in op for part in _INTEGER)
