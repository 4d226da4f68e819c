"""Single element-wise operators through cuDNN's legacy API, as the 2020 paper times them.

Names and numbers are those of `cudnn_ops.h` of cuDNN 9.
"""

import ctypes
from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NamedTuple

from benanza_runner.cuda.calls import Elementwise, Operand
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.libraries.cudnn_library import (
    DATA_TYPE,
    ONE,
    ZERO,
    CudnnError,
    CudnnLibrary,
    Descriptor,
    address,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.variants import FailedVariant

LIBRARY = "cudnn-legacy"
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


class CudnnElementwise:
    """Candidates for activations, batch normalisations, and what combines two tensors."""

    library = LIBRARY

    def __init__(self, library: CudnnLibrary) -> None:
        self._cudnn = library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """One call, or one for each layout where an operand is repeated."""
        call = workspace.call
        if not isinstance(call, Elementwise):
            return
        way = self._way(call)
        if way is None or call.element or any(each.element for each in call.operands):
            return
        function, run = way
        rank = len(call.output)
        layouts = [("", tuple(range(rank)))]
        if rank >= 3 and any(prod(each.shape) != prod(call.output) for each in call.operands):
            layouts = list(workspace.layouts(rank))
        for layout, order in layouts:
            result = workspace.result(call.output, order)
            try:
                if rank > MOST_AXES:
                    raise UnsupportedError(f"it takes at most {MOST_AXES} axes")
                started = run(workspace, call, order, result)
                yield Candidate(LIBRARY, function, layout, no_scratch, started, result)
            except (CudnnError, UnsupportedError) as error:
                yield refused(LIBRARY, function, layout, error)

    def _way(self, call: Elementwise) -> tuple[str, Callable[..., Callable[[], None]]] | None:
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
    ) -> Callable[[], None]:
        what = Descriptor(self._cudnn, "Activation")
        self._cudnn.call(
            "cudnnSetActivationDescriptor",
            what.address,
            ACTIVATIONS[call.operator],
            NO_NAN,
            ctypes.c_double(0.0),
        )
        x = workspace.operand("in0", order)
        tensor = self._tensor(workspace, result)

        def run() -> None:
            self._cudnn.call(
                "cudnnActivationForward",
                self._cudnn.handle,
                what.address,
                ctypes.byref(ONE),
                tensor.address,
                address(x.pointer),
                ctypes.byref(ZERO),
                tensor.address,
                address(result.pointer),
            )

        return run

    def _combination(
        self, workspace: Workspace, call: Elementwise, order: Order, result: DeviceTensor
    ) -> Callable[[], None]:
        how = COMBINATIONS[call.operator]
        what = Descriptor(self._cudnn, "OpTensor")
        self._cudnn.call(
            "cudnnSetOpTensorDescriptor", what.address, how.number, DATA_TYPE["fp32"], NO_NAN
        )
        operands = [
            (_expanded(workspace, call, f"in{at}", operand, order), factor)
            for at, operand, factor in zip(
                (0, len(call.operands) - 1),
                (call.operands[0], call.operands[-1]),
                (how.first, how.second),
                strict=True,
            )
        ]
        # The first has the result's shape; the second may be repeated.
        if operands[0][0].shape != call.output:
            operands.reverse()
        (a, by_a), (b, by_b) = operands
        if a.shape != call.output:
            raise UnsupportedError("one operand has to be as large as the result")
        factors = ctypes.c_float(by_a), ctypes.c_float(by_b)
        tensors = [self._tensor(workspace, each) for each in (a, b, result)]

        def run() -> None:
            self._cudnn.call(
                "cudnnOpTensor",
                self._cudnn.handle,
                what.address,
                ctypes.byref(factors[0]),
                tensors[0].address,
                address(a.pointer),
                ctypes.byref(factors[1]),
                tensors[1].address,
                address(b.pointer),
                ctypes.byref(ZERO),
                tensors[2].address,
                address(result.pointer),
            )

        return run

    def _normalisation(
        self, workspace: Workspace, call: Elementwise, order: Order, result: DeviceTensor
    ) -> Callable[[], None]:
        """The call's factor and shift, given as those of a variance of one and a mean of zero."""
        channels = call.output[1]
        scale, shift = (
            workspace.operand(name).floats().reshape(-1).repeat(channels // each.shape[0])
            for name, each in (("in0", call.operands[0]), ("in1", call.operands[1]))
        )
        x = workspace.operand("in2", order)
        mean, variance = scale * 0, scale * 0 + (1 - EPSILON)
        tensor = self._tensor(workspace, result)
        ones = (1,) * (max(FEWEST_AXES, len(call.output)) - 2)
        by_channel = self._cudnn.tensor("fp32", (1, channels, *ones), (channels, 1, *ones))
        vectors = [scale, shift, mean, variance]

        def run() -> None:
            self._cudnn.call(
                "cudnnBatchNormalizationForwardInference",
                self._cudnn.handle,
                SPATIAL,
                ctypes.byref(ONE),
                ctypes.byref(ZERO),
                tensor.address,
                address(x.pointer),
                tensor.address,
                address(result.pointer),
                by_channel.address,
                *(address(int(vector.data.ptr)) for vector in vectors),
                ctypes.c_double(EPSILON),
            )

        return run

    def _tensor(self, workspace: Workspace, tensor: DeviceTensor) -> Any:
        """The descriptor of a tensor, which has at least four axes for cuDNN."""
        more = (1,) * (FEWEST_AXES - len(tensor.shape))
        shape, strides = tensor.shape + more, tensor.strides + more
        return self._cudnn.tensor(workspace.precision, shape, strides)


def _expanded(
    workspace: Workspace, call: Elementwise, name: str, operand: Operand, order: Order
) -> DeviceTensor:
    full = (1,) * (len(call.output) - len(operand.shape)) + operand.shape
    return workspace.expanded(name, full, order)
