"""Of its first input, a layer reads what it touches."""

import pytest

from tests.ingest.onnx_text import only_layer

IMAGE = 4 * 64  # bytes of a pixel of 64 channels


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("float[1,64,10,10] x) => (y) <int64[8] p = {0,0,-4,-4,0,0,-4,-4}> { y = Pad(x, p) }", 4),
        ("float[1,64,10,10] x) => (y) <int64[8] p = {0,0,-4,2,0,0,-4,2}> { y = Pad(x, p) }", 20),
        (
            "float[1,64,8,8] x) => (y) <int64[2] s = {4,9}> "
            "{ y = CenterCropPad <axes = [2,3]> (x, s) }",
            32,
        ),
        (
            "float[1,64,8,8] x) => (y) <float[4] s = {1,1,0.5,0.25}, float[0] n = {}> "
            '{ y = Resize <mode = "nearest"> (x, n, s) }',
            8,
        ),
        (
            "float[1,64,8,8] x) => (y) <float[4] s = {1,1,0.5,0.25}, float[0] n = {}> "
            '{ y = Resize <mode = "linear"> (x, n, s) }',
            32,
        ),
    ],
)
def test_the_rest_is_not_read(text: str, read: int) -> None:
    layer = only_layer(f"g ({text}")
    assert layer.layer is not None
    tensors = layer.layer.tensors
    others = 0
    for at, tensor in enumerate(tensors):
        if at != layer.layer.operators[0].inputs[0]:
            size = {"float32": 4, "int64": 8}[tensor.dtype]
            for each in tensor.shape:
                size *= each
            others += size
    assert layer.bytes - others == read * IMAGE


def test_of_a_table_of_quantised_numbers_the_rows_are_read_that_are_named() -> None:
    """As are their scales and zero points."""
    layer = only_layer(
        "g (uint8[1000,16] table, int64[3] rows, float[1000,2] s, uint8[1000,1] z) => (y) { y = "
        "com.microsoft.GatherBlockQuantized <block_size = 16, bits = 4> (table, rows, s, z) }",
        domains={"com.microsoft": 1},
    )
    assert layer.bytes == 3 * (16 + 8 + 2 * 4 + 1 + 32 * 4)
