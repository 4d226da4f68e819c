"""Convolutions and products of 8-bit integers or floats, scaled: quantised ones."""

import msgspec

from benanza_runner.cuda.calls.compute import Convolution, EightBitProduct
from benanza_runner.cuda.calls.shape import Shape
from benanza_runner.cuda.elements import FLOAT8

CHANNELS = 16
"""Of an image, whose channels are no multiple of it, as many more are read: Tensor Cores do so."""


class Quantised(msgspec.Struct, frozen=True):
    """`step · activation(scale · sums + bias + factor · residual)`.

    `sums` are of products of 8-bit integers without zero points, in int32; their operands are those
    of that call, an input of `input_element` and weights in int8. If `input_element` is
    float8e4m3fn, so are the weights, and sums are float32. `scale` and `bias` have a float32 for
    each channel of the output or column of the result. `residual`, if there is one, is of
    `residual_element` and lies as the result does. `element` is the type of the result's elements:
    an integer or float8 is the nearest one, ties to even, in the type's range; an empty name is a
    float of the precision.
    """

    sums: Convolution | EightBitProduct
    input_element: str = "int8"
    element: str = ""
    residual: bool = False
    residual_element: str = ""
    factor: float = 1.0
    activation: str = ""
    numbers: tuple[float, ...] = ()
    step: float = 1.0

    @property
    def of_float8(self) -> bool:
        """Whether it multiplies float8, and sums are floats."""
        return self.input_element == FLOAT8

    @property
    def output(self) -> Shape:
        """The shape of the result."""
        return self.sums.output
