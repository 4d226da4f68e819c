"""What ONNX Runtime fuses in diffusion models."""

from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.layers import floats, single, weights

DOMAIN = "com.microsoft"
MAP, FIRST = (2, 5, 7, 16), (2, 16, 5, 7)


def group_norm(
    shape: tuple[int, ...], *added: Tensor, results: int = 1, **more: AttributeValue
) -> Layer:
    """GroupNorm of 16 channels; with what is added, SkipGroupNorm."""
    x, vector = floats(*shape), weights(16)
    name = "SkipGroupNorm" if added else "GroupNorm"
    inputs = (x, vector, vector, *added)
    return single(name, 1, inputs, (x,) * results, DOMAIN, groups=4, **more)


def softmax_of_sum(bias: tuple[int, ...], axis: int = -1) -> Layer:
    """BiasSoftmax of scores of three heads."""
    x = floats(2, 3, 5, 9)
    inputs = (x, floats(*bias))
    return single("BiasSoftmax", 1, inputs, (x,), DOMAIN, axis=axis, is_inner_broadcast=1)


DIFFUSION = {
    "group norm": group_norm(MAP, activation=0),
    "group norm with swish": group_norm(MAP, activation=1),
    "group norm, channels first": group_norm(FIRST, activation=1, channels_last=0),
    "skip group norm": group_norm(MAP, floats(2, 16), results=2, activation=1),
    "skip group norm of a map": group_norm(MAP, floats(*MAP), weights(16), results=2, activation=0),
    "bias and skip": single(
        "BiasAdd", 1, (floats(2, 9, 16), weights(16), floats(2, 9, 16)), (floats(2, 9, 16),), DOMAIN
    ),
    "bias, split and gelu": single(
        "BiasSplitGelu", 1, (floats(2, 9, 32), weights(32)), (floats(2, 9, 16),), DOMAIN
    ),
    "softmax of a sum": softmax_of_sum((2, 1, 1, 9)),
}
