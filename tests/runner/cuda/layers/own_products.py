"""Products with more in one operator: ONNX Runtime's FusedConv, FusedGemm and FusedMatMul."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer
from tests.runner.layers import floats, operator, single, weights

DOMAIN = "com.microsoft"
MAPS = (2, 16, 6, 6)


def fused_conv(
    activation: str = "",
    *params: float,
    bias: bool = True,
    added: bool = False,
    group: int = 1,
) -> Layer:
    """FusedConv of 3×3 that keeps the shape."""
    inputs = [floats(*MAPS), weights(16, 16 // group, 3, 3)]
    inputs += [weights(16)] if bias else []
    inputs += [floats(*MAPS)] if added else []
    places = (0, 1, *((2,) if bias else (-1,)), *((len(inputs) - 1,) if added else ()))
    kinds: dict[str, AttributeValue] = {"activation": activation} if activation else {}
    kinds |= {"activation_params": params} if params else {}
    kinds |= {"group": group, "kernel_shape": (3, 3), "pads": (1, 1, 1, 1)}
    written = (len(inputs),)
    node = operator("FusedConv", 1, places if bias or added else (0, 1), written, DOMAIN, **kinds)
    return canonical(Layer((*inputs, floats(*MAPS)), (node,), written))


def fused_gemm(activation: str, *, third: bool = True, **more: AttributeValue) -> Layer:
    """FusedGemm with weights that lie by column."""
    inputs = (floats(24, 32), weights(16, 32), *([weights(16)] if third else []))
    return single(
        "FusedGemm",
        1,
        inputs,
        (floats(24, 16),),
        DOMAIN,
        transB=1,
        activation=activation,
        **more,
    )


def fused_product(
    a: tuple[int, ...], b: tuple[int, ...], y: tuple[int, ...], **more: AttributeValue
) -> Layer:
    """FusedMatMul of two computed tensors."""
    return single("FusedMatMul", 1, (floats(*a), floats(*b)), (floats(*y),), DOMAIN, **more)


FUSED_PRODUCTS = {
    "fused conv": fused_conv(),
    "fused conv with relu": fused_conv("Relu"),
    "fused conv with relu, without bias": fused_conv("Relu", bias=False),
    "fused conv of groups with relu": fused_conv("Relu", group=4),
    "fused depth-wise conv with relu": fused_conv("Relu", group=16),
    "fused conv with a sum and relu": fused_conv("Relu", added=True),
    "fused conv with a sum": fused_conv(added=True, bias=False),
    "fused gemm with relu": fused_gemm("Relu", alpha=0.5, beta=2.0),
    "fused gemm of two with relu": fused_gemm("Relu", third=False),
    "fused product, scaled": fused_product((2, 9, 16), (2, 16, 7), (2, 9, 7), alpha=0.25),
    "fused product of scores": fused_product(
        (2, 3, 9, 16), (2, 3, 7, 16), (2, 3, 9, 7), alpha=0.25, transB=1
    ),
    "fused product, both transposed": fused_product(
        (2, 16, 9), (2, 7, 16), (2, 9, 7), transA=1, transB=1
    ),
    "fused product, rows before batches": fused_product(
        (9, 2, 3, 16), (7, 2, 3, 16), (2, 3, 9, 7), transBatchA=1, transBatchB=1, transB=1
    ),
    "fused product of matrices": fused_product((16, 9), (16, 7), (9, 7), alpha=0.5, transA=1),
    "fused product of a vector": fused_product((16,), (16, 7), (7,), alpha=3.0, transA=1),
    "fused product with weights": single(
        "FusedMatMul",
        1,
        (floats(2, 9, 16), weights(24, 16)),
        (floats(2, 9, 24),),
        DOMAIN,
        alpha=0.125,
        transB=1,
    ),
    "transposed product": single(
        "TransposeMatMul", 1, (floats(9, 16), floats(7, 16)), (floats(9, 7),), DOMAIN, transB=1
    ),
}

ACTIVATED = {
    "fused conv with clip": fused_conv("Clip", -0.25, 0.75),
    "fused conv with hard sigmoid": fused_conv("HardSigmoid", 0.25, 0.625),
    "fused conv with hard swish": fused_conv("HardSwish"),
    "fused conv with leaky relu": fused_conv("LeakyRelu", 0.1),
    "fused conv with sigmoid": fused_conv("Sigmoid"),
    "fused conv with tanh and a sum": fused_conv("Tanh", added=True),
    "fused gemm with elu": fused_gemm("Elu", activation_alpha=0.5),
    "fused gemm with leaky relu": fused_gemm("LeakyRelu", activation_alpha=0.1),
    "fused gemm with selu": fused_gemm("Selu", activation_alpha=1.5, activation_gamma=1.25),
    "fused gemm with tanh": fused_gemm("Tanh"),
}
"""Those that libraries compute on Tensor Cores alone."""
