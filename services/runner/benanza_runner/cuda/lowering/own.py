"""ONNX Runtime's own operators, written with ONNX's.

Source: the definitions of the operators of `com.microsoft` in ONNX Runtime.
"""

from collections.abc import Callable

from msgspec.structs import replace

from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Attribute, AttributeValue, Layer, Operator, Tensor

DOMAIN = "com.microsoft"


def in_standard_operators(layer: Layer) -> Layer:
    """The layer as a graph of ONNX's operators, whose inputs are the same tensors.

    Raises `UnsupportedError` for an operator that isn't known here.
    """
    operator = layer.operators[0]
    write = _FORMS.get(operator.op_type) if operator.domain == DOMAIN else None
    if write is None or len(layer.operators) > 1:
        raise UnsupportedError(f"{layer.title()} is not in the ONNX standard")
    writing = _Writing(layer)
    write(writing, operator)
    return replace(layer, tensors=tuple(writing.tensors), operators=tuple(writing.operators))


class _Writing:
    """Operators that are written one after the other."""

    def __init__(self, layer: Layer) -> None:
        self.tensors = list(layer.tensors)
        self.operators: list[Operator] = []

    def add(
        self,
        op_type: str,
        version: int,
        inputs: tuple[int, ...],
        output: int | None = None,
        **attributes: AttributeValue,
    ) -> int:
        """Writes an operator, whose result is of the first input's shape, and returns where that
        is: at `output`, or in a tensor of its own.
        """
        if output is None or output == OMITTED:
            output = len(self.tensors)
            first = self.tensors[inputs[0]]
            self.tensors.append(Tensor(first.dtype, first.shape))
        pairs = tuple([Attribute(name, value) for name, value in sorted(attributes.items())])
        self.operators.append(Operator(op_type, "", version, pairs, inputs, (output,)))
        return output


def _given(operator: Operator, place: int) -> bool:
    return place < len(operator.inputs) and operator.inputs[place] != OMITTED


def _norm_of_sum(writing: _Writing, operator: Operator) -> None:
    """`SkipLayerNormalization`, or with the root of the mean square `SkipSimplified…`."""
    simplified = operator.op_type.startswith("SkipSimplified")
    bias = 3 if simplified else 4
    results = (*operator.outputs, *(OMITTED,) * 4)
    if any(place != OMITTED for place in results[1:3]):
        raise UnsupportedError(f"the statistics of {operator.op_type} are not supported yet")
    x, skip = operator.inputs[:2]
    if writing.tensors[x].shape != writing.tensors[skip].shape:
        raise UnsupportedError(f"{operator.op_type} that repeats what it adds is not supported yet")
    total = results[3]
    if _given(operator, bias):
        both = writing.add("Add", 14, (x, skip))
        both = writing.add("Add", 14, (both, operator.inputs[bias]), total)
    else:
        both = writing.add("Add", 14, (x, skip), total)
    epsilon = operator.number("epsilon", 1e-12)
    if simplified:
        given: tuple[int, ...] = (both, operator.inputs[2])
        name, version = "RMSNormalization", 23
    else:
        given = (both, *operator.inputs[2:4])
        name, version = "LayerNormalization", 17
    writing.add(name, version, given, results[0], axis=-1, epsilon=epsilon)


def _gelu(writing: _Writing, operator: Operator) -> None:
    """`Gelu`, `BiasGelu` and `FastGelu`, which is approximated by tanh."""
    x = operator.inputs[0]
    if _given(operator, 1):
        x = writing.add("Add", 14, (x, operator.inputs[1]))
    how = "tanh" if operator.op_type == "FastGelu" else "none"
    writing.add("Gelu", 20, (x,), operator.outputs[0], approximate=how)


_FORMS: dict[str, Callable[[_Writing, Operator], None]] = {
    "BiasGelu": _gelu,
    "FastGelu": _gelu,
    "Gelu": _gelu,
    "SkipLayerNormalization": _norm_of_sum,
    "SkipSimplifiedLayerNormalization": _norm_of_sum,
}
