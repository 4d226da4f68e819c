"""Convolutions and products between DequantizeLinear and QuantizeLinear."""

from collections.abc import Sequence
from typing import Any

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Operator, Tensor
from tests.runner.cuda.layers.more import fixed
from tests.runner.layers import floats, operator, single, weights


class Unit:
    """A layer that is written operator by operator; values are named by their places."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []

    def tensor(self, dtype: str, *shape: int, constant: bool = False) -> int:
        self.tensors.append(Tensor(dtype, shape, constant))
        return len(self.tensors) - 1

    def weights(self, *shape: int) -> int:
        self.tensors.append(weights(*shape))
        return len(self.tensors) - 1

    def add(
        self,
        op_type: str,
        inputs: Sequence[int],
        result: Tensor,
        version: int,
        **more: AttributeValue,
    ) -> int:
        self.tensors.append(result)
        place = len(self.tensors) - 1
        self.operators.append(operator(op_type, version, tuple(inputs), (place,), "", **more))
        return place

    def dequantised(
        self, dtype: str, *shape: int, constant: bool = False, axis: int | None = None
    ) -> int:
        """Integers or float8 as floats; with scales along an axis if one is named."""
        integers = self.tensor(dtype, *shape, constant=constant)
        sizes = () if axis is None else (shape[axis],)
        scale, zero = self.weights(*sizes), self.tensor(dtype, *sizes, constant=True)
        more = {} if axis is None else {"axis": axis}
        inputs = (integers, scale, zero)
        return self.add("DequantizeLinear", inputs, floats(*shape), _version(dtype), **more)

    def quantised(self, x: int, dtype: str) -> int:
        scale, zero = self.weights(), self.tensor(dtype, constant=True)
        result = Tensor(dtype, self.tensors[x].shape)
        return self.add("QuantizeLinear", (x, scale, zero), result, _version(dtype))

    def layer(self) -> Layer:
        return canonical(Layer(tuple(self.tensors), tuple(self.operators), (self.last,)))

    @property
    def last(self) -> int:
        return len(self.tensors) - 1


def _version(dtype: str) -> int:
    return 19 if dtype == "float8e4m3fn" else 13


def conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    y: tuple[int, ...],
    *,
    kind: str = "int8",
    by_channel: bool = True,
    after: Sequence[str] = (),
    result: str = "int8",
    **more: AttributeValue,
) -> Layer:
    """A convolution with a bias in int32, and element-wise operators behind it."""
    unit = Unit()
    axis = 0 if by_channel else None
    first = unit.dequantised(kind, *x)
    second = unit.dequantised("int8", *w, constant=True, axis=axis)
    third = unit.dequantised("int32", w[0], constant=True, axis=axis)
    convolved = unit.add("Conv", (first, second, third), floats(*y), 11, **more)
    return behind(unit, convolved, after, result)


def product(
    m: int,
    k: int,
    n: int,
    *,
    kind: str = "int8",
    gemm: bool = False,
    turned: bool = False,
    after: Sequence[str] = (),
    result: str = "int8",
) -> Layer:
    """A product with weights; of a Gemm with rows of weights and a bias, or turned by Transpose."""
    unit = Unit()
    by_row = gemm or turned
    first = unit.dequantised(kind, m, k)
    shape = (n, k) if by_row else (k, n)
    second = unit.dequantised("int8", *shape, constant=True, axis=0 if by_row else 1)
    if turned:
        second = unit.add("Transpose", (second,), floats(k, n), 13, perm=(1, 0))
    if gemm:
        third = unit.dequantised("int32", n, constant=True)
        made = unit.add("Gemm", (first, second, third), floats(m, n), 13, transB=1)
    else:
        made = unit.add("MatMul", (first, second), floats(m, n), 13)
    return behind(unit, made, after, result)


def weight_only(
    m: int, k: int, n: int, kind: str, *, block: int = 0, gemm: bool = False, bias: bool = False
) -> Layer:
    """A product with dequantised weights: by channel, or by blocks of so many terms."""
    unit = Unit()
    shape, axis = ((n, k), 0) if gemm else ((k, n), 1)
    sizes: tuple[int, ...] = (n,)
    if block:
        axis = 1 - axis
        sizes = tuple(size // block if place == axis else size for place, size in enumerate(shape))
    integers = unit.tensor(kind, *shape, constant=True)
    scale = unit.weights(*sizes)
    more: dict[str, AttributeValue] = {"axis": axis}
    if block:
        more["block_size"] = block
    weight = unit.add("DequantizeLinear", (integers, scale), floats(*shape), 21, **more)
    x = unit.tensor("float32", m, k)
    if gemm:
        inputs = (x, weight, unit.weights(n)) if bias else (x, weight)
        unit.add("Gemm", inputs, floats(m, n), 13, transB=1)
        return unit.layer()
    made = unit.add("MatMul", (x, weight), floats(m, n), 13)
    return behind(unit, made, ["bias"] if bias else [], "")


def behind(unit: Unit, value: int, after: Sequence[str], result: str) -> Layer:
    shape = unit.tensors[value].shape
    for op_type in after:
        match op_type:
            case "bias":
                vector = unit.weights(shape[-1])
                value = unit.add("Add", (value, vector), floats(*shape), 14)
            case "residual":
                other = unit.tensor("float32", *shape)
                value = unit.add("Add", (other, value), floats(*shape), 14)
            case "quantised residual" | "float8 residual":
                kind = "float8e4m3fn" if "float8" in op_type else "int8"
                other = unit.dequantised(kind, *shape)
                value = unit.add("Add", (value, other), floats(*shape), 14)
            case _:
                version = 13 if op_type == "Sigmoid" else 14
                value = unit.add(op_type, (value,), floats(*shape), version)
    if result:
        unit.quantised(value, result)
    return unit.layer()


X, W, Y = (2, 16, 9, 9), (32, 16, 3, 3), (2, 32, 9, 9)
SAME: dict[str, Any] = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}

QUANTISED: dict[str, Layer] = {
    "quantised conv": conv(X, W, Y, **SAME),
    "quantised conv, one scale": conv(X, W, Y, by_channel=False, **SAME),
    "quantised conv + relu": conv(X, W, Y, after=["Relu"], **SAME),
    "quantised conv + residual + relu": conv(X, W, Y, after=["residual", "Relu"], **SAME),
    "quantised conv + quantised residual": conv(X, W, Y, after=["quantised residual"], **SAME),
    "quantised conv to floats": conv(X, W, Y, after=["Relu"], result="", **SAME),
    "quantised conv + hard swish": conv(X, W, Y, after=["HardSwish"], **SAME),
    "quantised conv, unsigned": conv(X, W, Y, kind="uint8", result="uint8", **SAME),
    "quantised conv, strided": conv(
        X, (32, 16, 1, 1), (2, 32, 5, 5), strides=(2, 2), kernel_shape=(1, 1)
    ),
    "quantised conv by channel": conv(
        (2, 16, 9, 9), (16, 1, 3, 3), (2, 16, 9, 9), group=16, **SAME
    ),
    "weights of 8 bits": weight_only(3, 64, 48, "int8"),
    "weights of 8 bits, with bias": weight_only(20, 64, 48, "int8", bias=True),
    "weights of 8 bits in rows": weight_only(3, 64, 48, "uint8", gemm=True, bias=True),
    "weights of 4 bits": weight_only(1, 128, 48, "int4", block=32),
    "weights of 4 bits in rows": weight_only(20, 128, 48, "uint4", block=64, gemm=True),
    "quantised matmul": product(20, 64, 48),
    "quantised matmul of a row": product(1, 64, 48),
    "quantised matmul to floats": product(20, 64, 48, result=""),
    "quantised matmul, unsigned": product(20, 64, 48, kind="uint8", after=["bias"]),
    "quantised matmul, turned weights": product(20, 64, 48, turned=True),
    "quantised matmul + bias + residual": product(20, 64, 48, after=["bias", "residual"]),
    "quantised gemm": product(20, 64, 48, gemm=True),
    "quantised gemm + relu": product(20, 64, 48, gemm=True, after=["Relu"], result="uint8"),
    "quantised gemm + sigmoid": product(20, 64, 48, gemm=True, after=["Sigmoid"], result="uint8"),
}


def on_integers(
    op_type: str,
    inputs: Sequence[Tensor],
    result: Tensor,
    domain: str = "com.microsoft",
    **more: AttributeValue,
) -> Layer:
    version = {"QLinearConv": 10, "QLinearMatMul": 21 if not domain else 1}.get(op_type, 1)
    return single(op_type, version, tuple(inputs), (result,), domain, **more)


def scaled(dtype: str, *shape: int, constant: bool = False, channels: int = 0) -> list[Tensor]:
    """Integers, their scale and their zero point; so many of these if they differ by channel."""
    sizes = (channels,) if channels else ()
    point = Tensor(dtype, sizes, constant=True)
    return [Tensor(dtype, shape, constant), weights(*sizes), point]


POINT = [weights(), Tensor("uint8", (), constant=True)]
MAP, BIAS = Tensor("uint8", (2, 16, 9, 9)), Tensor("int32", (32,), constant=True)

ON_INTEGERS: dict[str, Layer] = {
    "QLinearConv": on_integers(
        "QLinearConv",
        [
            *scaled("uint8", *X),
            *scaled("int8", *W, constant=True, channels=32),
            *POINT,
            BIAS,
        ],
        Tensor("uint8", Y),
        "",
        **SAME,
    ),
    "QLinearConv without bias": on_integers(
        "QLinearConv",
        [*scaled("uint8", *X), *scaled("int8", *W, constant=True), *POINT],
        Tensor("uint8", Y),
        "",
        **SAME,
    ),
    "QLinearConv with weights in uint8": on_integers(
        "QLinearConv",
        [*scaled("uint8", *X), *scaled("uint8", *W, constant=True), *POINT, BIAS],
        Tensor("uint8", Y),
        "",
        **SAME,
    ),
    "QLinearConv by channel": on_integers(
        "QLinearConv",
        [
            *scaled("uint8", *X),
            *scaled("int8", 16, 1, 3, 3, constant=True, channels=16),
            *POINT,
            Tensor("int32", (16,), constant=True),
        ],
        MAP,
        "",
        group=16,
        **SAME,
    ),
    "QLinearMatMul": on_integers(
        "QLinearMatMul",
        [*scaled("uint8", 20, 64), *scaled("int8", 64, 32, constant=True), *POINT],
        Tensor("uint8", (20, 32)),
        "",
    ),
    "QGemm": on_integers(
        "QGemm",
        [*scaled("uint8", 20, 64), *scaled("int8", 32, 64, constant=True), BIAS, *POINT],
        Tensor("uint8", (20, 32)),
        transB=1,
    ),
    "QGemm with weights in uint8": on_integers(
        "QGemm",
        [*scaled("uint8", 20, 64), *scaled("uint8", 32, 64, constant=True), BIAS, *POINT],
        Tensor("uint8", (20, 32)),
        transB=1,
    ),
    "QLinearAdd": on_integers("QLinearAdd", [*scaled("uint8", *X) * 2, *POINT], MAP),
    "QLinearMul": on_integers("QLinearMul", [*scaled("uint8", *X) * 2, *POINT], MAP),
    "QLinearSigmoid": on_integers("QLinearSigmoid", [*scaled("uint8", *X), *POINT], MAP),
    "QLinearSoftmax": on_integers("QLinearSoftmax", [*scaled("uint8", *X), *POINT], MAP, opset=13),
    "QLinearLeakyRelu": on_integers(
        "QLinearLeakyRelu", [*scaled("uint8", *X), *POINT], MAP, alpha=0.1
    ),
    "QLinearGlobalAveragePool": on_integers(
        "QLinearGlobalAveragePool",
        [*scaled("uint8", *X), *POINT],
        Tensor("uint8", (2, 16, 1, 1)),
    ),
    "QLinearConcat": on_integers(
        "QLinearConcat",
        [*POINT, *scaled("uint8", *X) * 2],
        Tensor("uint8", (2, 32, 9, 9)),
        axis=1,
    ),
    "max pool of bytes": single(
        "MaxPool", 12, (MAP,), (Tensor("uint8", (2, 16, 4, 4)),), "", kernel_shape=(3, 3),
        strides=(2, 2),
    ),
    "resized bytes": single(
        "Resize", 19, (MAP, fixed(dtype="float32"), fixed(1.0, 1.0, 2.0, 2.0, dtype="float32")),
        (Tensor("uint8", (2, 16, 18, 18)),), "", mode="linear",
    ),
}  # fmt: skip
