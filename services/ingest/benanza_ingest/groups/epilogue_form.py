"""The layer of a product with its epilogue, without views and without Gelus that are written out.

A view between a product and what follows it, as in GPT-2, changes nothing in memory. So all tensors
after the product have its shape here, and a Gelu that is written out is ONNX's operator. A model
that has neither has the same layer.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from benanza_ingest.groups.gelu import Gelu
from benanza_ingest.groups.joining import Named
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor


def epilogue_form(wiring: Wiring, positions: Sequence[int], gelu: Gelu | None) -> Named | None:
    """The layer, not canonical, with the model's name for each tensor.

    `positions` are those of a product and of the chain behind it, of which `gelu` is the end if it
    isn't None. None if a constant behind a view differs among the rows of the product, which the
    view may have split.
    """
    form = _Form()
    written_out = len(gelu.positions) if gelu else 0
    for position in positions[: len(positions) - written_out]:
        node, extracted = wiring.node(position), wiring.layers[position]
        if extracted.kind == "view":
            form.rename(node.inputs[0], node.outputs[0])
            continue
        assert extracted.layer is not None, "rules leave skipped layers out"
        if not form.add(extracted.layer, node.inputs, node.outputs):
            return None
    if gelu:
        form.add_gelu(gelu, wiring.node(positions[-1]).outputs[0])
    return form.named()


class _Form:
    """A layer that grows by operators, each of which reads the result of the one before."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._tensors: list[Tensor] = []
        self._operators: list[Operator] = []
        self._viewed = False

    def rename(self, name: str, other: str) -> None:
        """Gives the last result the name of a view of it."""
        self._viewed = True
        self._places = {
            other if value == name else value: place for value, place in self._places.items()
        }

    def add(self, layer: Layer, inputs: Sequence[str], outputs: Sequence[str]) -> bool:
        """Adds a layer of one operator, with the names of what it reads and writes. False if one of
        its constants differs among rows behind a view, or it has further results.
        """
        (operator,) = layer.operators
        read = []
        if len(operator.outputs) > 1:
            return False
        for index, name in zip(operator.inputs, inputs, strict=False):
            tensor = self._in_shape(layer.tensors[index]) if index != OMITTED else None
            if index != OMITTED and tensor is None:
                return False
            read.append(OMITTED if tensor is None else self._place(name, tensor))
        tensor = layer.tensors[operator.outputs[0]]
        written = self._place(outputs[0], replace(tensor, shape=self._shape or tensor.shape))
        self._operators.append(replace(operator, inputs=tuple(read), outputs=(written,)))
        return True

    def add_gelu(self, gelu: Gelu, result: str) -> None:
        """Adds a Gelu of the last result."""
        (last,) = self._operators[-1].outputs
        written = self._place(result, self._tensors[last])
        self._operators.append(gelu.operator(last, written))

    def named(self) -> Named:
        """The layer, with the names of its tensors."""
        layer = Layer(tuple(self._tensors), tuple(self._operators), self._operators[-1].outputs)
        return Named(layer, tuple(self._places), fingerprint(layer))

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of the product, once it is there."""
        return self._tensors[self._operators[0].outputs[0]].shape if self._operators else ()

    def _in_shape(self, tensor: Tensor) -> Tensor | None:
        """A tensor that is read behind the views, in a shape that is broadcast to the product's."""
        if not self._viewed:
            return tensor
        if not tensor.constant:
            return replace(tensor, shape=self._shape)
        if any(size != 1 for size in tensor.shape[:-1]):
            return None
        return replace(tensor, shape=tensor.shape[-1:])

    def _place(self, name: str, tensor: Tensor) -> int:
        if name not in self._places:
            self._places[name] = len(self._tensors)
            self._tensors.append(tensor)
        return self._places[name]
