"""Layers for the tests of the runner."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import Attribute, AttributeValue, Layer, Operator, Tensor


def operator(
    op_type: str,
    version: int,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    domain: str = "",
    **attributes: AttributeValue,
) -> Operator:
    """An operator, with its attributes sorted as layers have them."""
    sorted_attributes = tuple(Attribute(name, attributes[name]) for name in sorted(attributes))
    return Operator(op_type, domain, version, sorted_attributes, inputs, outputs)


def single(
    op_type: str,
    version: int,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    domain: str = "",
    **attributes: AttributeValue,
) -> Layer:
    """A layer of one operator which reads and writes these tensors in order."""
    read = tuple(range(len(inputs)))
    written = tuple(range(len(inputs), len(inputs) + len(outputs)))
    node = operator(op_type, version, read, written, domain, **attributes)
    return canonical(Layer(tensors=(*inputs, *outputs), operators=(node,), outputs=written))


def floats(*shape: int) -> Tensor:
    """A tensor that a model computes."""
    return Tensor("float32", shape)


def weights(*shape: int) -> Tensor:
    """A tensor that a model learns."""
    return Tensor("float32", shape, constant=True)


def relu(elements: int) -> Layer:
    """A Relu over a vector."""
    return single("Relu", 6, (floats(elements),), (floats(elements),))


def conv(channels: int, size: int, kernel: int = 3) -> Layer:
    """A convolution that keeps the shape, of a square feature map."""
    x = floats(1, channels, size, size)
    kernels = weights(channels, channels, kernel, kernel)
    pad = kernel // 2
    return single("Conv", 1, (x, kernels), (x,), kernel_shape=(kernel, kernel), pads=(pad,) * 4)


def gemm(rows: int, inner: int, columns: int) -> Layer:
    """A fully connected layer with its bias."""
    inputs = (floats(rows, inner), weights(columns, inner), weights(columns))
    return single("Gemm", 9, inputs, (floats(rows, columns),), transB=1)


def conv_group(channels: int, size: int, *rest: str) -> Layer:
    """A convolution followed by BatchNormalization, Add (of another tensor) or Relu."""
    x = floats(1, channels, size, size)
    tensors = [x, weights(channels, channels, 3, 3), x]
    operators = [operator("Conv", 1, (0, 1), (2,), kernel_shape=(3, 3), pads=(1, 1, 1, 1))]
    for op_type in rest:
        before = len(tensors) - 1
        if op_type == "BatchNormalization":
            more = [weights(channels)] * 4
        else:
            more = [x] if op_type == "Add" else []
        tensors += [*more, x]
        inputs = (before, *range(before + 1, before + 1 + len(more)))
        version = {"BatchNormalization": 9, "Add": 7, "Relu": 6}[op_type]
        operators.append(operator(op_type, version, inputs, (len(tensors) - 1,)))
    return canonical(
        Layer(tensors=tuple(tensors), operators=tuple(operators), outputs=(len(tensors) - 1,))
    )
