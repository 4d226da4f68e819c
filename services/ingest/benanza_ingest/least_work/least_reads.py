"""What the products of a model read at the least, however they are computed: what no call of the
model can have made itself.

That are weights, and what the model keeps from step to step: caches of keys and values, and states.
They count as they are stored. A product that reads them in another form, such as transposed, for
several heads, or in floats where they are kept in 8 bits, needs all that they hold.

Whether a value is given or computed is seen from the layers before: it is given if none of them
writes such a tensor. So what is found follows from an architecture, and is the same of all models
that share it. What can't be told apart counts as computed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from benanza_ingest.extracted import ExtractedLayer
from benanza_ingest.layering.touched import touched
from benanza_ingest.layering.windows import CONVOLUTIONS
from benanza_ingest.least_work.least_flops import least_of_operator
from benanza_ingest.least_work.needed import needed
from benanza_schemas.element_types import size_bytes
from benanza_schemas.layer import OMITTED, Operator, Tensor
from benanza_schemas.operators.table import RESHAPING

Shape = tuple[int, ...]

_KEPT = {
    ("", "Attention"): (1, 2, 4, 5),
    ("", "GRU"): (5,),
    ("", "LSTM"): (5, 6),
    ("", "LinearAttention"): (3,),
    ("", "RNN"): (5,),
    ("com.microsoft", "Attention"): (4,),
    ("com.microsoft", "DecoderMaskedMultiHeadAttention"): (1, 2, 5, 6),
    ("com.microsoft", "DecoderMaskedSelfAttention"): (4,),
    ("com.microsoft", "DynamicQuantizeLSTM"): (5, 6),
    ("com.microsoft", "GatedDeltaNet"): (6,),
    ("com.microsoft", "GroupQueryAttention"): (1, 2, 3, 4),
    ("com.microsoft", "LinearAttention"): (3,),
    ("com.microsoft", "MultiHeadAttention"): (1, 2, 6, 7),
    ("com.microsoft", "PagedAttention"): (3, 4),
    ("com.microsoft", "SparseAttention"): (3, 4),
}
"""The places of keys, values and states among inputs, by domain and operator."""

_CACHES = (3, 4, 5, 6, 7)
"""Those of these places that are of caches where an operator may have them in a buffer."""

_PRODUCTS_OF_TWO = ("Einsum", "FusedMatMul", "MatMul")
"""Operators that an attention's products are where it is written out: of two operands that are no
weights, one that is given was kept.
"""

_EXPERTS = ("MoE", "QMoE")

_WHOLE = RESHAPING | {"Cast", "DequantizeLinear", "Expand", "Identity", "Tile", "Transpose"}
"""Operators whose result needs all that their first input holds. Concat's needs all inputs."""

_MOST_STEPS = 8
"""So many layers back is looked for what is read in another form."""


class Reads(NamedTuple):
    """Bytes that are read, at the model's own types. `fixed` are those of them that no precision
    makes fewer: of all types but float32.
    """

    bytes: int = 0
    fixed: int = 0


def fewest(reads: Iterable[Reads]) -> Reads:
    """At each precision as many bytes as any of these has at the least. A precision keeps all of
    the bytes that aren't fixed, or half.
    """
    known = list(reads)
    least = min(of.bytes for of in known)
    return Reads(least, min(of.bytes + of.fixed for of in known) - least)


class _Source(NamedTuple):
    """What a value is another form of: a weight, or what is given from outside."""

    reads: Reads
    weight: bool


def least_reads(layers: Sequence[ExtractedLayer], edges: Iterable[tuple[int, int]]) -> list[Reads]:
    """Those of each layer, none of what isn't a product."""
    given = _Given(layers, edges)
    return [given.reads(position) for position in range(len(layers))]


class _Given:
    """What the products of a model read of what is given."""

    def __init__(self, layers: Sequence[ExtractedLayer], edges: Iterable[tuple[int, int]]) -> None:
        self._layers = [layer.layer for layer in layers]
        self._before: dict[int, list[int]] = defaultdict(list)
        for source, target in edges:
            self._before[target].append(source)
        self._writers: dict[int, dict[tuple[str, Shape], list[int]] | None] = {}
        self._known: dict[tuple[int, str, Shape, int], _Source | None] = {}

    def reads(self, position: int) -> Reads:
        """Those of the layer at a position. What it reads twice counts once."""
        layer = self._layers[position]
        if layer is None or not least_of_operator(layer, operator := layer.operators[0]):
            return Reads()
        part, least = touched(layer, operator), needed(layer, operator)
        sources = {
            place: source
            for place in dict.fromkeys(operator.inputs)
            if place != OMITTED
            and (source := self._source(position, layer.tensors[place], 0)) is not None
        }
        kept = _kept(operator, sources)
        found = []
        for place, (stored, weight) in sources.items():
            if weight or place in kept:
                tensor = layer.tensors[place]
                elements = part.get(place, prod(tensor.shape))
                if weight and place in part:
                    elements = _least(operator, tensor.shape, elements)
                elements = min(elements, least.get(place, elements))
                found.append(fewest([stored, _stored(tensor, elements)]))
        return _sum(found)

    def _source(self, position: int, tensor: Tensor, steps: int) -> _Source | None:
        """What a layer's input is a form of; None if it is computed, or may be."""
        if tensor.constant:
            return _Source(_stored(tensor, prod(tensor.shape)), weight=True)
        key = position, tensor.dtype, tensor.shape, steps
        if key not in self._known:
            self._known[key] = self._found(position, tensor, steps)
        return self._known[key]

    def _found(self, position: int, tensor: Tensor, steps: int) -> _Source | None:
        before = self._written_before(position)
        if before is None:
            return None
        writers = before.get((tensor.dtype, tensor.shape))
        if writers is None:
            return _Source(_stored(tensor, prod(tensor.shape)), weight=False)
        found = [self._of_result(writer, steps + 1) for writer in writers]
        known = [source for source in found if source is not None]
        if len(known) < len(found):
            return None
        return _Source(fewest(of.reads for of in known), all(of.weight for of in known))

    def _written_before(self, position: int) -> dict[tuple[str, Shape], list[int]] | None:
        """The layers before this one, by the types of what they write; None if that isn't known."""
        if position not in self._writers:
            self._writers[position] = self._by_type(self._before[position])
        return self._writers[position]

    def _by_type(self, positions: Iterable[int]) -> dict[tuple[str, Shape], list[int]] | None:
        writers: dict[tuple[str, Shape], list[int]] = defaultdict(list)
        for position in positions:
            layer = self._layers[position]
            if layer is None:
                return None
            for place in layer.outputs:
                tensor = layer.tensors[place]
                writers[tensor.dtype, tensor.shape].append(position)
        return dict(writers)

    def _of_result(self, position: int, steps: int) -> _Source | None:
        """What the result of a layer is a form of."""
        layer = self._layers[position]
        assert layer is not None, "it writes a tensor"
        operator = layer.operators[0]
        if operator.domain or steps > _MOST_STEPS:
            return None
        places = [place for place in operator.inputs if place != OMITTED]
        joins = operator.op_type == "Concat"
        if not joins and operator.op_type not in _WHOLE:
            return None
        found = [
            source
            for place in (dict.fromkeys(places) if joins else places[:1])
            if (source := self._source(position, layer.tensors[place], steps)) is not None
        ]
        if not found:
            return None
        weight = all(source.weight for source in found) and (not joins or len(found) == len(places))
        stored = [source.reads for source in found]
        if weight and operator.op_type == "DequantizeLinear":
            scales = [layer.tensors[place] for place in places[1:]]
            stored += [_stored(of, prod(of.shape)) for of in scales if of.constant]
        return _Source(_sum(stored), weight)


def _kept(operator: Operator, sources: Mapping[int, _Source]) -> Collection[int]:
    """The places of what an operator may be given from a former step."""
    if operator.op_type in _PRODUCTS_OF_TWO:
        if not sources or any(source.weight for source in sources.values()):
            return ()
        # Where both are given, they may be forms of one value, such as x and its transpose.
        return {max(sources, key=lambda place: sources[place].reads.bytes)}
    slots = _KEPT.get((operator.domain, operator.op_type), ())
    if _is_buffer(operator):
        slots = tuple(slot for slot in slots if slot not in _CACHES)
    return {operator.inputs[slot] for slot in slots if slot < len(operator.inputs)}


def _is_buffer(operator: Operator) -> bool:
    """Whether an operator's caches have room for more: how much of them it reads, the data say."""
    told = operator.op_type == "MultiHeadAttention" and operator.inputs[8:9] not in ((), (OMITTED,))
    shared = operator.integer("past_present_share_buffer")
    return told or operator.op_type == "SparseAttention" or bool(shared)


def _least(operator: Operator, shape: Shape, most: int) -> int:
    """How many elements have to be read of a weight of which not all are: of a convolution those
    that meet anything. Rows may choose the same experts, or the same row of a table.
    """
    if operator.op_type in CONVOLUTIONS:
        return most
    chosen = max(1, operator.integer("k")) if operator.op_type in _EXPERTS else 1
    return min(most, chosen * prod(shape[1:]))


def _sum(reads: Iterable[Reads]) -> Reads:
    found = [(0, 0), *reads]
    return Reads(*map(sum, zip(*found, strict=True)))


def _stored(tensor: Tensor, elements: int) -> Reads:
    size = size_bytes(tensor.dtype, elements)
    return Reads(size, 0 if tensor.dtype == "float32" else size)
