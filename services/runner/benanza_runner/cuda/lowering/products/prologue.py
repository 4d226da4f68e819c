"""What comes before a convolution, folded: a scale and a shift by channel, then a Relu."""

from collections.abc import Mapping

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.lowering.affine import OPERATORS, Affine
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer


def has_prologue(layer: Layer) -> bool:
    """Whether a layer has a convolution with nothing before it but what may be its prologue."""
    types = [operator.op_type for operator in layer.operators]
    before = types[: types.index("Conv")] if "Conv" in types else []
    return bool(before) and OPERATORS.issuperset(set(before) - {"Relu"})


class Prologue:
    """`scale · input + shift` by channel, and then a Relu if `relu`.

    It is made of the operators before the convolution at this position of a layer, if any;
    `input` is the position of the tensor that goes in. `scale` and `shift` are in float64;
    `scales` says whether there is anything of them. Raises `UnsupportedError`.
    """

    def __init__(self, layer: Layer, values: Mapping[int, Array], convolution: int) -> None:
        self.input = _input(layer)
        shape = layer.tensors[self.input].shape
        affine = Affine(layer, values, shape, channels=shape[1], axis=1)
        self.scales = self.relu = False
        value = self.input
        for operator in layer.operators[:convolution]:
            if self.relu:
                raise UnsupportedError("nothing is fused between a Relu and a convolution")
            if value not in operator.inputs:
                raise UnsupportedError(f"no library runs {layer.title()} as one call")
            if operator.op_type == "Relu":
                self.relu = True
            else:
                affine.follow(operator, value)
                self.scales = True
            value = operator.outputs[0]
        if layer.operators[convolution].inputs[0] != value:
            raise UnsupportedError(f"no library runs {layer.title()} as one call")
        self.scale, self.shift, self._shifts = affine.scale, affine.shift, affine.shifts

    def folds(self, *, padded: bool) -> bool:
        """Whether the filter and the bias can do the scaling and shifting: where no Relu follows
        it, and the convolution pads no zeros, which the shift would have to leave out.
        """
        return self.scales and not self.relu and not (padded and self._shifts)

    def folded(self, filters: Array) -> tuple[Array, Array]:
        """A convolution's filter that scales, and what its result lacks then, by channel."""
        outputs, mine = filters.shape[:2]
        groups = self.scale.size // mine
        group = np.arange(outputs) * groups // outputs
        read = group[:, None] * mine + np.arange(mine)
        space = tuple(range(2, filters.ndim))
        wide = filters.astype(np.float64)
        added: Array = (wide.sum(space) * self.shift[read]).sum(1)
        return wide * np.expand_dims(self.scale[read], space), added


def _input(layer: Layer) -> int:
    """What the first operator reads that is no weight."""
    first = layer.operators[0]
    if first.op_type in OPERATORS - {"BatchNormalization"}:
        values = [index for index in first.inputs if not layer.tensors[index].constant]
        if len(values) != 1:
            raise UnsupportedError(f"no library runs {layer.title()} as one call")
        return values[0]
    return first.inputs[0]
