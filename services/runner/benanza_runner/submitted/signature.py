"""What a kernel for a layer reads and writes, in order."""

from collections.abc import Iterable

import msgspec

from benanza_runner.onnx_layers.draws import Draw
from benanza_runner.onnx_layers.random_values import wanted
from benanza_schemas.element_types import BITS
from benanza_schemas.layer import OMITTED, Layer

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""How C calls element types. Floats of 16 bits are passed as their bits."""


class SignatureError(ValueError):
    """A layer that no kernel can be submitted for; the text says why."""


class KernelOperand(msgspec.Struct, frozen=True):
    """A tensor in row-major order. `constant` says that it is a weight; `index` is its position
    among the layer's tensors. Of an input that is `fixed`, a rule says each element.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    index: int
    constant: bool = False
    fixed: bool = False


class Signature(msgspec.Struct, frozen=True):
    """The operands of a kernel, which takes the inputs and then the outputs."""

    inputs: tuple[KernelOperand, ...]
    outputs: tuple[KernelOperand, ...]

    @property
    def weights(self) -> tuple[KernelOperand, ...]:
        """The inputs that the model fixes."""
        return tuple([operand for operand in self.inputs if operand.constant])

    @property
    def changing(self) -> tuple[KernelOperand, ...]:
        """The other inputs."""
        return tuple([operand for operand in self.inputs if not operand.constant])

    def c_prototypes(self, *, on_gpu: bool = False) -> tuple[str, ...]:
        """The functions of C that a shared library has: `run`, and perhaps `prepare`. On a GPU they
        are told of the stream last, a `cudaStream_t`.
        """
        more = ("void *stream",) if on_gpu else ()
        run = _prototype("run", self.inputs, self.outputs, more)
        return (run, _prototype("prepare", self.weights, (), more)) if self.weights else (run,)


def signature_of(layer: Layer) -> Signature:
    """The operands of a layer that is in the types of its precision.

    Constants of known values are no operands: they are part of what the layer computes. Raises
    `SignatureError` where a kernel can't be given an operand.
    """
    for tensor in layer.tensors:
        if tensor.dtype not in C_TYPES and tensor.value is None:
            bits = BITS.get(tensor.dtype)
            what = "elements smaller than a byte" if bits and bits < 8 else "no numbers of C"
            raise SignatureError(f"it has {tensor.dtype}, which are {what}")
    inputs = [index for index in layer.inputs() if layer.tensors[index].value is None]
    if all(layer.tensors[index].constant for index in inputs):
        raise SignatureError("it reads nothing that changes")
    return Signature(
        tuple([_input(layer, index) for index in inputs]),
        tuple([_operand(layer, index, "y") for index in layer.outputs]),
    )


def _input(layer: Layer, index: int) -> KernelOperand:
    operand = _operand(layer, index, "w" if layer.tensors[index].constant else "x")
    found = wanted(layer, index)
    varies = isinstance(found, Draw) and found.low < found.high
    return msgspec.structs.replace(operand, fixed=not varies)


def _operand(layer: Layer, index: int, letter: str) -> KernelOperand:
    assert index != OMITTED, "what is left out is no tensor of the layer"
    tensor = layer.tensors[index]
    return KernelOperand(f"{letter}{index}", tensor.dtype, tensor.shape, index, letter == "w")


def _prototype(
    name: str,
    read: Iterable[KernelOperand],
    written: Iterable[KernelOperand],
    more: Iterable[str],
) -> str:
    parameters = [f"const {C_TYPES[operand.dtype]} *{operand.name}" for operand in read]
    parameters += [f"{C_TYPES[operand.dtype]} *{operand.name}" for operand in written]
    return f"void {name}({', '.join([*parameters, *more])});"
