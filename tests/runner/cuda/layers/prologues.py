"""Convolutions with what comes before them: scales and shifts by channel, and a Relu."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Operator, Tensor
from tests.runner.layers import floats, operator, weights

VERSIONS = {"BatchNormalization": 9, "Add": 7, "Sub": 7, "Mul": 7, "Div": 7, "Relu": 6}
NORMALISED = ("BatchNormalization", "Relu")


def prepared(
    *operators: str,
    x: tuple[int, ...] = (2, 16, 9, 9),
    kernel: tuple[int, ...] = (32, 16, 1, 1),
    pad: int = 0,
    group: int = 1,
) -> Layer:
    """A convolution among other operators, of which an Add after it adds an input, and one before
    it a weight. The result has the size that the pads leave.
    """
    space = tuple(n + 2 * pad - k + 1 for n, k in zip(x[2:], kernel[2:], strict=True))
    result = (x[0], kernel[0], *space)
    tensors: list[Tensor] = [floats(*x)]
    nodes: list[Operator] = []
    value, shape = 0, x
    for op_type in operators:
        attributes: dict[str, AttributeValue] = {}
        if op_type == "Conv":
            more, shape = [weights(*kernel), weights(kernel[0])], result
            attributes = {"group": group, "pads": (pad,) * (2 * len(space))}
        elif op_type == "BatchNormalization":
            more = [weights(shape[1])] * 4
        elif op_type == "Add" and any(node.op_type == "Conv" for node in nodes):
            more = [floats(*shape)]
        else:
            more = [] if op_type == "Relu" else [weights(shape[1], *(1,) * len(space))]
        read = (value, *range(len(tensors), len(tensors) + len(more)))
        tensors += [*more, floats(*shape)]
        value = len(tensors) - 1
        version = VERSIONS.get(op_type, 1)
        nodes.append(operator(op_type, version, read, (value,), "", **attributes))
    return canonical(Layer(tuple(tensors), tuple(nodes), (value,)))


DENSE = ("BatchNormalization", "Mul", "Add", "Relu")

FOLDED: dict[str, Layer] = {
    "batch norm + conv": prepared("BatchNormalization", "Conv"),
    "batch norm + conv + batch norm + relu": prepared(
        "BatchNormalization", "Conv", *NORMALISED, kernel=(32, 16, 3, 3)
    ),
    "batch norm + conv in groups": prepared(
        "BatchNormalization", "Conv", kernel=(32, 4, 3, 3), group=4
    ),
    "mul + conv with pads": prepared("Mul", "Conv", kernel=(32, 16, 3, 3), pad=1),
    "sub + div + conv of one axis": prepared(
        "Sub", "Div", "Conv", x=(2, 16, 9), kernel=(32, 16, 3)
    ),
}
"""Those that the filter and the bias of an ordinary convolution take in."""

PROLOGUES: dict[str, Layer] = {
    "densenet's conv 1x1": prepared(*DENSE, "Conv", *NORMALISED, kernel=(64, 16, 1, 1)),
    "batch norm + relu + conv": prepared(*NORMALISED, "Conv"),
    "batch norm + relu + conv with pads": prepared(
        *NORMALISED, "Conv", kernel=(32, 16, 3, 3), pad=1
    ),
    "batch norm + conv with pads": prepared(
        "BatchNormalization", "Conv", kernel=(32, 16, 3, 3), pad=1
    ),
    "relu + conv": prepared("Relu", "Conv", kernel=(32, 16, 3, 3), pad=1),
    "batch norm + relu + conv + residual + relu": prepared(
        *NORMALISED, "Conv", "Add", "Relu", kernel=(32, 16, 3, 3), pad=1
    ),
    "batch norm + relu + conv in groups": prepared(
        *NORMALISED, "Conv", kernel=(32, 4, 3, 3), pad=1, group=4
    ),
    "batch norm + relu + conv of one axis": prepared(
        *NORMALISED, "Conv", x=(2, 16, 9), kernel=(32, 16, 3), pad=1
    ),
}
"""Those that are computed while the input is read."""
