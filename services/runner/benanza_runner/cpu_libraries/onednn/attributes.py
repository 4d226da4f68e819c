"""What a primitive does to its result before it writes it."""

import ctypes
from enum import IntEnum
from typing import NamedTuple
from weakref import finalize

from benanza_runner.cpu_libraries.onednn.binding import OneDnnApi
from benanza_runner.cpu_libraries.onednn.memory import Memory, TensorDescriptor

SCRATCH_OF_USER = 1
"""`dnnl_scratchpad_mode_user`: scratch memory isn't allocated in the call."""

OF_STEP = 32768
"""`DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE`."""

SECOND = 2
"""`DNNL_ARG_SRC_1`."""


class ValueFunction(IntEnum):
    """`dnnl_eltwise_…`: functions of one value, with numbers α and β."""

    RELU = 0x20
    TANH = 0x21
    ELU = 0x22
    SQUARE = 0x23
    ABS = 0x24
    SQRT = 0x25
    LINEAR = 0x26
    SOFT_RELU = 0x27
    HARDSIGMOID = 0x28
    LOGISTIC = 0x29
    EXP = 0x2A
    GELU_TANH = 0x2B
    SWISH = 0x2C
    LOG = 0x2D
    CLIP = 0x2E
    POW = 0x30
    GELU_ERF = 0x31
    ROUND = 0x32
    MISH = 0x33
    HARDSWISH = 0x34


class Operation(IntEnum):
    """`dnnl_binary_…`: operations on two values."""

    ADD = 0x1FFF0
    MUL = 0x1FFF1
    MAX = 0x1FFF2
    MIN = 0x1FFF3
    DIV = 0x1FFF4
    SUB = 0x1FFF5


class Applied(NamedTuple):
    """A function with its numbers."""

    function: ValueFunction
    alpha: float = 0.0
    beta: float = 0.0


class Combined(NamedTuple):
    """An operation, whose second value is of this tensor, repeated where its axes are one."""

    operation: Operation
    other: Memory


Step = Applied | Combined


class Attributes:
    """`dnnl_primitive_attr_t`: steps after a primitive, in order. Scratch memory is an argument.

    `memories` are what the steps read, by the numbers of their arguments.
    """

    def __init__(self, onednn: OneDnnApi, steps: tuple[Step, ...] = ()) -> None:
        self.memories: dict[int, Memory] = {}
        self._as_parameter_ = ctypes.c_void_p()
        onednn.call("dnnl_primitive_attr_create", ctypes.byref(self._as_parameter_))
        finalize(self, onednn.value, "dnnl_primitive_attr_destroy", self._as_parameter_)
        onednn.call("dnnl_primitive_attr_set_scratchpad_mode", self, SCRATCH_OF_USER)
        if not steps:
            return
        after = ctypes.c_void_p()
        onednn.call("dnnl_post_ops_create", ctypes.byref(after))
        try:
            for number, step in enumerate(steps):
                if isinstance(step, Applied):
                    numbers = ctypes.c_float(step.alpha), ctypes.c_float(step.beta)
                    name = "dnnl_post_ops_append_eltwise"
                    onednn.call(name, after, int(step.function), *numbers)
                else:
                    lies: TensorDescriptor = step.other.descriptor
                    name = "dnnl_post_ops_append_binary"
                    onednn.call(name, after, int(step.operation), lies)
                    self.memories[OF_STEP * (number + 1) | SECOND] = step.other
            onednn.call("dnnl_primitive_attr_set_post_ops", self, after)
        finally:
            onednn.value("dnnl_post_ops_destroy", after)
