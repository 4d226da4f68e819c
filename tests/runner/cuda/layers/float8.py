"""What reads and writes float8e4m3fn."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Tensor
from tests.runner.cuda.layers.more import COARSE, FINE, STEPS, X, fixed, layer
from tests.runner.layers import operator

FLOAT8 = "float8e4m3fn"
CODES = Tensor(FLOAT8, X.shape)
POINT = fixed(0, dtype=FLOAT8, scalar=True)
POINTS = fixed(*[0] * 8, dtype=FLOAT8)


def requantised() -> Layer:
    """DequantizeLinear–Sigmoid–QuantizeLinear, each channel with a step of its own."""
    operators = (
        operator("DequantizeLinear", 21, (0, 1), (4,)),
        operator("Sigmoid", 13, (4,), (5,)),
        operator("QuantizeLinear", 21, (5, 2, 3), (6,)),
    )
    return canonical(Layer((CODES, STEPS, COARSE, POINT, X, X, CODES), operators, (6,)))


def rounded_to_float8() -> Layer:
    """QuantizeLinear–DequantizeLinear."""
    operators = (
        operator("QuantizeLinear", 21, (0, 1, 2), (3,)),
        operator("DequantizeLinear", 21, (3, 1, 2), (4,)),
    )
    return canonical(Layer((X, COARSE, POINT, CODES, X), operators, (4,)))


FLOAT8_CONVERSIONS: dict[str, Layer] = {
    "quantise to float8": layer("QuantizeLinear", (X, COARSE, POINT), CODES),
    "quantise to float8 beyond the range": layer(
        "QuantizeLinear", (X, fixed(0.001, dtype="float32", scalar=True), POINT), CODES
    ),
    "quantise to subnormal float8": layer(
        "QuantizeLinear", (X, fixed(90, dtype="float32", scalar=True), POINT), CODES
    ),
    "quantise to float8 by channel": layer("QuantizeLinear", (X, STEPS, POINTS), CODES),
    "dequantise float8": layer("DequantizeLinear", (CODES, FINE, POINT), X),
    "dequantise float8 by channel": layer("DequantizeLinear", (CODES, STEPS, POINTS), X),
    "dequantise, sigmoid, quantise float8": requantised(),
    "round to float8": rounded_to_float8(),
    "cast to float8": layer("Cast", (X,), CODES, to=17),
    "cast from float8": layer("Cast", (CODES,), X, to=1),
    "transpose float8": layer(
        "Transpose", (CODES,), Tensor(FLOAT8, (2, 9, 9, 8)), perm=(0, 2, 3, 1)
    ),
}
