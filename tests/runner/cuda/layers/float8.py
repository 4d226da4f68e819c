"""What reads and writes float8e4m3fn: conversions, and convolutions and products between them."""

from collections.abc import Sequence

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.cuda.layers.more import COARSE, FINE, STEPS, X, fixed, layer
from tests.runner.cuda.layers.quantised import SAME, Unit, behind
from tests.runner.layers import floats, operator

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
        "Transpose", (Tensor(FLOAT8, (4, 9, 8)),), Tensor(FLOAT8, (4, 8, 9)), perm=(0, 2, 1)
    ),
}


def conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    *,
    by_channel: bool = False,
    after: Sequence[str] = (),
    result: str = FLOAT8,
    **more: AttributeValue,
) -> Layer:
    """A convolution with a bias in floats, and element-wise operators behind it."""
    unit = Unit()
    first = unit.dequantised(FLOAT8, *x)
    second = unit.dequantised(FLOAT8, *w, constant=True, axis=0 if by_channel else None)
    y = floats(x[0], w[0], *x[2:])
    convolved = unit.add("Conv", (first, second, unit.weights(w[0])), y, 11, **more)
    return behind(unit, convolved, after, result)


def product(
    m: int,
    k: int,
    n: int,
    *,
    by_channel: bool = False,
    gemm: bool = False,
    after: Sequence[str] = (),
    result: str = FLOAT8,
) -> Layer:
    """A product with weights; of a Gemm with rows of weights and a bias in floats."""
    unit = Unit()
    first = unit.dequantised(FLOAT8, m, k)
    shape, axis = ((n, k), 0) if gemm else ((k, n), 1)
    second = unit.dequantised(FLOAT8, *shape, constant=True, axis=axis if by_channel else None)
    if gemm:
        inputs = first, second, unit.weights(n)
        made = unit.add("Gemm", inputs, floats(m, n), 13, transB=1)
    else:
        made = unit.add("MatMul", (first, second), floats(m, n), 13)
    return behind(unit, made, after, result)


MAP, FILTER = (2, 16, 9, 9), (32, 16, 3, 3)

FLOAT8_PRODUCTS: dict[str, Layer] = {
    "float8 conv": conv(MAP, FILTER, **SAME),
    "float8 conv, scales by channel": conv(MAP, FILTER, by_channel=True, **SAME),
    "float8 conv + relu to floats": conv(MAP, FILTER, after=["Relu"], result="", **SAME),
    "float8 conv + float8 residual": conv(MAP, FILTER, after=["float8 residual"], **SAME),
    "float8 conv of three channels": conv((2, 3, 9, 9), (32, 3, 3, 3), **SAME),
    "float8 conv by channel": conv(MAP, (16, 1, 3, 3), group=16, **SAME),
    "float8 matmul": product(20, 64, 48),
    "float8 matmul of a row": product(1, 64, 48),
    "float8 matmul to floats": product(20, 64, 48, result=""),
    "float8 matmul, scales by column": product(20, 64, 48, by_channel=True, result=""),
    "float8 matmul + bias + residual": product(20, 64, 48, after=["bias", "residual"]),
    "float8 matmul of many terms": product(64, 4096, 64, result=""),
    "float8 matmul of many terms to float8": product(64, 4096, 64),
    "float8 gemm": product(20, 64, 48, gemm=True),
    "float8 gemm + relu": product(20, 64, 48, gemm=True, after=["Relu"], result=""),
    "float8 gemm + sigmoid": product(20, 64, 48, gemm=True, after=["Sigmoid"]),
}
