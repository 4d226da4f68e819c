"""Operations, bytes and parameters, against what really runs and what PyTorch counts."""

import numpy as np
import pytest

from benanza_ingest.extract import extract
from benanza_ingest.layering.costs import flops, moved_bytes
from benanza_schemas.layer import Attribute, Layer, Operator, Tensor
from benanza_schemas.operators.table import named
from tests.ingest.layering.one_layer import one_layer
from tests.ingest.onnx_text import extracted, only_layer
from tests.ingest.real_models import EXPORTED, MATRIX_FLOPS
from tests.ingest.real_models import extracted as real
from tests.ingest.running import random_array, run_one


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4, 2)), ((5,), (4, 5))]
)
@pytest.mark.parametrize("op_type", ["Add", "Mul", "Sub", "Div"])
def test_broadcasting_costs_an_operation_for_each_element_that_comes_out(
    op_type: str, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    """And each input is read once, as small as it is."""
    layer, (y,) = one_layer(op_type, [random_array(*a), random_array(*b)])
    assert layer.flops == y.size


@pytest.mark.parametrize(("op_type", "inputs"), [("Sum", 3), ("Max", 2), ("Mean", 4), ("Min", 1)])
def test_operators_of_many_inputs_combine_one_at_a_time(op_type: str, inputs: int) -> None:
    text = ", ".join(f"x{i}" for i in range(inputs))
    given = ", ".join(f"float[5, 4] x{i}" for i in range(inputs))
    layer = only_layer(f"g ({given}) => (y) {{ y = {op_type}({text}) }}")
    assert layer.flops == (20 * max(1, inputs - 1) if layer.kind == "compute" else 0)
    assert layer.kind == ("view" if inputs == 1 else "compute")


def test_several_gathers_of_a_table_read_what_they_write() -> None:
    """In a group as one by one: it is read in between."""
    found = extracted(
        'g (int64[4] i, int64[4] j) => (y) <float[30000,8] t = ["location": "w"]>'
        " { a = Gather(t, i) b = Gather(t, j) y = Add(a, b) }"
    )
    (group,) = found.groups
    rows, indices = 4 * 8 * 4, 4 * 8
    assert [layer.bytes for layer in found.layers] == [2 * rows + indices] * 2 + [3 * rows]
    assert group.bytes == 2 * (rows + indices) + rows


def test_of_what_is_seen_in_another_shape_a_part_is_read() -> None:
    """Within a layer, as if nothing lay between; as a result, all of it is read."""
    whole, seen, part = (Tensor("float32", shape) for shape in ((6, 100), (6, 10, 10), (6, 2, 10)))
    told = Tensor("int64", (3,), constant=True), *(Tensor("int64", (1,), constant=True),) * 3
    tensors = (whole, *told, seen, part)
    operators = (
        Operator("Reshape", "", 14, (), (0, 1), (5,)),
        Operator("Slice", "", 13, (), (5, 2, 3, 4), (6,)),
    )
    assert moved_bytes(Layer(tensors, operators, (6,))) == 2 * 4 * 120 + 8 * 6
    both = moved_bytes(Layer(tensors, operators, (5, 6)))
    assert both == 2 * 4 * 600 + 4 * 120 + 8 * 6


def test_a_reduction_reads_each_element_once() -> None:
    axes = np.array([1], np.int64)
    content, (y,) = run_one("ReduceMean", [random_array(3, 8, 2), axes], weights=1)
    (layer,) = extract(content).layers
    assert y.shape == (3, 1, 2)
    assert layer.flops == 48
    assert layer.parameters == 0, "an axis is no parameter"


def test_batch_normalization_is_a_scale_and_a_shift() -> None:
    statistics = [np.abs(random_array(3)) + 1 for _ in range(4)]
    layer, _ = one_layer("BatchNormalization", [random_array(2, 3, 4, 4), *statistics], weights=4)
    assert layer.flops == 2 * 2 * 3 * 4 * 4
    assert layer.parameters == 12


@pytest.mark.parametrize("op_type", ["Concat", "Transpose", "Gather", "Pad", "Slice", "Where"])
def test_moving_bytes_takes_no_operation(op_type: str) -> None:
    text = {
        "Concat": "y = Concat<axis=0>(x, x)",
        "Transpose": "y = Transpose(x)",
        "Gather": "y = Gather(x, i)",
        "Pad": "y = Pad(x, p)",
        "Slice": "y = Slice(x, s, e)",
        "Where": "y = Where(c, x, x)",
    }[op_type]
    layer = only_layer(
        "g (float[4,6] x, int64[2] i, bool[4,6] c) => (y)"
        f"<int64[4] p = {{0,1,0,0}}, int64[1] s = {{1}}, int64[1] e = {{3}}> {{ {text} }}"
    )
    assert (layer.kind, layer.flops) == ("movement", 0)
    assert layer.bytes > 0


def test_a_gather_reads_the_rows_that_it_picks_and_not_the_table() -> None:
    layer = only_layer(
        'g (int64[7] i) => (y) <float[50000, 16] t = ["location": "nowhere"]>{ y = Gather(t, i) }'
    )
    assert layer.bytes == 7 * 8 + 2 * (7 * 16 * 4)
    assert layer.parameters == 50000 * 16


def test_a_slice_reads_the_part_that_it_cuts_out() -> None:
    layer = only_layer(
        "g (float[100] x) => (y) <int64[1] s = {0}, int64[1] e = {10}> { y = Slice(x, s, e) }"
    )
    assert layer.bytes == 2 * 40 + 2 * 8


def test_an_input_that_is_read_twice_is_counted_once() -> None:
    layer = only_layer("g (float[10] x) => (y) { y = Mul(x, x) }")
    assert layer.bytes == 40 + 40


def test_elements_of_less_than_a_byte_are_packed() -> None:
    layer = only_layer(
        "g (float[3] x) => (y) <float s = {1}> { q = QuantizeLinear<output_dtype=22>(x, s)"
        " y = Relu(x) }"
    )
    assert layer.op == "Relu"
    model = extracted(
        "g (float[3] x) => (q) <float s = {1}> { q = QuantizeLinear<output_dtype=22>(x, s) }"
    )
    assert model.layers[0].bytes == 12 + 4 + 2


def test_a_view_costs_nothing() -> None:
    layer = only_layer("g (float[2,3] x) => (y) <int64[1] s = {6}> { y = Reshape(x, s) }")
    assert (layer.kind, layer.flops, layer.bytes, layer.parameters) == ("view", 0, 0, 0)


MATRIX_OPERATORS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", "Attention")


@pytest.mark.parametrize("name", EXPORTED)
def test_matrix_flops_are_within_a_hundredth_of_pytorchs(name: str) -> None:
    counted = MATRIX_FLOPS[name.removesuffix("-raw")]
    ours = sum(layer.flops for layer in real(name).layers if layer.op in MATRIX_OPERATORS)
    assert ours == pytest.approx(counted, rel=0.01)


@pytest.mark.parametrize("name", sorted(MATRIX_FLOPS))
def test_both_ways_of_exporting_a_model_agree(name: str) -> None:
    """The exporter's own optimisations change no convolution and no matrix product."""

    def products(model: str) -> int:
        return sum(x.flops for x in real(model).layers if x.op in MATRIX_OPERATORS)

    assert products(name) == products(f"{name}-raw")


@pytest.mark.parametrize(
    ("text", "flops"),
    [
        ("float[32,1000] x, int64[32] t) => (y) { y = SoftmaxCrossEntropyLoss(x, t) }", 160_032),
        ("float[3,50] x) => (y, i) <int64[1] k = {1}> { y, i = TopK(x, k) }", 150),
        ("float[4,6,6] x) => (y) { y = Det(x) }", 4 * 2 * 6**3 // 3),
        (
            "float[2,1024,1] x) => (y) <int64 a = {1}> { y = DFT(x, , a) }",
            2 * 5 * 1024 * 10,
        ),
        (
            "float[2,1024,4,1] x) => (y) <int64 a = {1}> { y = DFT(x, , a) }",
            2 * 4 * 5 * 1024 * 10,
        ),
        (
            "float[2,4,1024,1] x) => (y) { y = DFT(x) }",
            2 * 4 * 5 * 1024 * 10,
        ),
        (
            "float[2,1024,1] x) => (y) <int64 a = {1}> { y = DFT <onesided = 1> (x, , a) }",
            2 * 5 * 1024 * 10,
        ),
        (
            'float[1,4,9,9] x, float[1,5,7,2] g) => (y) { y = GridSample <mode = "cubic"> (x, g) }',
            4 * 5 * 7 * 2 * 16,
        ),
        (
            "float[1,4,9,9] x, float[1,5,7,2] g) => (y) "
            '{ y = GridSample <mode = "nearest"> (x, g) }',
            4 * 5 * 7 * 2,
        ),
        (
            "float[1,4,9,9] x, float[3,4] r, int64[3] b) => (y) { y = RoiAlign "
            "<output_height = 2, output_width = 5, sampling_ratio = 2> (x, r, b) }",
            3 * 4 * 2 * 5 * 8 * 4,
        ),
        (
            "float[2,3,4,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y, n, w) "
            "{ y, n, w = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
            7 * 2 * 3 * 4 * 4,
        ),
        ("float[5,4] x) => (y) <bool t = {1}, float r = {0.5}> { y = Dropout(x, r, t) }", 40),
        ("float[5,4] x) => (y) <bool t = {0}, float r = {0.5}> { y = Dropout(x, r, t) }", 0),
    ],
)
def test_what_is_not_done_element_by_element(text: str, flops: int) -> None:
    assert only_layer(f"g ({text}").flops == flops


@pytest.mark.parametrize("op_type", sorted(named(lambda facts: facts.flops is None)))
def test_each_operator_without_a_number_for_each_element_has_a_formula(op_type: str) -> None:
    """Without one, counting would end in a failed assertion."""
    image = Tensor("float32", (1, 4, 4, 4))
    attributes = (Attribute("equation", "abcd,abce,abcf,abcd->abcd"), Attribute("num_heads", 1))
    operator = Operator(op_type, "", 1, attributes, (0, 1, 2, 0), (3,))
    assert flops(Layer((image,) * 4, (operator,), (3,))) >= 0


def test_a_rotation_is_two_products_and_a_sum() -> None:
    text = """g (float[1,8,16,64] x, float[16,32] c, float[16,32] s, int64[1,16] p) => (y)
        { y = RotaryEmbedding (x, c, s, p) }"""
    (layer,) = extracted(text, opset=23).layers
    assert layer.flops == 3 * 8 * 16 * 64


@pytest.mark.parametrize(
    "write",
    [
        "float[1,8,16,64] x) => (y) { y = RotaryEmbedding<rotary_embedding_dim=24> (x, c, s, p) }",
        "float[1,16,512] x) => (y) { y = RotaryEmbedding<num_heads=8, rotary_embedding_dim=24>"
        "(x, c, s, p) }",
        "float[1,16,512] x) => (y) { y = com.microsoft.RotaryEmbedding"
        "<num_heads=8, rotary_embedding_dim=24>(x, p, c, s) }",
    ],
)
def test_what_is_not_rotated_of_a_head_is_copied(write: str) -> None:
    text = f"g (float[16,12] c, float[16,12] s, int64[1,16] p, {write}"
    (layer,) = extracted(text, 23, {"com.microsoft": 1}).layers
    assert layer.flops == 3 * 8 * 16 * 24
