"""Definitions of operators, and their attributes."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from benanza_schemas.element_types import FROM_ONNX
from benanza_schemas.layer import Attribute, AttributeValue, Tensor, TensorValue
from benanza_schemas.operators import onnxruntime

DECIDING_ELEMENTS = 4096
"""A constant with more elements, such as the exponents of a Pow, counts as a weight."""

Shape = tuple[int, ...]


class SlidingWindow(NamedTuple):
    """The sizes of the axes along which a window slides, and the window's own sizes if they are
    those of a weight. An operator's attributes may leave out what follows from these.
    """

    sizes: Shape
    kernel: Shape | None


_WINDOWED = frozenset(
    "Conv ConvTranspose ConvInteger QLinearConv MaxPool AveragePool LpPool DeformConv".split()
)


@cache
def schema(op_type: str, domain: str, opset: int | None) -> onnx.defs.OpSchema | None:
    """The operator's definition at this opset version, by onnx or by ONNX Runtime; None if neither
    has one.
    """
    if opset is None or not 0 < opset < 1 << 31:
        return None
    try:
        return onnx.defs.get_schema(op_type, opset, domain)
    except onnx.defs.SchemaError:
        return onnxruntime.schema(op_type, domain, opset)


@cache
def since_version(op_type: str, domain: str, opset: int | None) -> int | None:
    """The opset version that last changed the operator's meaning; None if it isn't known."""
    definition = schema(op_type, domain, opset)
    return None if definition is None else int(definition.since_version)


@cache
def _attribute_names(op_type: str, domain: str, version: int) -> frozenset[str]:
    definition = schema(op_type, domain, version)
    return frozenset() if definition is None else frozenset(definition.attributes)


@cache
def _defaults(op_type: str, domain: str, version: int) -> dict[str, AttributeValue]:
    definition = schema(op_type, domain, version)
    assert definition is not None, "attributes are asked for once the operator is known"
    return {
        name: _value(attribute.default_value)
        for name, attribute in definition.attributes.items()
        if attribute.default_value.type != AttributeProto.UNDEFINED
    }


@cache
def optional_outputs(op_type: str, domain: str, opset: int | None) -> frozenset[int]:
    """The positions of the outputs that a model may leave out."""
    definition = schema(op_type, domain, opset)
    if definition is None:
        return frozenset()
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    return frozenset(i for i, output in enumerate(definition.outputs) if output.option == optional)


def attributes(
    op_type: str,
    domain: str,
    version: int,
    given: Iterable[Attribute],
    window: SlidingWindow | None,
) -> tuple[Attribute, ...]:
    """An operator's attributes, sorted by name, with defaults for those left out.

    `given` are those in the model; `window` is that of `window_of`.
    """
    values = dict(_defaults(op_type, domain, version))
    values.update([(attribute.name, attribute.value) for attribute in given])
    if window is not None:
        _spell_out_window(op_type, values, window)
        # Older versions lack some, such as dilations: an unknown attribute makes a model invalid.
        for name in values.keys() - _attribute_names(op_type, domain, version):
            del values[name]
    return tuple([Attribute(name, values[name]) for name in sorted(values)])


def read_attribute(encoded: bytes) -> Attribute:
    """The attribute in an encoded `AttributeProto`."""
    proto = AttributeProto.FromString(encoded)
    return Attribute(proto.name, _value(proto))


def window_of(op_type: str, tensors: list[Tensor]) -> SlidingWindow | None:
    """The window of a convolution or a pooling that reads these tensors; None for others."""
    if op_type not in _WINDOWED or len(tensors[0].shape) < 3:
        return None
    kernel: Shape | None = None
    if op_type == "QLinearConv":
        kernel = tensors[3].shape[2:]
    elif "Conv" in op_type:
        kernel = tensors[1].shape[2:]
    return SlidingWindow(tensors[0].shape[2:], kernel)


def _spell_out_window(
    op_type: str, values: dict[str, AttributeValue], window: SlidingWindow
) -> None:
    """Writes a window's attributes out in one form; ONNX's schemas lack these defaults."""
    rank = len(window.sizes)
    if window.kernel is not None:
        values.setdefault("kernel_shape", window.kernel)
    values.setdefault("strides", (1,) * rank)
    values.setdefault("dilations", (1,) * rank)
    if values.get("auto_pad") == "VALID":
        values["auto_pad"] = "NOTSET"
        values["pads"] = (0,) * (2 * rank)
    same = values.get("auto_pad") in ("SAME_UPPER", "SAME_LOWER")
    if same and op_type != "ConvTranspose":
        values["pads"] = _same_pads(values, window.sizes)
        values["auto_pad"] = "NOTSET"
    elif not same:
        values.setdefault("pads", (0,) * (2 * rank))


def _same_pads(values: dict[str, AttributeValue], sizes: Shape) -> Shape:
    """The pads for which the output has ceil(input / stride) elements along each axis."""
    rank = len(sizes)
    kernel = _ints(values.get("kernel_shape", (1,) * rank))
    strides = _ints(values["strides"])
    dilations = _ints(values.get("dilations", (1,) * rank))
    begins, ends = [], []
    for size, window, stride, dilation in zip(sizes, kernel, strides, dilations, strict=False):
        steps = -(-size // stride)
        pad = max(0, (steps - 1) * stride + (window - 1) * dilation + 1 - size)
        small, large = pad // 2, pad - pad // 2
        upper = values["auto_pad"] == "SAME_UPPER"
        begins.append(small if upper else large)
        ends.append(large if upper else small)
    return (*begins, *ends)


def _ints(value: AttributeValue) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else ()


def _value(attribute: AttributeProto) -> AttributeValue:
    match attribute.type:
        case AttributeProto.INT:
            return int(attribute.i)
        case AttributeProto.FLOAT:
            return float(attribute.f)
        case AttributeProto.STRING:
            return _text(attribute.s)
        case AttributeProto.INTS:
            return tuple(attribute.ints[:])
        case AttributeProto.FLOATS:
            return tuple(attribute.floats[:])
        case AttributeProto.STRINGS:
            return tuple(s.decode(errors="backslashreplace") for s in attribute.strings)
        case AttributeProto.TENSOR:
            return _tensor(attribute.t)
    # Graphs and types don't occur: layers with bodies or of other types are skipped.
    return str(attribute.type)


def _text(text: bytes) -> AttributeValue:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return TensorValue("string", (), text)


def _tensor(tensor: TensorProto) -> TensorValue:
    shape = tuple(tensor.dims)
    dtype = FROM_ONNX.get(tensor.data_type, "undefined")
    if tensor.data_location == TensorProto.EXTERNAL:
        return TensorValue(dtype, shape, b"")
    return TensorValue(dtype, shape, to_bytes(tensor))


def to_bytes(tensor: TensorProto) -> bytes:
    """A tensor's elements as `TensorProto.raw_data` lays them out."""
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    array = numpy_helper.to_array(tensor)
    return numpy_helper.from_array(array).raw_data if array.dtype.kind != "O" else b""
