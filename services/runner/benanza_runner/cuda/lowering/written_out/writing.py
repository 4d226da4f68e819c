"""A layer's operator written with other operators, one after the other."""

from benanza_schemas.layer import OMITTED, Attribute, AttributeValue, Layer, Operator, Tensor

Shape = tuple[int, ...]


class Writing:
    """Operators of ONNX that take the place of a layer's, and the tensors of both."""

    def __init__(self, layer: Layer) -> None:
        self.tensors = list(layer.tensors)
        self.operators: list[Operator] = []

    def shape(self, index: int) -> Shape:
        """The shape of a tensor."""
        return self.tensors[index].shape

    def add(
        self,
        op_type: str,
        version: int,
        inputs: tuple[int, ...],
        output: int | None = None,
        shape: Shape | None = None,
        **attributes: AttributeValue,
    ) -> int:
        """Writes an operator, and returns where its result is: at `output`, or in a tensor of its
        own of this shape, by default the first input's.
        """
        if output is None or output == OMITTED:
            output = self._tensor(inputs[0], self.shape(inputs[0]) if shape is None else shape)
        self._write(op_type, version, inputs, (output,), attributes)
        return output

    def split(self, index: int, lengths: tuple[int, ...]) -> list[int]:
        """Writes a Split along the last axis into parts of these lengths, unless there is one."""
        if len(lengths) == 1:
            return [index]
        before = self.shape(index)[:-1]
        parts = tuple([self._tensor(index, (*before, length)) for length in lengths])
        self._write("Split", 11, (index,), parts, {"axis": -1, "split": lengths})
        return list(parts)

    def reshape(self, index: int, shape: Shape, output: int | None = None) -> int:
        """Writes a Reshape in the version that has the shape as an attribute."""
        output = self._tensor(index, shape) if output is None else output
        self._write("Reshape", 1, (index,), (output,), {"shape": shape})
        return output

    def _tensor(self, like: int, shape: Shape) -> int:
        self.tensors.append(Tensor(self.tensors[like].dtype, shape))
        return len(self.tensors) - 1

    def _write(
        self,
        op_type: str,
        version: int,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        attributes: dict[str, AttributeValue],
    ) -> None:
        pairs = tuple([Attribute(name, value) for name, value in sorted(attributes.items())])
        self.operators.append(Operator(op_type, "", version, pairs, inputs, outputs))


def given(operator: Operator, place: int) -> bool:
    """Whether an operator has an input at this place."""
    return place < len(operator.inputs) and operator.inputs[place] != OMITTED
