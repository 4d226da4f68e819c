"""Attention to kept keys in NumPy is ONNX Runtime's, of caches that its CPU runs."""

import numpy as np
import pytest
from msgspec.structs import replace

from benanza_runner.arrays import Array
from benanza_runner.cuda.reference import reference
from benanza_runner.onnx_layers.kept_keys import grouped, in_place
from benanza_runner.onnx_layers.layer_model import LayerModelError
from benanza_schemas.layer import OMITTED, Layer
from tests.runner.cuda.layers.own import GROUPED
from tests.runner.cuda.layers.own import grouped as in_a_row
from tests.runner.cuda.layers.own import paged as in_pages

RUN = {
    name: layer
    for name, layer in GROUPED.items()
    if all(tensor.dtype != "float8e4m3fn" for tensor in layer.tensors)
}


@pytest.mark.parametrize("name", list(RUN))
def test_it_is_what_onnx_runtime_computes(name: str) -> None:
    values, outputs = reference(RUN[name], "fp32", threads=1)
    for found, expected in zip(grouped(RUN[name], values), outputs, strict=True):
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def in_order(layer: Layer, outputs: list[Array]) -> list[Array]:
    """The result, and the caches of keys and of values."""
    return [outputs[layer.outputs.index(index)] for index in layer.operators[0].outputs]


def test_the_room_behind_all_keys_stays_as_it_is() -> None:
    layer = in_a_row(1, 1, 20, total=9)
    values, outputs = reference(layer, "fp32", threads=1)
    cache = values[layer.operators[0].inputs[3]]
    _, kept, _ = in_order(layer, outputs)
    np.testing.assert_array_equal(kept[:, :, 9:], cache[:, :, 9:])
    assert (kept[:, :, 8] != cache[:, :, 8]).all()
    zeros = [np.zeros_like(array) for array in outputs]
    _, kept, _ = in_order(layer, in_place(layer, values, zeros))
    np.testing.assert_array_equal(kept[:, :, 9:], cache[:, :, 9:])
    assert not kept[:, :, :9].any()


@pytest.mark.parametrize("stored", ["", "int8", "uint8"])
def test_pages_are_keys_in_another_order(stored: str) -> None:
    """One sequence has its keys in blocks of eight, or in a row."""
    codes = bool(stored)
    pages = in_pages(3, 1, 4, 4, block=8, rotated=16, stored=stored, by_channel=codes)
    row = in_a_row(1, 3, 32, rotated=16, stored=stored, by_channel=codes)
    given, outputs = reference(pages, "fp32", threads=1)
    found = in_order(pages, outputs)
    values, _ = reference(row, "fp32", threads=1)
    places, others = pages.operators[0].inputs, row.operators[0].inputs
    table = given[places[7]][0]
    for number in range(3):
        values[others[number]] = given[places[number]][None]
    for number in (3, 4):
        rows = given[places[number]][table].reshape(32, 2, -1)
        values[others[number]] = rows.swapaxes(0, 1)[None]
    for number, other in ((8, 7), (9, 8)):
        values[others[other]] = given[places[number]]
    for number, other in ((14, 12), (15, 13)) if codes else ():
        values[others[other]] = given[places[number]][None]
    expected = in_order(row, grouped(row, values))
    np.testing.assert_allclose(found[0], expected[0][0], 1e-5, 1e-6)
    for cache, kept in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(cache[table].reshape(32, 2, -1), kept[0].swapaxes(0, 1))


def test_one_cache_for_keys_and_values_is_refused() -> None:
    layer = in_pages(3, 1, 4, 4, block=8)
    (operator,) = layer.operators
    inputs = tuple(OMITTED if n == 4 else index for n, index in enumerate(operator.inputs))
    one = replace(layer, operators=(replace(operator, inputs=inputs),))
    with pytest.raises(LayerModelError, match="a cache of keys and one of values"):
        reference(one, "fp32", threads=1)


@pytest.mark.parametrize("blocks", [1, 2])
def test_pages_without_room_are_refused(blocks: int) -> None:
    with pytest.raises(LayerModelError, match="no room"):
        reference(in_pages(60, 2, blocks, 4), "fp32", threads=1)


def test_a_longer_cache_in_float8_is_refused() -> None:
    layer = in_a_row(1, 1, 32, stored="float8e4m3fn")
    (operator,) = layer.operators
    after = operator.outputs[1]
    longer = replace(layer.tensors[after], shape=(1, 2, 33, 16))
    tensors = tuple(longer if n == after else each for n, each in enumerate(layer.tensors))
    with pytest.raises(LayerModelError, match="copies its cache"):
        reference(replace(layer, tensors=tensors), "fp32", threads=1)


def test_values_of_another_length_are_refused() -> None:
    layer = in_pages(3, 1, 4, 4, block=8)
    (operator,) = layer.operators
    kept = operator.inputs[4], operator.outputs[2]
    tensors = tuple(
        replace(each, shape=(*each.shape[:3], 8)) if n in kept else each
        for n, each in enumerate(layer.tensors)
    )
    with pytest.raises(LayerModelError, match="values are not as long"):
        reference(replace(layer, tensors=tensors), "fp32", threads=1)
