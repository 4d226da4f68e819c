"""Which calls the paper of 2020 times for a layer."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas.layer import Layer
from study.paper2020.calls import Calls, calls_of
from study.paper2020.results import ApiCall
from tests.ingest.onnx_text import extracted, only_layer

SIZES = st.integers(1, 9)


def layer_of(text: str) -> Layer:
    found = only_layer(text, opset=9).layer
    assert found is not None
    return found


def calls(text: str) -> Calls | str:
    return calls_of(layer_of(text))


def test_a_convolution_is_one_call_and_its_bias_another() -> None:
    text = """
    m (float[1,64,56,56] x, float[256,64,1,1] w, float[256] b) => (y) {{ y = Conv(x, w{}) }}
    """
    convolution = ApiCall("CONV_FWD", (1, 64, 56, 56, 256, 1, 1, 0, 0, 1, 1, 1, 1, 1))
    bias = ApiCall("ADD_TENSOR", (1, 256, 56, 56, 1, 256, 1, 1))
    assert calls(text.format("")) == (convolution,)
    assert calls(text.format(", b")) == (convolution, bias)


@given(SIZES, SIZES, SIZES, SIZES, SIZES, st.integers(1, 3), st.integers(1, 3))
def test_all_that_a_convolution_does_is_in_its_sizes(
    batch: int, channels: int, filters: int, height: int, kernel: int, stride: int, dilation: int
) -> None:
    width, pad = height + 3, dilation * kernel
    found = calls(f"""
    m (float[{batch},{channels},{height},{width}] x, float[{filters},{channels},{kernel},1] w)
    => (y) {{
        y = Conv<pads = [{pad}, 0, {pad}, 0], strides = [{stride}, 2],
                 dilations = [{dilation}, 1]>(x, w)
    }}
    """)
    image, windows = (batch, channels, height, width), (kernel, 1, pad, 0, stride, 2, dilation, 1)
    assert found == (ApiCall("CONV_FWD", (*image, filters, *windows, 1)),)


def test_paddings_of_both_ends_have_to_be_the_same() -> None:
    text = """
    m (float[1,96,54,54] x) => (y) {{
        y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = {}>(x)
    }}
    """
    same = (ApiCall("POOLING_FWD", (1, 96, 54, 54, 3, 3, 1, 1, 2, 2)),)
    assert calls(text.format("[1, 1, 1, 1]")) == same
    assert calls(text.format("[0, 0, 1, 1]")) == "paddings of both ends differ"


@pytest.mark.parametrize(
    ("rows", "call"),
    [
        (1, ApiCall("GEMV_FWD", (1000, 2048, 1, 1, 1, 0, 0))),
        (32, ApiCall("GEMM_FWD", (32, 1000, 2048, 0, 1, 1, 1))),
    ],
)
def test_a_product_of_one_row_is_that_of_a_vector(rows: int, call: ApiCall) -> None:
    found = calls(f"""
    m (float[{rows},2048] x, float[1000,2048] w, float[1000] b) => (y) {{
        y = Gemm<transB = 1>(x, w, b)
    }}
    """)
    assert found == (call,)


def test_a_plain_product_adds_nothing() -> None:
    found = calls("m (float[1,256] x, float[256,10] w) => (y) { y = MatMul(x, w) }")
    assert found == (ApiCall("GEMV_FWD", (10, 256, 0, 1, 0, 0, 0)),)


def test_a_sum_takes_the_second_operand_for_as_large_as_the_first() -> None:
    text = "m (float[1,8,4,4] x, float[{}] z) => (y) {{ y = Add({}) }}"
    whole = (ApiCall("OP_TENSOR_ADD_FWD", (1, 8, 4, 4)),)
    assert calls(text.format("1,8,4,4", "x, z")) == whole
    assert calls(text.format("1,8,1,1", "x, z")) == whole
    assert calls(text.format("1,8,1,1", "z, x")) == "the first operand is repeated"


def test_what_then_had_no_benchmark_has_none() -> None:
    assert calls("m (float[1,8] x) => (y) { y = Exp(x) }") == "Exp has no benchmark"


@pytest.mark.parametrize("attribute", ["ceil_mode = 1", "dilations = [2, 2]"])
def test_poolings_that_then_were_not_have_no_benchmark(attribute: str) -> None:
    found = only_layer(
        f"""
        m (float[1,8,9,9] x) => (y) {{ y = MaxPool<kernel_shape = [2, 2], {attribute}>(x) }}
        """
    ).layer
    assert found is not None
    assert calls_of(found) == "poolings that round up or are dilated have no benchmark"


def test_whole_numbers_have_no_benchmark() -> None:
    text = "m (int64[1,8] x, int64[1,8] z) => (y) { y = Add(x, z) }"
    assert calls(text) == "only floating-point numbers have benchmarks"


@pytest.mark.parametrize(
    ("after", "activation"), [("y = Identity(n)", "IDENTITY"), ("y = Relu(n)", "RELU")]
)
def test_batch_normalisation_and_relu_are_in_the_fused_call(after: str, activation: str) -> None:
    model = extracted(
        f"""
        m (float[1,8,4,4] x, float[8,8,3,3] w, float[8] s, float[8] o, float[8] e, float[8] v)
        => (y) {{
            c = Conv<pads = [1, 1, 1, 1]>(x, w)
            n = BatchNormalization(c, s, o, e, v)
            {after}
        }}
        """,
        opset=9,
    )
    found = {group.layer.title(): calls_of(group.layer) for group in model.groups}
    sizes = (1, 8, 4, 4, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1)
    named = "Conv+BatchNormalization" + "+Relu" * (activation == "RELU")
    assert found[named] == (ApiCall(f"CONV_BIAS_ACTIVATION_FWD {activation}", sizes),)


def test_other_orders_of_the_same_operators_are_other_calls() -> None:
    model = extracted(
        """
        m (float[1,8,4,4] x, float[8,8,3,3] w, float[8] s, float[8] o, float[8] e, float[8] v)
        => (y) {
            c = Conv<pads = [1, 1, 1, 1]>(x, w)
            n = BatchNormalization(c, s, o, e, v)
            y = Relu(n)
        }
        """,
        opset=9,
    )
    group = next(each.layer for each in model.groups if len(each.layer.operators) == 3)
    assert not isinstance(calls_of(group), str)
    convolution, norm, relu = group.operators
    turned = msgspec.structs.replace(group, operators=(convolution, relu, norm))
    assert "of the groups, only" in str(calls_of(turned))
    both = msgspec.structs.replace(group, outputs=(*convolution.outputs, *group.outputs))
    assert calls_of(both) == "only one result has a benchmark"
