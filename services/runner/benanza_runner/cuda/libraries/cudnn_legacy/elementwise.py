"""Single element-wise operators, as the 2020 paper times them.

Names and numbers are those of `cudnn_ops.h` of cuDNN 9.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import NamedTuple

from benanza_runner.cuda.calls import Elementwise
from benanza_runner.cuda.candidate import Candidate, Run, no_scratch, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.libraries.cudnn_legacy.library import (
    DATA_TYPE,
    LIBRARY,
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    Descriptor,
    address,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant

ACTIVATIONS = {"Sigmoid": 0, "Relu": 1, "Tanh": 2}


class Combination(NamedTuple):
    """A number of `cudnnOpTensorOp_t`, and the factors of both operands."""

    number: int
    first: float = 1.0
    second: float = 1.0


COMBINATIONS = {
    "Add": Combination(0),
    "Sum": Combination(0),
    "Sub": Combination(0, second=-1.0),
    "Mul": Combination(1),
    "Min": Combination(2),
    "Max": Combination(3),
}
NO_NAN, SPATIAL = 0, 1
EPSILON = 1e-5
FEWEST_AXES, MOST_AXES = 4, 5

Start = Callable[[Workspace, Elementwise, Order, DeviceTensor], Run]
"""What starts a call: given its memory, the order of axes, and the result."""


class CudnnElementwise:
    """Candidates for activations, batch normalisations, and what combines two tensors."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One call, or one for each layout where an operand is repeated."""
        call = workspace.call
        if not isinstance(call, Elementwise):
            return
        way = self._way(call)
        if way is None or call.element or any(operand.element for operand in call.operands):
            return
        function, start = way
        rank = len(call.output)
        layouts = [("", tuple(range(rank)))]
        if rank >= 3 and any(prod(o.shape) != prod(call.output) for o in call.operands):
            layouts = list(workspace.layouts(rank))
        for layout, order in layouts:
            result = workspace.result(call.output, order)
            try:
                if rank > MOST_AXES:
                    raise UnsupportedError(f"it takes at most {MOST_AXES} axes")
                run = start(workspace, call, order, result)
                yield Candidate(LIBRARY, function, layout, no_scratch, run, result)
            except (CudnnError, UnsupportedError) as error:
                yield refused(LIBRARY, function, layout, error)

    def _way(self, call: Elementwise) -> tuple[str, Start] | None:
        """The name of the function that runs the operator, and what makes its call."""
        if call.operator in ACTIVATIONS:
            return "cudnnActivationForward", self._activation
        if call.operator == "BatchNormalization":
            return "cudnnBatchNormalizationForwardInference", self._normalisation
        if call.operator in COMBINATIONS and len(call.operands) <= 2:
            return "cudnnOpTensor", self._combination
        return None

    def _activation(
        self, workspace: Workspace, call: Elementwise, order: Order, result: DeviceTensor
    ) -> Run:
        function = Descriptor(self._cudnn, "Activation").set(
            "Activation", ACTIVATIONS[call.operator], NO_NAN, ctypes.c_double(0.0)
        )
        x, tensor = workspace.operand("in0", order), self._tensor(result)
        read, written = x, result
        return partial(
            self._cudnn.run,
            "cudnnActivationForward",
            function,
            ONE,
            tensor,
            read,
            ZERO,
            tensor,
            written,
        )

    def _combination(
        self, workspace: Workspace, call: Elementwise, order: Order, result: DeviceTensor
    ) -> Run:
        number, *factors = COMBINATIONS[call.operator]
        combination = Descriptor(self._cudnn, "OpTensor").set(
            "OpTensor", number, DATA_TYPE["fp32"], NO_NAN
        )
        last = len(call.operands) - 1
        operands = []
        for place, factor in zip((0, last), factors, strict=True):
            shape = call.operands[place].shape
            full = (1,) * (len(call.output) - len(shape)) + shape
            operands.append((workspace.expanded(f"in{place}", full, order), factor))
        # The first has the result's shape; the second may be repeated.
        if operands[0][0].shape != call.output:
            operands.reverse()
        if operands[0][0].shape != call.output:
            raise UnsupportedError("one operand has to be as large as the result")
        scaled = [
            argument
            for tensor, factor in (*operands, (result, 0.0))
            for argument in (
                ctypes.byref(ctypes.c_float(factor)),
                self._tensor(tensor),
                tensor,
            )
        ]
        return partial(self._cudnn.run, "cudnnOpTensor", combination, *scaled)

    def _normalisation(
        self, workspace: Workspace, call: Elementwise, order: Order, result: DeviceTensor
    ) -> Run:
        """The call's factor and shift, given as those of a variance of one and a mean of zero."""
        channels = call.output[1]
        scale, shift = (
            workspace.operand(name).floats().reshape(-1).repeat(channels // operand.shape[0])
            for name, operand in (("in0", call.operands[0]), ("in1", call.operands[1]))
        )
        mean, variance = scale * 0, scale * 0 + (1 - EPSILON)
        x, tensor = workspace.operand("in2", order), self._tensor(result)
        ones = (1,) * (max(FEWEST_AXES, len(call.output)) - 2)
        by_channel = self._cudnn.tensor("fp32", (1, channels, *ones), (channels, 1, *ones))
        vectors = [scale, shift, mean, variance]

        def run() -> None:
            self._cudnn.run(
                "cudnnBatchNormalizationForwardInference",
                SPATIAL,
                ONE,
                ZERO,
                tensor,
                x,
                tensor,
                result,
                by_channel,
                # These closures keep the vectors' memory.
                *(address(int(vector.data.ptr)) for vector in vectors),
                ctypes.c_double(EPSILON),
            )

        return run

    def _tensor(self, tensor: DeviceTensor) -> Descriptor:
        """The descriptor of a tensor, which has at least four axes for cuDNN."""
        more = (1,) * (FEWEST_AXES - len(tensor.shape))
        return self._cudnn.tensor(tensor.precision, tensor.shape + more, tensor.strides + more)
