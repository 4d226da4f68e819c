"""Which operators have expressions of C."""

from benanza_runner.cuda.lowering.elementwise import expressions, integer_expressions, logic
from benanza_schemas.operators.table import named

FOLDED = {"BatchNormalization", "DequantizeLinear", "QuantizeLinear"}
"""A scale and a shift for each channel, which `chains.py` writes."""


def test_each_elementwise_operator_of_regions_has_one() -> None:
    written = expressions.OPERATORS | integer_expressions.WRITERS.keys() | logic.OPERATORS
    in_regions = named(lambda facts: facts.region == "element-wise")
    assert (written | FOLDED) - {"Identity"} == in_regions
