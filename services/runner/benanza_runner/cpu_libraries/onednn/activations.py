"""Functions of one value as oneDNN has them."""

from math import isfinite

from benanza_runner.cpu_libraries.onednn.attributes import Applied, Function
from benanza_runner.cuda.unsupported import UnsupportedError

LARGEST = 3.4e38

FUNCTIONS = {
    "Abs": Applied(Function.ABS),
    "Exp": Applied(Function.EXP),
    "Gelu": Applied(Function.GELU_ERF),
    "GeluTanh": Applied(Function.GELU_TANH),
    "Log": Applied(Function.LOG),
    "Mish": Applied(Function.MISH),
    "Neg": Applied(Function.LINEAR, -1.0),
    "Reciprocal": Applied(Function.POW, 1.0, -1.0),
    "Relu": Applied(Function.RELU),
    "Round": Applied(Function.ROUND),
    "Sigmoid": Applied(Function.LOGISTIC),
    "Softplus": Applied(Function.SOFT_RELU, 1.0),
    "Sqrt": Applied(Function.SQRT),
    "Tanh": Applied(Function.TANH),
}
"""By ONNX's names, and `GeluTanh` for the approximation."""

_OF_ONE_NUMBER = {
    "Elu": Function.ELU,
    "LeakyRelu": Function.RELU,
    "Swish": Function.SWISH,
}
_OF_TWO_NUMBERS = {
    "Clip": Function.CLIP,
    "HardSigmoid": Function.HARDSIGMOID,
    "HardSwish": Function.HARDSWISH,
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
        return Applied(Function.ELU, alpha), Applied(Function.LINEAR, gamma)
    raise UnsupportedError(f"oneDNN has no {name}")


def _limited(number: float) -> float:
    return number if isfinite(number) else (LARGEST if number > 0 else -LARGEST)
