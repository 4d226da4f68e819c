"""Operators whose expressions NumPy and PyTorch share, but for the names of functions.

An expression reads `{0}`, `{1}`, … for inputs. Floats are of float32 throughout.
"""

from collections.abc import Callable, Mapping
from math import sqrt

from benanza.tasks.references.operation import NoReferenceError, ReferredOperation

Expression = Callable[[ReferredOperation], str]

ARITHMETIC: Mapping[str, str] = {
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Div": "{0} / {1}",
    "Neg": "-{0}",
    "Identity": "{0}",
    "Dropout": "{0}",
    "Reciprocal": "1 / {0}",
    "Equal": "{0} == {1}",
    "Greater": "{0} > {1}",
    "GreaterOrEqual": "{0} >= {1}",
    "Less": "{0} < {1}",
    "LessOrEqual": "{0} <= {1}",
    "And": "{0} & {1}",
    "Or": "{0} | {1}",
    "Not": "~{0}",
    "MatMul": "{0} @ {1}",
}


def plain(template: str) -> Expression:
    """The template with the names of all inputs."""
    return lambda operation: template.format(*operation.names)


def summed(operation: ReferredOperation) -> str:
    """The sum of any number of inputs."""
    return " + ".join(operation.names)


def divided(operation: ReferredOperation) -> str:
    """Integers are rounded to zero, which the signs here forbid to differ."""
    whole = "int" in operation.out_dtype()
    return f"{operation.names[0]} {'//' if whole else '/'} {operation.names[1]}"


def reshaped(operation: ReferredOperation) -> str:
    """Whatever changes the shape alone."""
    return f"{operation.names[0]}.reshape({operation.out_shape()})"


def sliced(operation: ReferredOperation) -> str:
    """A Slice whose ends the model fixes."""
    starts, ends = operation.known(1, "starts"), operation.known(2, "ends")
    if starts is None or ends is None:
        raise NoReferenceError("Slice has no ends")
    rank = len(operation.shape())
    axes = operation.known(3, "axes") or list(range(len(starts)))
    steps = operation.known(4, "steps") or [1] * len(starts)
    parts = [":"] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = operation.shape()[axis]
        places = range(*slice(start, end, step).indices(size))
        if step < 0:
            raise NoReferenceError("Slice goes backwards")
        parts[axis % rank] = f"{places.start}:{places.stop}:{step}"
    return f"{operation.names[0]}[{', '.join(parts)}]"


def split(operation: ReferredOperation) -> str:
    """The parts of a Split, as a tuple."""
    axis = operation.operator.integer("axis", 0) % len(operation.shape())
    parts, start = [], 0
    for slot in range(len(operation.operator.outputs)):
        end = start + operation.out_shape(slot)[axis]
        parts.append(f"{operation.names[0]}[{':, ' * axis}{start}:{end}]")
        start = end
    return f"({', '.join(parts)},)"


def shifted(
    expression: str, operation: ReferredOperation, scale: int, bias: int, *, axis: int
) -> str:
    """Times a scale and plus a bias, each along one axis of the first input or behind it."""
    rank = len(operation.shape())

    def along(slot: int) -> str:
        shape = operation.shape(slot)
        wanted = (1,) * axis + shape + (1,) * (rank - axis - len(shape))
        return (
            operation.names[slot] if wanted == shape else f"{operation.names[slot]}.reshape{wanted}"
        )

    if operation.has(scale):
        expression = f"{expression} * {along(scale)}"
    return f"{expression} + {along(bias)}" if operation.has(bias) else expression


def convolved(operation: ReferredOperation) -> str:
    """A convolution with its bias."""
    at = operation.windows(operation.shape(1)[2:])
    groups = operation.operator.integer("group", 1)
    x, w = operation.names[:2]
    found = f"convolution({x}, {w}, {at.strides}, {at.dilations}, {at.pads}, {groups})"
    return shifted(found, operation, len(operation.names), 2, axis=1)


def pooled_greatest(operation: ReferredOperation) -> str:
    """A MaxPool."""
    at = operation.windows(operation.operator.integers("kernel_shape"))
    x = operation.names[0]
    return f"greatest_pool({x}, {at.kernel}, {at.strides}, {at.dilations}, {at.pads})"


def pooled_average(operation: ReferredOperation) -> str:
    """An AveragePool."""
    at = operation.windows(operation.operator.integers("kernel_shape"))
    all_count = operation.operator.integer("count_include_pad", 0)
    counted = at.counted if all_count else [(0, 0)] * len(at.counted)
    x = operation.names[0]
    return f"average_pool({x}, {at.kernel}, {at.strides}, {at.dilations}, {at.pads}, {counted})"


def general_product(operation: ReferredOperation) -> str:
    """A Gemm."""
    operator = operation.operator
    a, b = (
        f"{name}.T" if operator.integer(attribute) else name
        for name, attribute in zip(operation.names, ("transA", "transB"), strict=False)
    )
    alpha, beta = operator.number("alpha", 1.0), operator.number("beta", 1.0)
    product = f"{a} @ {b}" if alpha == 1.0 else f"{alpha!r} * ({a} @ {b})"
    if not operation.has(2):
        return product
    c = operation.names[2]
    return f"{product} + {c}" if beta == 1.0 else f"{product} + {beta!r} * {c}"


def layer_normalised(operation: ReferredOperation) -> str:
    """A LayerNormalization, of which the first result alone is known."""
    rank = len(operation.shape())
    axis = operation.operator.integer("axis", -1) % rank
    epsilon = operation.operator.number("epsilon", 1e-5)
    found = f"normalised({operation.names[0]}, {tuple(range(axis, rank))}, {epsilon!r})"
    return shifted(found, operation, 1, 2, axis=axis)


def channel_axis(operation: ReferredOperation) -> int:
    """The axis of a BatchNormalization's channels: the second, or in a group with a product the
    last, where the group leaves out the view that made it the second.
    """
    shape, channels = operation.shape(), operation.shape(1)
    multiplied = any(each.op_type == "MatMul" for each in operation.layer.operators)
    axes = {1, len(shape) - 1} if multiplied else {1}
    found = [axis for axis in sorted(axes) if shape[axis : axis + 1] == channels]
    if len(found) != 1:
        raise NoReferenceError("BatchNormalization doesn't say which axis its channels are")
    return found[0]


def instance_normalised(operation: ReferredOperation) -> str:
    """An InstanceNormalization."""
    axes = tuple(range(2, len(operation.shape())))
    epsilon = operation.operator.number("epsilon", 1e-5)
    found = f"normalised({operation.names[0]}, {axes}, {epsilon!r})"
    return shifted(found, operation, 1, 2, axis=1)


def softmax_axis(operation: ReferredOperation) -> int:
    """The axis of a Softmax. Raises `NoReferenceError` for an older one of several axes."""
    rank = len(operation.shape())
    old = operation.operator.version < 13
    axis = operation.operator.integer("axis", 1 if old else -1) % rank
    if old and any(size != 1 for size in operation.shape()[axis + 1 :]):
        raise NoReferenceError("Softmax of before opset 13 is over several axes")
    return axis


def attended(operation: ReferredOperation) -> str:
    """An Attention without a cache over operands of four axes."""
    operator = operation.operator
    if any(operation.has(slot) for slot in (4, 5, 6)) or operator.number("softcap", 0.0):
        raise NoReferenceError("Attention has a cache, or a cap on its scores")
    if any(len(operation.shape(slot)) != 4 for slot in range(3)):
        raise NoReferenceError("Attention has its heads side by side")
    scale = operator.number("scale", 1 / sqrt(operation.shape()[-1]))
    mask = operation.names[3] if operation.has(3) else "None"
    causal = bool(operator.integer("is_causal"))
    return f"attention({', '.join(operation.names[:3])}, {mask}, {scale!r}, {causal})"


SHARED: Mapping[str, Expression] = {
    **{name: plain(template) for name, template in ARITHMETIC.items()},
    "Div": divided,
    "Sum": summed,
    "Reshape": reshaped,
    "Flatten": reshaped,
    "Squeeze": reshaped,
    "Unsqueeze": reshaped,
    "Slice": sliced,
    "Split": split,
    "Attention": attended,
    "Conv": convolved,
    "MaxPool": pooled_greatest,
    "AveragePool": pooled_average,
    "Gemm": general_product,
    "LayerNormalization": layer_normalised,
    "InstanceNormalization": instance_normalised,
}
