"""Activations of the last value of a cuDNN graph, as one or a few pointwise operations.

Sources: nvidia-cudnn-frontend 1.32. `cudnn/_pygraph.py` names the operations and their arguments;
its Elu has no alpha. `cudnn/gemm/ops/swiglu_mlp.py` multiplies products by numbers, and by
functions of themselves.
"""

from collections.abc import Callable
from typing import Any

from benanza_runner.cuda.calls import AnyConvolution, Product, Quantised
from benanza_runner.cuda.unsupported import UnsupportedError

_POINTWISE = {
    "Gelu": "gelu",
    "GeluTanh": "gelu_approx_tanh",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Tanh": "tanh",
}
"""Operations that take no numbers, by the names of activations."""


def activated(
    ir: Any,
    value: Any,
    call: AnyConvolution | Product | Quantised,
    operand: Callable[[str], Any],
    scalar: Callable[[float], Any],
) -> Any:
    """The value with the activation of a call, added to the frontend's graph.

    `operand` gives the tensor for an operand by channel, and `scalar` the one for a number.
    Raises `UnsupportedError` for an activation that these graphs lack.
    """
    name, numbers = call.activation, call.numbers
    if not name:
        return value
    if name in _POINTWISE:
        return getattr(ir, _POINTWISE[name])(value)
    match name:
        case "LeakyRelu":
            return ir.leaky_relu(value, negative_slope=numbers[0])
        case "Swish":
            return ir.swish(value, swish_beta=numbers[0])
        case "Clip":
            return ir.relu(value, lower_clip=numbers[0], upper_clip=numbers[1])
        case "HardSigmoid" | "HardSwish":
            line = ir.add(ir.mul(value, scalar(numbers[0])), scalar(numbers[1]))
            share = ir.relu(line, lower_clip=0.0, upper_clip=1.0)
            return share if name == "HardSigmoid" else ir.mul(value, share)
        case "Mish":
            return ir.mul(value, ir.tanh(ir.softplus(value)))
        case "Elu" if numbers == (1.0,):
            return ir.elu(value)
        case "Elu":
            return _bent(ir, value, ir.elu(value), scalar(numbers[0]))
        case "Selu":
            bent = _bent(ir, value, ir.elu(value), scalar(numbers[0]))
            return ir.mul(bent, scalar(numbers[1]))
        case "PRelu":
            return _bent(ir, value, value, operand("slope"))
    raise UnsupportedError(f"cuDNN's graph has no {name} here")


def _bent(ir: Any, value: Any, curve: Any, slope: Any) -> Any:
    """The value where it is positive, and elsewhere a slope times a curve.

    The curve is to equal the value where that is positive, so that their difference is zero there.
    """
    positive = ir.relu(value)
    return ir.add(positive, ir.mul(ir.sub(curve, positive), slope))
