"""Convolutions and products: other axes, their reverse, repeated matrices, activations."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from benanza_schemas.operators.elementwise import GATES
from benanza_schemas.operators.table import named
from tests.runner.cuda.layers.more import fixed, layer, version
from tests.runner.cuda.layers.own_products import ACTIVATED
from tests.runner.layers import floats, operator, weights


def gemm_and_residual(*third: Tensor, beta: float) -> Layer:
    """A Gemm, with its C if there is one, and an Add of another matrix."""
    result = floats(5, 16)
    tensors = (floats(5, 24), weights(24, 16), *third, result, result, result)
    inputs = tuple(range(2 + len(third)))
    product, residual, total = (len(inputs) + at for at in range(3))
    operators = (
        operator("Gemm", 13, inputs, (product,), beta=beta),
        operator("Add", 14, (product, residual), (total,)),
    )
    return canonical(Layer(tensors, operators, (total,)))


def followed_by(op_type: str, product: str, **attributes: AttributeValue) -> Layer:
    """A convolution or a product with an activation after it."""
    product_type = "Conv" if product == "Conv" else "Gemm"
    if product == "Conv":
        tensors = (
            floats(1, 8, 6, 6),
            weights(16, 8, 3, 3),
            weights(16),
            *(floats(1, 16, 4, 4),) * 2,
        )
    else:
        rows = 1 if product == "row" else 5
        tensors = (floats(rows, 24), weights(24, 16), weights(16), *(floats(rows, 16),) * 2)
    operators = (
        operator(product_type, version(product_type), (0, 1, 2), (3,)),
        operator(op_type, version(op_type), (3,), (4,), "", **attributes),
    )
    return canonical(Layer(tensors, operators, (4,)))


def bent(product: str, *slopes: int) -> Layer:
    """A convolution or a product with a PRelu after it, whose slopes have this shape."""
    plain = followed_by("PRelu", product)
    before, after = plain.operators
    tensors = (*plain.tensors, weights(*slopes))
    slope = len(plain.tensors)
    last = operator("PRelu", 16, (*after.inputs, slope), after.outputs)
    return canonical(Layer(tensors, (before, last), plain.outputs))


def gated(product: str, *gate: str, **attributes: AttributeValue) -> Layer:
    """A convolution or a product, times a function of itself in these operators."""
    before = followed_by("Relu", product)
    shape, value = before.tensors[before.outputs[0]], before.operators[0].outputs[0]
    tensors, operators = list(before.tensors[:-1]), [before.operators[0]]
    read = value
    for op_type in gate:
        tensors.append(shape)
        written = len(tensors) - 1
        operators.append(operator(op_type, version(op_type), (read,), (written,), "", **attributes))
        read = written
    tensors.append(shape)
    operators.append(operator("Mul", version("Mul"), (value, read), (len(tensors) - 1,)))
    return canonical(Layer(tuple(tensors), tuple(operators), (len(tensors) - 1,)))


def clipped() -> Layer:
    """A convolution with Relu6 as new versions write it."""
    x = floats(1, 8, 4, 4)
    low, high = (fixed(limit, dtype="float32", scalar=True) for limit in (0.0, 6.0))
    tensors = (floats(1, 8, 6, 6), weights(8, 8, 3, 3), x, low, high, x)
    operators = (operator("Conv", 11, (0, 1), (2,)), operator("Clip", 13, (2, 3, 4), (5,)))
    return canonical(Layer(tensors, operators, (5,)))


def normalised_upsampling() -> Layer:
    """ConvTranspose–BatchNormalization–Relu in groups, as in generators of images."""
    x = floats(1, 8, 10, 10)
    vectors = (weights(8),) * 4
    tensors = (floats(1, 8, 5, 5), weights(8, 4, 2, 2), x, *vectors, x, x)
    operators = (
        operator("ConvTranspose", 11, (0, 1), (2,), group=2, strides=(2, 2)),
        operator("BatchNormalization", 15, (2, 3, 4, 5, 6), (7,)),
        operator("Relu", 14, (7,), (8,)),
    )
    return canonical(Layer(tensors, operators, (8,)))


ACTIVATIONS: dict[str, dict[str, AttributeValue]] = {
    op_type: {}
    for op_type in sorted(named(lambda facts: facts.activation and not facts.others))
    if op_type not in ("Relu", "Swish", "ThresholdedRelu")
} | {"LeakyRelu": {"alpha": 0.1}, "HardSigmoid": {"alpha": 0.25, "beta": 0.625}}
"""Those that are compared behind products, with their attributes."""

FUSED: dict[str, Layer] = (
    ACTIVATED
    | {
        f"{product} + {op_type}": followed_by(op_type, product, **attributes)
        for product in ("Conv", "Gemm", "row")
        for op_type, attributes in ACTIVATIONS.items()
    }
    | {
        f"{product} + Gelu by tanh": followed_by("Gelu", product, approximate="tanh")
        for product in ("Conv", "Gemm", "row")
    }
    | {
        f"{product} + Elu of another alpha": followed_by("Elu", product, alpha=0.375)
        for product in ("Conv", "Gemm", "row")
    }
    | {
        f"{product} + {name} written out": gated(product, *gate)
        for product in ("Conv", "Gemm", "row")
        for gate, name in GATES.items()
    }
    | {
        "conv + clip": clipped(),
        "conv + PRelu by channel": bent("Conv", 16, 1, 1),
        "conv + PRelu of one slope": bent("Conv", 1),
        "gemm + PRelu by column": bent("Gemm", 16),
    }
)
"""What cuDNN generates kernels for: they use Tensor Cores, which fp32 shuts out."""


def of_bytes(
    a: Tensor, b: Tensor, *zeros: tuple[int, ...], output: tuple[int, ...] = (2, 5, 24)
) -> Layer:
    """A product of integers whose zero points have these shapes."""
    kinds = a.dtype, b.dtype
    points = (Tensor(kind, shape) for kind, shape in zip(kinds, zeros, strict=False))
    return layer("MatMulInteger", (a, b, *points), Tensor("int32", output))


BYTES, SIGNED_BYTES = Tensor("uint8", (2, 5, 16)), Tensor("int8", (2, 5, 16))
BYTE_WEIGHTS, SIGNED_WEIGHTS = (Tensor(kind, (16, 24), True) for kind in ("uint8", "int8"))

OF_BYTES = {
    "integers": of_bytes(SIGNED_BYTES, SIGNED_WEIGHTS),
    "integers, unsigned": of_bytes(BYTES, BYTE_WEIGHTS),
    "integers, unsigned with signed": of_bytes(BYTES, SIGNED_WEIGHTS, ()),
    "integers, signed with unsigned": of_bytes(SIGNED_BYTES, BYTE_WEIGHTS),
    "integers with a zero point": of_bytes(SIGNED_BYTES, SIGNED_WEIGHTS, ()),
    "integers with zero points": of_bytes(BYTES, SIGNED_WEIGHTS, (), ()),
    "integers with zero points by column": of_bytes(BYTES, BYTE_WEIGHTS, (1,), (24,)),
    "integers, one row of odd size": of_bytes(
        Tensor("uint8", (1, 33)), Tensor("int8", (33, 7), True), (), (7,), output=(1, 7)
    ),
}

PRODUCTS: dict[str, Layer] = {
    "gemm with rows of odd length": layer(
        "Gemm", (floats(40, 64), weights(64, 33), weights(33)), floats(40, 33)
    ),
    "gemm with rows of odd length, as torch has it": layer(
        "Gemm", (floats(40, 64), weights(331, 64)), floats(40, 331), transB=1
    ),
    "conv of one axis to an odd number of channels": layer(
        "Conv", (floats(2, 16, 9), weights(33, 16, 1)), floats(2, 33, 9)
    ),
    "conv to an odd number of channels": layer(
        "Conv", (floats(2, 16, 5, 6), weights(33, 16, 1, 1), weights(33)), floats(2, 33, 5, 6)
    ),
    "conv of one axis": layer(
        "Conv", (floats(2, 8, 20), weights(16, 8, 5), weights(16)), floats(2, 16, 9),
        strides=(2,), pads=(1, 1),
    ),
    "conv of one axis, one wide": layer(
        "Conv", (floats(2, 8, 20), weights(16, 8, 1), weights(16)), floats(2, 16, 20)
    ),
    "conv of one pixel": layer(
        "Conv", (floats(1, 48, 1, 1), weights(20, 48, 1, 1), weights(20)), floats(1, 20, 1, 1)
    ),
    "conv of a whole map": layer(
        "Conv", (floats(1, 6, 3, 5), weights(20, 6, 3, 5)), floats(1, 20, 1, 1)
    ),
    "conv of three axes": layer(
        "Conv", (floats(1, 4, 5, 6, 7), weights(8, 4, 3, 3, 3), weights(8)),
        floats(1, 8, 3, 4, 5),
    ),
    "transposed conv": layer(
        "ConvTranspose", (floats(2, 8, 5, 5), weights(8, 16, 3, 3), weights(16)),
        floats(2, 16, 10, 10), strides=(2, 2), pads=(1, 1, 1, 1), output_padding=(1, 1),
    ),
    "transposed conv without bias": layer(
        "ConvTranspose", (floats(1, 8, 5, 5), weights(8, 8, 2, 2)), floats(1, 8, 10, 10),
        strides=(2, 2),
    ),
    "transposed conv, asymmetric pads": layer(
        "ConvTranspose", (floats(1, 8, 5, 5), weights(8, 8, 3, 3)), floats(1, 8, 10, 10),
        strides=(2, 2), auto_pad="SAME_UPPER",
    ),
    "transposed conv of one axis": layer(
        "ConvTranspose", (floats(2, 8, 9), weights(8, 4, 4), weights(4)), floats(2, 4, 18),
        strides=(2,), pads=(1, 1),
    ),
    "transposed conv + batch norm + relu": normalised_upsampling(),
    "max pool of one axis": layer(
        "MaxPool", (floats(2, 8, 15),), floats(2, 8, 7), kernel_shape=(3,), strides=(2,)
    ),
    "average pool of one axis": layer(
        "AveragePool", (floats(2, 8, 15),), floats(2, 8, 15), kernel_shape=(3,), pads=(1, 1)
    ),
    "max pool of three axes": layer(
        "MaxPool", (floats(1, 8, 6, 7, 8),), floats(1, 8, 3, 3, 4), kernel_shape=(2, 2, 2),
        strides=(2, 2, 2),
    ),
    "average pool of three axes": layer(
        "AveragePool", (floats(1, 8, 4, 5, 6),), floats(1, 8, 4, 5, 6), kernel_shape=(3, 3, 3),
        pads=(1,) * 6, count_include_pad=1,
    ),
    "global average pool of one axis": layer(
        "GlobalAveragePool", (floats(2, 8, 15),), floats(2, 8, 1)
    ),
    "einsum of heads": layer(
        "Einsum", (floats(2, 3, 5, 16), floats(2, 3, 7, 16)), floats(2, 3, 5, 7),
        equation="bhid,bhjd->bhij",
    ),
    "einsum with the second first": layer(
        "Einsum", (weights(8, 16), floats(5, 16)), floats(5, 8), equation="ok,nk->no"
    ),
    "einsum of columns": layer(
        "Einsum", (floats(2, 16, 5), floats(2, 16, 8)), floats(2, 5, 8), equation="bki,bkj->bij"
    ),
    "einsum of heads side by side": layer(
        "Einsum", (floats(1, 5, 3, 16), floats(1, 7, 3, 16)), floats(1, 3, 5, 7),
        equation="bihd,bjhd->bhij",
    ),
    "einsum of heads side by side in a batch": layer(
        "Einsum", (floats(2, 5, 3, 16), floats(2, 7, 3, 16)), floats(2, 3, 5, 7),
        equation="bihd,bjhd->bhij",
    ),
    "einsum to heads side by side": layer(
        "Einsum", (floats(2, 3, 5, 8), floats(2, 8, 3, 16)), floats(2, 5, 3, 16),
        equation="bhij,bjhd->bihd",
    ),
    "einsum to a number": layer(
        "Einsum", (floats(3, 4), floats(3, 4)), floats(), equation="ij,ij->"
    ),
    "einsum of more pairs than rows": layer(
        "Einsum", (floats(8, 16, 7), weights(16, 9)), floats(8, 7, 9), equation="bcs,co->bso"
    ),
    "einsum of a matrix for each column": layer(
        "Einsum", (floats(3, 4), floats(4, 2)), floats(3, 2, 4), equation="ij,jk->ikj"
    ),
    "einsum of blocks": layer(
        "Einsum", (floats(6, 4, 8), weights(4, 8, 16)), floats(6, 4, 16), equation="bgi,gio->bgo",
    ),
    "einsum of rows with their own": layer(
        "Einsum", (floats(2, 3, 5, 4, 8), weights(5, 7, 8)), floats(2, 3, 5, 4, 7),
        equation="byhwc,hkc->byhwk",
    ),
    "einsum of columns with their own": layer(
        "Einsum", (floats(2, 3, 5, 4, 8), floats(4, 7, 8)), floats(2, 3, 5, 4, 7),
        equation="byhwc,wkc->byhwk",
    ),
    "einsum of an order": layer(
        "Einsum", (floats(3, 5, 16),), floats(16, 3, 5), equation="abc -> cab"
    ),
    "matmul of one and many": layer(
        "MatMul", (floats(5, 16), floats(3, 16, 8)), floats(3, 5, 8)
    ),
    "matmul of many and fewer": layer(
        "MatMul", (floats(2, 3, 5, 16), floats(2, 1, 16, 8)), floats(2, 3, 5, 8)
    ),
    "matmul of many and the same": layer(
        "MatMul", (floats(2, 3, 5, 16), weights(3, 16, 8)), floats(2, 3, 5, 8)
    ),
    "matmul of many and one": layer(
        "MatMul", (floats(2, 3, 5, 16), floats(1, 16, 8)), floats(2, 3, 5, 8)
    ),
    "matrix and vector": layer("MatMul", (floats(3, 5, 16), floats(16)), floats(3, 5)),
    "vector and matrix": layer("MatMul", (floats(16), weights(16, 8)), floats(8)),
    "vector and matrices": layer("MatMul", (floats(16), floats(3, 16, 8)), floats(3, 8)),
    "vector and vector": layer("MatMul", (floats(16), weights(16)), floats()),
    "gemm + matrix": layer(
        "Gemm", (floats(5, 24), weights(24, 16), floats(5, 16)), floats(5, 16), beta=0.5
    ),
    "gemm + column": layer(
        "Gemm", (floats(5, 24), weights(24, 16), weights(5, 1)), floats(5, 16), beta=2.0
    ),
    "gemm + computed row": layer(
        "Gemm", (floats(5, 24), weights(24, 16), floats(16)), floats(5, 16)
    ),
    "gemm with a factor for no matrix, and a residual": gemm_and_residual(beta=0.5),
    "gemm without its matrix, and a residual": gemm_and_residual(weights(16), beta=0.0),
} | OF_BYTES  # fmt: skip
