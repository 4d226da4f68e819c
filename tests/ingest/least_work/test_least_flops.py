"""The fewest operations of a layer: those of its products, of convolutions as Winograd has them."""

import pytest

from benanza_ingest.layering.costs import flops
from benanza_ingest.least_work.least_flops import least_flops
from benanza_schemas.layer import Layer
from tests.ingest.onnx_text import only_layer


def convolution(kernel: int, attributes: str, out: int, op: str = "Conv", size: int = 12) -> Layer:
    given = f"float[2,4,{size},{size}] x, float[4,4,{kernel},{kernel}] w"
    text = f"""
        main ({given}) => (float[2,4,{out},{out}] y)
        {{ y = {op} <group = 1{attributes}> (x, w) }}
    """
    layer = only_layer(text).layer
    assert layer is not None
    return layer


@pytest.mark.parametrize(
    ("layer", "multiplications"),
    [
        (convolution(3, "", 10), 12 * 12),
        (convolution(3, ", pads = [1, 1, 1, 1]", 12), 12 * 12),
        (convolution(5, "", 8), 12 * 12),
        (convolution(3, ", strides = [2, 2], pads = [1, 1, 1, 1]", 6), 12 * 12),
        (convolution(3, ", dilations = [2, 2]", 8), 12 * 12),
        (convolution(2, ", strides = [3, 3]", 4), 8 * 8),
        (convolution(2, ", strides = [2, 2]", 24, "ConvTranspose"), 24 * 24),
        (convolution(3, ", pads = [1, 1, 1, 1]", 1, size=1), 1),
        (convolution(3, ", dilations = [9, 9], pads = [9, 9, 9, 9]", 4, size=4), 4 * 4),
        (convolution(5, ", pads = [5, 5, 5, 5]", 6, "ConvTranspose"), 10 * 10),
    ],
)
def test_a_convolution_multiplies_as_often_as_elements_results_or_weights_meet(
    layer: Layer, multiplications: int
) -> None:
    """For each of two images and pair of four channels, and adds as often."""
    assert least_flops(layer) == 2 * 2 * 4 * 4 * multiplications
    assert least_flops(layer) <= flops(layer)


def test_a_pointwise_convolution_needs_all_of_its_operations() -> None:
    layer = convolution(1, "", 12)
    assert least_flops(layer) == flops(layer)


def test_products_of_matrices_count_in_full_and_what_is_no_product_not_at_all() -> None:
    product = only_layer(
        "main (float[3,5] x, float[5,7] w) => (float[3,7] y) { y = MatMul (x, w) }"
    )
    assert product.layer is not None
    assert least_flops(product.layer) == 2 * 3 * 5 * 7
    other = only_layer("main (float[3,5] x) => (float[3,5] y) { y = Exp (x) }")
    assert other.layer is not None
    assert least_flops(other.layer) == 0


@pytest.mark.parametrize(
    ("equation", "shapes", "result", "operations"),
    [
        ("ij,jk->ik", ("2,3", "3,5"), "2,5", 2 * 2 * 3 * 5),
        ("ija,jk->ik", ("2,3,7", "3,5"), "2,5", 2 * 2 * 3 * 5),
        ("ij->i", ("2,3",), "2", 0),
    ],
)
def test_an_einsum_sums_first_what_one_operand_alone_has(
    equation: str, shapes: tuple[str, ...], result: str, operations: int
) -> None:
    given = ", ".join(f"float[{shape}] x{n}" for n, shape in enumerate(shapes))
    names = ", ".join(f"x{n}" for n in range(len(shapes)))
    layer = only_layer(
        f"main ({given}) => (float[{result}] y) "
        f'{{ y = Einsum <equation = "{equation}"> ({names}) }}'
    ).layer
    assert layer is not None
    assert least_flops(layer) == operations
