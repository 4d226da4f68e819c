"""A convolution, alone or with what follows it, as one call."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.epilogue import Epilogue
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.windows import windows
from benanza_schemas.layer import Layer

Array = npt.NDArray[Any]
Lowering = tuple[Convolution, dict[str, Array], frozenset[str]]


def lower_convolution(layer: Layer, values: Mapping[int, Array]) -> Lowering:
    """The call, its operands, and the names of those that are weights.

    Raises `UnsupportedError`.
    """
    operator = layer.operators[0]
    image = layer.tensors[operator.inputs[0]].shape
    kernel = layer.tensors[operator.inputs[1]]
    output = layer.tensors[operator.outputs[0]].shape
    if len(image) not in (4, 5):
        raise UnsupportedError(f"convolutions of {len(image) - 2} axes of space are not done yet")
    if not kernel.constant and len(layer.operators) > 1:
        raise UnsupportedError("a convolution whose filter is no weight is not fused")
    epilogue = Epilogue(layer, values, channels=kernel.shape[0], axis=1)
    if len(operator.inputs) > 2:
        epilogue.add(values[operator.inputs[2]])
    epilogue.follow()
    moves = windows(operator, image, kernel.shape[2:], output)
    filters = values[operator.inputs[1]].astype(np.float64)
    filters = filters * epilogue.scale.reshape(-1, *(1,) * (len(image) - 1))
    operands: dict[str, Array] = {
        "image": values[operator.inputs[0]],
        "filter": filters.astype(np.float32),
    }
    call = Convolution(
        image=image,
        filter=kernel.shape,
        output=output,
        strides=moves.strides,
        dilations=moves.dilations,
        pads_before=moves.pads_before,
        pads_after=moves.pads_after,
        bias=epilogue.has_bias,
        residual=epilogue.residual is not None,
        activation=epilogue.activation,
    )
    return call, operands | epilogue.operands(), frozenset(("filter", "bias"))
