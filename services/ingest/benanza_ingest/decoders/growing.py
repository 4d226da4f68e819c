"""A graph of a decoder that grows node by node, with what its parts have in common.

Nodes, names, types and shapes follow `src/python/py/models/builders/base.py` of
microsoft/onnxruntime-genai (MIT) at a0c04eb13.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from benanza_ingest.decoders.decoder import BLOCK, Decoder

Shape = tuple[int | str, ...]
TOKENS: Shape = ("batch_size", "sequence_length")
OWN: dict[str, Any] = {"domain": "com.microsoft"}
"""For `GrowingGraph.node`: the operator is ONNX Runtime's own."""


class GrowingGraph:
    """The nodes, weights and types of a decoder's graph so far. `before` and `after` are the inputs
    and outputs beside those of tokens and scores, such as what is kept.

    Weights are external data of a file that needn't be there, so that a model is small.
    """

    def __init__(self, decoder: Decoder) -> None:
        self.of = decoder
        self.nodes: list[NodeProto] = []
        self.weights: dict[str, TensorProto] = {}
        self.types: list[ValueInfoProto] = []
        self.before: list[ValueInfoProto] = []
        self.after: list[ValueInfoProto] = []
        self._offset = 0
        self._as_cast: dict[str, str] = {}

    def typed(self, name: str, shape: Shape, dtype: int | None = None) -> ValueInfoProto:
        """The type of a tensor; its elements are of the decoder's precision unless said."""
        return helper.make_tensor_value_info(name, dtype or self.of.precision, shape)

    def node(
        self,
        name: str,
        inputs: Sequence[str],
        shape: Shape,
        dtype: int | None = None,
        **attributes: Any,
    ) -> str:
        """Adds a node, whose operator is the last part of its name; returns its first output."""
        output = f"{name}/output_0"
        operator = name.rpartition("/")[2].partition("_")[0]
        self.nodes.append(helper.make_node(operator, inputs, [output], name, **attributes))
        self.types.append(self.typed(output, shape, dtype))
        return output

    def more_outputs(self, names: Sequence[str], shape: Shape, dtype: int | None = None) -> None:
        """Outputs of the last node, all of one type; "" is left out."""
        self.nodes[-1].output.extend(names)
        self.types += [self.typed(name, shape, dtype) for name in names if name]

    def result(self, name: str, shape: Shape) -> str:
        """Makes the last node's first output one of the model's, of this name."""
        self.nodes[-1].output[0] = name
        self.types.pop()
        self.after.append(self.typed(name, shape))
        return name

    def weight(self, name: str, shape: Sequence[int], dtype: int | None = None) -> str:
        """A weight, which several nodes may read."""
        if name not in self.weights:
            dtype = dtype or self.of.precision
            size = prod(shape) * helper.tensor_dtype_to_np_dtype(dtype).itemsize
            made = TensorProto(name=name, dims=shape, data_type=dtype)
            made.data_location = TensorProto.EXTERNAL
            place = {"location": f"{self.of.name}.onnx.data", "offset": self._offset}
            for key, said in (place | {"length": size}).items():
                made.external_data.add(key=key, value=str(said))
            self.weights[name] = made
            self._offset += size
        return name

    def constant(self, value: object, dtype: int = TensorProto.INT64) -> str:
        """A constant with its value, which several nodes may read."""
        name = f"/model/constants/{TensorProto.DataType.Name(dtype)}/{value}"
        array = np.array(value, helper.tensor_dtype_to_np_dtype(dtype))
        self.weights[name] = numpy_helper.from_array(array, name)
        return name

    def packed(self, name: str, depth: int, width: int) -> list[str]:
        """The quantised weight of a product, its scales, and its zero points if there are any."""
        d, blocks = self.of, -(-depth // BLOCK)
        shape = (width, blocks, BLOCK * d.bits // 8)
        names = [self.weight(f"{name}.weight_Q{d.bits}G{BLOCK}", shape, TensorProto.UINT8)]
        names.append(self.weight(f"{name}.weight_scales", (width, blocks)))
        if d.zero_points:
            points = (width, -(-blocks * d.bits // 8))
            names.append(self.weight(f"{name}.weight_zp", points, TensorProto.UINT8))
        return names

    def product(
        self,
        name: str,
        of: str,
        depth: int,
        width: int,
        bias: bool = False,
        length: int | str = "sequence_length",
    ) -> str:
        """of · weight, quantised if the weights are, and a bias. `of` has `length` rows each."""
        d, base, shape = self.of, name[1:].replace("/", "."), ("batch_size", length, width)
        if d.quantised:
            inputs = [of, *self.packed(f"{base}.MatMul", depth, width)]
            kinds: dict[str, Any] = {"K": depth, "N": width, "bits": d.bits, "block_size": BLOCK}
            out = self.node(f"{name}/MatMulNBits", inputs, shape, **OWN, **kinds, accuracy_level=4)
        else:
            weight = self.weight(f"{base}.MatMul.weight", (depth, width))
            out = self.node(f"{name}/MatMul", [of, weight], shape)
        if bias:
            added = self.weight(f"{base}.Add.bias", (width,))
            out = self.node(f"{name}/Add", [out, added], shape)
        return out

    def scaled(self, name: str, of: str, scale: float, width: int) -> str:
        """of · scale, unless that is one."""
        if scale == 1:
            return of
        return self.node(name, [of, self.constant(scale, self.of.precision)], (*TOKENS, width))

    def norm(
        self, name: str, of: str, skip: str = "", last: bool = False, width: int = 0
    ) -> tuple[str, str]:
        """The normalised `of`, or `of + skip`, and that sum, which the last norm doesn't give. Rows
        have `width` elements, 0 stands for a layer's.

        Gemma's norms are computed in float32, between Casts.
        """
        width = width or self.of.hidden
        d, base, shape = self.of, name[1:].replace("/", "."), (*TOKENS, width)
        dtype = TensorProto.FLOAT if d.four_norms else d.precision
        cast = dtype != d.precision
        parts = [of, skip] if skip else [of]
        if cast:
            parts = [self._cast(part, dtype) for part in parts]
        inputs = [*parts, self.weight(f"{base}.weight", (width,), dtype)]
        if not d.simple_norm:
            inputs.append(self.weight(f"{base}.bias", (width,), dtype))
        operator = f"{'Skip' * bool(skip)}{'Simplified' * d.simple_norm}LayerNormalization"
        kinds: dict[str, Any] = OWN if skip else {"axis": -1, "stash_type": 1}
        out = self.node(f"{name}/{operator}", inputs, shape, dtype, epsilon=1e-5, **kinds)
        total = ""
        if skip and not last:
            total = f"{name}/output_3"
            self.more_outputs(["", "", total], shape, dtype)
        if cast:
            out = self.node(f"{name}/output_0/Cast", [out], shape, to=d.precision)
        if cast and total:
            total = self.node(f"{name}/output_3/Cast", [total], shape, to=d.precision)
        return out, total

    def _cast(self, of: str, dtype: int) -> str:
        """`of` in another type; what two norms read is cast once."""
        if of not in self._as_cast:
            shape = (*TOKENS, self.of.hidden)
            self._as_cast[of] = self.node(f"{of}/Cast", [of], shape, dtype, to=dtype)
        return self._as_cast[of]
