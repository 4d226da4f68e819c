"""Of an image, a convolution or a pooling reads what its windows touch."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedLayer
from tests.ingest.onnx_text import only_layer
from tests.ingest.running import Array, run_one


def one_hot(*sizes: int) -> Array:
    """As many images as one has elements; in each, another element is one."""
    count = prod(sizes)
    return np.eye(count, dtype=np.float32).reshape(count, 1, *sizes)


def read(layer: ExtractedLayer, others: int) -> int:
    """How many elements of 4 bytes of its first input a layer reads; `others` are all others."""
    return layer.bytes // 4 - others


@st.composite
def windows(draw: Callable[..., Any]) -> tuple[list[int], dict[str, Any]]:
    rank = draw(st.integers(1, 2))

    def along(least: int, most: int, count: int = rank) -> list[int]:
        found: list[int] = draw(st.lists(st.integers(least, most), min_size=count, max_size=count))
        return found

    kernel = along(1, 3)
    pads = [min(pad, kernel[at % rank] - 1) for at, pad in enumerate(along(0, 2, 2 * rank))]
    common = {"kernel_shape": kernel, "strides": along(1, 4), "dilations": along(1, 3)}
    automatic = draw(st.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID", None]))
    # ONNX Runtime can do it only where windows have no holes and leave none between them.
    joined = all(k >= s for k, s in zip(kernel, common["strides"], strict=True))
    if automatic and joined and common["dilations"] == [1] * rank:
        return along(1, 8), common | {"auto_pad": automatic}
    return along(1, 8), common | {"pads": pads}


@given(windows(), st.sampled_from(["Conv", "MaxPool", "AveragePool", "LpPool"]))
def test_it_reads_those_elements_on_which_its_result_depends(
    window: tuple[list[int], dict[str, Any]], op_type: str
) -> None:
    sizes, attributes = window
    reach = zip(attributes["kernel_shape"], attributes["dilations"], strict=True)
    assume(all(size >= (k - 1) * d + 1 for size, (k, d) in zip(sizes, reach, strict=True)))
    x = one_hot(*sizes)
    w = np.ones((1, 1, *attributes["kernel_shape"]), np.float32)
    inputs = [x, w] if op_type == "Conv" else [x]
    content, (y,) = run_one(op_type, inputs, weights=len(inputs) - 1, **attributes)
    (layer,) = extract(content).layers
    depending = np.count_nonzero(y.reshape(len(x), -1).any(axis=1))
    others = y.size
    if op_type == "Conv":
        taps = one_hot(*w.shape[2:])
        _, (by_tap,) = run_one(op_type, [x[:1] * 0 + 1, taps], weights=1, **attributes)
        others += int(np.count_nonzero(by_tap.reshape(len(taps), -1).any(axis=1)))
    assert read(layer, others) == len(x) * depending
    assert layer.bytes <= 4 * (x.size + others)


def test_windows_with_very_many_elements_are_not_looked_at_one_by_one() -> None:
    layer = only_layer(
        "g (float[1,1,9000000] x) => (y) { y = MaxPool <kernel_shape = [2], strides = [4]> (x) }"
    )
    assert read(layer, others=2_250_000) == 4_500_000


@pytest.mark.parametrize(
    ("text", "elements", "others"),
    [
        (
            "float[1,4,9,9] x, float[2,4,1,1] w) => (y) { y = com.microsoft.FusedConv "
            '<kernel_shape = [1,1], strides = [4,4], activation = "Relu"> (x, w) }',
            4 * 9,
            8 + 2 * 9,
        ),
        (
            "float[1,9,9,4] x, float[2,4,1,1] w) => (y) "
            "{ y = com.microsoft.NhwcFusedConv <strides = [4,4]> (x, w) }",
            4 * 9,
            8 + 2 * 9,
        ),
        (
            "float[1,9,9,4] x, float[2,2,1,4] w) => (y) "
            "{ y = com.microsoft.NhwcFusedConv <strides = [4,4]> (x, w) }",
            4 * 4 * 3,
            16 + 2 * 6,
        ),
        (
            "float[1,9,9,4] x) => (y) { y = com.microsoft.NhwcMaxPool "
            "<kernel_shape = [2,2], strides = [4,4]> (x) }",
            4 * 16,
            16,
        ),
    ],
)
def test_so_do_operators_of_onnx_runtime(text: str, elements: int, others: int) -> None:
    layer = only_layer(f"g ({text}", domains={"com.microsoft": 1})
    assert read(layer, others) == elements


def test_pads_that_are_not_spelled_out_are_shared_out() -> None:
    layer = only_layer(
        "g (float[1,9,9,4] x) => (y) { y = com.microsoft.NhwcMaxPool "
        '<kernel_shape = [1,1], strides = [4,4], auto_pad = "SAME_UPPER"> (x) }',
        domains={"com.microsoft": 1},
    )
    assert read(layer, others=36) == 4 * 9


@pytest.mark.parametrize("weights", ["uint8[2,4,1,1] w", "int8[2,4,1,1] w"])
def test_so_do_convolutions_of_integers(weights: str) -> None:
    layer = only_layer(
        f"g (uint8[1,4,9,9] x, {weights}) => (y) {{ y = ConvInteger <strides = [4,4]> (x, w) }}"
    )
    assert layer.bytes == 4 * 9 + 8 + 4 * 2 * 9
    layer = only_layer(
        f"g (uint8[1,4,9,9] x, float s, uint8 z, {weights}, float t, "
        f"{weights.split('[')[0]} v, float u, uint8 q) => (y) "
        "{ y = QLinearConv <strides = [4,4]> (x, s, z, w, t, v, u, q) }"
    )
    assert layer.bytes == 4 * 9 + 8 + 2 * 9 + 3 * (4 + 1)
