"""Ingest counts of decoders what their configurations say.

The bytes are those of the weights that the tokens need, of the kept keys and values that are read
and written, and of what operators hand on. The operations are two for each weight and token, and
those of the attention; less than ten for each element that is handed on come on top, for norms,
activations and rotations.
"""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, TypeProto, helper

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.decoders.decoder import BLOCK, Decoder
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_schemas.vocabulary import STATE_AS_WRITTEN

FREE = {"Reshape", "Shape", "Transpose", "Greater", "If"}
"""Views, and what is computed from constants and shapes alone."""
FREE_NAMES = ("subgraph/Gather", "subgraph/Gather/Cast")
TABLES = {"cos_cache", "sin_cache"} | {
    f"/model/embed_tokens/{each}/output_0" for each in ("Reshape", "Transpose")
}
"""Constants that nodes make of weights."""


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("batch", "length", "before", "in_place"),
    [(1, 1, 700, True), (2, 1, 600, False), (1, 128, 0, True), (1, 128, 0, False)],
)
def test_costs_follow_from_the_configuration(
    decoder: Decoder, batch: int, length: int, before: int, in_place: bool
) -> None:
    """What is kept lies in one memory with what is new, or is written anew with it."""
    d = replace(decoder, layers=max(2, decoder.full_every))
    model, total = build(d), before + length
    past = total if in_place else before
    dims = {"sequence_length": length, "past_sequence_length": past, "total_sequence_length": total}
    extracted = extract(model.SerializeToString(), batch=batch, dims=dims)
    layers: list[ExtractedLayer | ExtractedGroup] = list(extracted.layers)
    for group in extracted.groups if not in_place else ():
        if group.rule == STATE_AS_WRITTEN:
            layers[group.layers[0]] = group
    handed_on, elements = handed_on_of(model, dims | {"batch_size": batch})
    size, rows = size_of(d.precision), batch * length
    kept, scores = 0, 0
    for layer in range(d.layers):
        window = d.window_of(layer)
        attended = attended_pairs(before, length, window)
        read = min(before, window - 1) if in_place and window else before
        written = length if in_place else total
        kept += 2 * batch * d.kv_heads * d.head_size * (read + written) * size
        scores += batch * d.heads * attended * (4 * d.head_size + (8 if d.softcap else 5))
    weights, products = weights_of(d, rows)
    # Of an average of experts, ingest rounds the elements of each of up to nine tensors.
    rounded = 9 * d.layers if d.experts else 0
    assert abs(sum(layer.bytes for layer in layers) - weights - kept - handed_on) <= rounded
    rest = sum(layer.flops for layer in layers) - 2 * products - scores
    assert 0 < rest < 10 * elements


def attended_pairs(before: int, length: int, window: int) -> int:
    """Counted one by one: no query sees what is behind it, or farther before it than a window."""
    queries = np.arange(before, before + length)[:, None]
    keys = np.arange(before + length)
    seen = keys <= queries
    if window:
        seen &= keys > queries - window
    return int(np.count_nonzero(seen))


def products_of(d: Decoder) -> list[tuple[int, int, int]]:
    """The products of a layer: depth, width, and of how many experts, 0 without a choice."""
    wide, narrow = d.heads * d.head_size, d.kv_heads * d.head_size
    found = [(d.hidden, wide + 2 * narrow, 0), (wide, d.hidden, 0)]
    if d.experts:
        found.append((d.hidden, d.experts, 0))
    gates = 0 if d.activation == "relu2" else 1
    found += [(d.hidden, d.intermediate, d.experts)] * (1 + gates)
    return [*found, (d.intermediate, d.hidden, d.experts)]


def weights_of(d: Decoder, rows: int) -> tuple[float, int]:
    """The bytes of all that is constant and that so many tokens need, and the multiplications.

    Of experts, so many as tokens choose on average, where all are equally likely.
    """
    size, narrow = size_of(d.precision), d.kv_heads * d.head_size
    chosen = d.experts * (1 - (1 - d.top_k / d.experts) ** rows) if d.experts else 0.0
    layer, multiplied = 0.0, 0
    for depth, width, experts in products_of(d):
        zero_points = d.zero_points and not experts
        layer += (chosen if experts else 1) * width * row_bytes(d, depth, zero_points=zero_points)
        multiplied += rows * (d.top_k if experts else 1) * depth * width
    biases: float = d.bias * (d.heads * d.head_size + 2 * narrow) + d.output_bias * d.hidden
    biases += d.swiglu * (d.experts + chosen * (2 * d.intermediate + d.hidden))
    layer += size * (biases + d.sinks * d.heads + 2 * d.qk_norm * d.head_size)
    norm = d.hidden * (1 if d.simple_norm else 2) * (4 if d.four_norms else size)
    layer += (4 if d.four_norms else 2) * norm
    # A row of the two tables for each token; queries and keys may be rotated one after the other.
    half = (d.rotary_size or d.head_size) // 2
    layer += 2 * half * rows * size * (1 if d.fused_rotation else 2)
    scored = row_bytes(d, d.hidden, zero_points=d.zero_points)
    word = scored if d.tied else d.hidden * size
    found = d.layers * layer + norm + min(rows, d.vocabulary) * word + d.vocabulary * scored
    return found, d.layers * multiplied + rows * d.hidden * d.vocabulary


def row_bytes(d: Decoder, depth: int, *, zero_points: bool) -> int:
    """The bytes of the weights of one result of a product: packed, with scales and zero points."""
    if not d.quantised:
        return depth * size_of(d.precision)
    blocks = depth // BLOCK
    points = -(-blocks * d.bits // 8) if zero_points else 0
    return depth * d.bits // 8 + blocks * size_of(d.precision) + points


def handed_on_of(model: ModelProto, dims: dict[str, int]) -> tuple[int, int]:
    """The bytes and elements of inputs and outputs of nodes, by the types that the file declares,
    without weights and what is kept; small constants count.
    """
    graph = model.graph
    typed = [*graph.value_info, *graph.input, *graph.output]
    types = {each.name: each.type for each in typed}
    small = {each.name: each for each in graph.initializer if not each.external_data}
    found = elements = 0
    for node in graph.node:
        if node.op_type in FREE or node.name.endswith(FREE_NAMES):
            continue
        for name in dict.fromkeys([*node.input, *node.output]):
            if name in small:
                found += prod(small[name].dims) * size_of(small[name].data_type)
            elif name in types.keys() - TABLES and not name.startswith(("past_", "present.")):
                number = elements_of(types[name], dims)
                elements += number
                found += number * size_of(types[name].tensor_type.elem_type)
    return found, elements


def elements_of(kind: TypeProto, dims: dict[str, int]) -> int:
    """The elements of a tensor, whose sizes are numbers or products of dimensions."""
    found = 1
    for dim in kind.tensor_type.shape.dim:
        for factor in (dim.dim_param or str(dim.dim_value)).split(" * "):
            found *= dims[factor] if factor in dims else int(factor)
    return found


def size_of(dtype: int) -> int:
    """The bytes of an element."""
    return int(helper.tensor_dtype_to_np_dtype(dtype or TensorProto.FLOAT).itemsize)
