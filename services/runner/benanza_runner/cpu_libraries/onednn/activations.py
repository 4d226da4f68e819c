"""Functions of one value as oneDNN has them."""

from math import isfinite

from benanza_runner.cpu_libraries.onednn.attributes import Applied, ValueFunction
from benanza_runner.cuda.unsupported import UnsupportedError

LARGEST = 3.4e38

FUNCTIONS = {
    "Abs": Applied(ValueFunction.ABS),
    "Exp": Applied(ValueFunction.EXP),
    "Gelu": Applied(ValueFunction.GELU_ERF),
    "GeluTanh": Applied(ValueFunction.GELU_TANH),
    "Log": Applied(ValueFunction.LOG),
    "Mish": Applied(ValueFunction.MISH),
    "Neg": Applied(ValueFunction.LINEAR, -1.0),
    "Reciprocal": Applied(ValueFunction.POW, 1.0, -1.0),
    "Relu": Applied(ValueFunction.RELU),
    "Round": Applied(ValueFunction.ROUND),
    "Sigmoid": Applied(ValueFunction.LOGISTIC),
    "Softplus": Applied(ValueFunction.SOFT_RELU, 1.0),
    "Sqrt": Applied(ValueFunction.SQRT),
    "Tanh": Applied(ValueFunction.TANH),
}
"""By ONNX's names, and `GeluTanh` for the approximation."""

_OF_ONE_NUMBER = {
    "Elu": ValueFunction.ELU,
    "LeakyRelu": ValueFunction.RELU,
    "Swish": ValueFunction.SWISH,
}
_OF_TWO_NUMBERS = {
    "Clip": ValueFunction.CLIP,
    "HardSigmoid": ValueFunction.HARDSIGMOID,
    "HardSwish": ValueFunction.HARDSWISH,
}


def functions(name: str, numbers: tuple[float, ...]) -> tuple[Applied, ...]:
    """What an activation is, one after the other; its numbers are as in `lowering/products`.

    Raises `UnsupportedError` if oneDNN has no such function.
    """
    if not name:
        return ()
    if name in FUNCTIONS:
        return (FUNCTIONS[name],)
    if name in _OF_ONE_NUMBER:
        return (Applied(_OF_ONE_NUMBER[name], *numbers),)
    if name in _OF_TWO_NUMBERS:
        return (Applied(_OF_TWO_NUMBERS[name], *map(_limited, numbers)),)
    if name == "Selu":
        alpha, gamma = numbers
        return Applied(ValueFunction.ELU, alpha), Applied(ValueFunction.LINEAR, gamma)
    raise UnsupportedError(f"oneDNN has no {name}")


def _limited(number: float) -> float:
    return number if isfinite(number) else (LARGEST if number > 0 else -LARGEST)
