"""Calls mean what their layers mean: computed in NumPy, against ONNX Runtime."""

import itertools
from pathlib import Path

import numpy as np
import onnx.defs
import pytest

from benanza_runner.cuda.calls import Call, Convolution, Elementwise, Region
from benanza_runner.cuda.lowering.elementwise.expressions import OPERATORS
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from benanza_schemas.operators.elementwise import GATES
from tests.runner.cuda.in_numpy.calls import compute
from tests.runner.cuda.layers.gathered_blocks import gathered
from tests.runner.cuda.layers.more import fixed, ints, longs, resized, version
from tests.runner.cuda.layers.more import layer as newest
from tests.runner.cuda.layers.own import (
    embedded,
    grouped,
    multi_head,
    paged,
    positions,
    projected,
    rotary,
)
from tests.runner.cuda.layers.own_products import fused_conv, fused_gemm
from tests.runner.cuda.layers.products import (
    BYTES,
    FUSED,
    SIGNED_WEIGHTS,
    bent,
    followed_by,
    gated,
    of_bytes,
)
from tests.runner.cuda.layers.prologues import PROLOGUES
from tests.runner.cuda.layers.recurrent import recurrent, with_input
from tests.runner.cuda.layers.samples import LAYERS, chain, convolution, grid_sampled
from tests.runner.cuda.layers.states import causal, linear_attention
from tests.runner.layers import conv_group, floats, operator, single, weights
from tests.skipping.programs import need_program

VECTOR = floats(3, 5)
FLOAT8 = Tensor("float8e4m3fn", (4,))
_ALONE = [name for name in sorted(OPERATORS) if onnx.defs.get_schema(name).max_input == 1]
UNARY = ["Identity", *_ALONE]
BINARY = sorted(OPERATORS - {*UNARY, "Clip"})


def check(layer: Layer, folder: Path) -> None:
    layer = retyped(layer, "fp32")
    given = reference(layer, "fp32", threads=1)
    lowered = lower(layer, given.values)
    compilers = {Elementwise: "cc", Region: "c++"}
    compiler = compilers.get(type(lowered.call))
    if compiler:
        need_program(compiler)
    operands = {
        name: array.astype(np.float64) if array.dtype == np.float32 else array
        for name, array in lowered.operands.items()
    }
    found = compute(lowered.call, operands, folder)
    for result, expected in zip(found, given.outputs, strict=True):
        numbers = expected.astype(np.float32) if expected.dtype.isbuiltin == 2 else expected
        np.testing.assert_allclose(result.reshape(numbers.shape), numbers, 1e-4, 1e-5)
    inputs = [given.values[i] for i in layer.inputs() if not layer.tensors[i].constant]
    for name, array in lowered.operands.items():
        assert name in lowered.weights or any(array is each for each in inputs), name


ALL = LAYERS | FUSED | PROLOGUES


@pytest.mark.parametrize("name", list(ALL))
def test_every_kind_of_layer(name: str, tmp_path: Path) -> None:
    check(ALL[name], tmp_path)


@pytest.mark.parametrize("op_type", UNARY)
def test_every_function_of_one_value(op_type: str, tmp_path: Path) -> None:
    check(single(op_type, version(op_type), (VECTOR,), (VECTOR,)), tmp_path)


def test_numbers_below_zero_are_no_decrements(tmp_path: Path) -> None:
    check(newest("Swish", (VECTOR,), VECTOR, alpha=-1.5), tmp_path)
    check(newest("Shrink", (VECTOR,), VECTOR, lambd=-0.5), tmp_path)


@pytest.mark.parametrize("op_type", BINARY)
def test_every_function_of_two_values(op_type: str, tmp_path: Path) -> None:
    attributes: dict[str, AttributeValue] = {"fmod": 1} if op_type == "Mod" else {}
    inputs, outputs = (VECTOR, VECTOR), (VECTOR,)
    check(single(op_type, version(op_type), inputs, outputs, "", **attributes), tmp_path)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_pads_that_follow_from_the_shapes(auto_pad: str, tmp_path: Path) -> None:
    size = 3 if auto_pad == "VALID" else 4
    layer = convolution(
        (1, 4, 8, 8), (4, 4, 3, 3), (1, 4, size, size), strides=(2, 2), auto_pad=auto_pad
    )
    check(layer, tmp_path)


def test_a_dilated_pooling_with_one_window(tmp_path: Path) -> None:
    """The window is as large as the input, but sees only its first element."""
    x, result = floats(1, 3, 2, 2), floats(1, 3, 1, 1)
    layer = newest(
        "MaxPool", (x,), result, kernel_shape=(2, 2), dilations=(2, 2), pads=(0, 0, 1, 1)
    )
    check(layer, tmp_path)


def test_a_mean_of_one_number(tmp_path: Path) -> None:
    check(newest("ReduceMean", (floats(),), floats(), opset=13), tmp_path)


def test_a_pooling_rounded_up(tmp_path: Path) -> None:
    x, result = floats(1, 2, 8, 8), floats(1, 2, 4, 4)
    layer = single("MaxPool", 12, (x,), (result,), kernel_shape=(3, 3), strides=(2, 2), ceil_mode=1)
    check(layer, tmp_path)


@pytest.mark.parametrize(
    ("op_type", "first"),
    [  # a weight divided by a value is no factor
        *itertools.product(("Add", "Sub", "Mul"), (True, False)),
        ("Div", True),
    ],
)
def test_a_weight_by_channel_after_a_convolution(op_type: str, first: bool, tmp_path: Path) -> None:
    x = floats(1, 4, 5, 5)
    order = (2, 3) if first else (3, 2)
    layer = Layer(
        (x, weights(4, 4, 1, 1), x, weights(4, 1, 1), x),
        (operator("Conv", 11, (0, 1), (2,)), operator(op_type, 14, order, (4,))),
        (4,),
    )
    check(canonical(layer), tmp_path)


def test_batch_normalisation_goes_into_the_filter() -> None:
    layer = conv_group(8, 6, "BatchNormalization", "Relu")
    call, operands, constants = lower(layer, reference(layer, "fp32", 1).values)
    assert isinstance(call, Convolution)
    assert call.bias
    assert call.activation == "Relu"
    assert set(operands) == {"input", "filter", "bias"}
    assert constants == {"filter", "bias"}


def test_what_scales_and_shifts_in_a_row_is_a_factor_and_a_shift() -> None:
    call, operands, constants = lower(chain(), reference(chain(), "fp32", 1).values)
    assert isinstance(call, Elementwise)
    assert call.statements[0].endswith("in2 * in0 + in1;")
    assert len(call.statements) == 2
    assert {name: operands[name].shape for name in constants} == dict.fromkeys(
        ("in0", "in1"), (6, 1, 1)
    )


@pytest.mark.parametrize("numbers", [(1e-4, 1e-4), (1e4, 1e4), (0.0, 1e38)])
def test_what_float16_does_not_hold_is_no_factor(numbers: tuple[float, float]) -> None:
    rows = floats(2, 6, 5)
    first, second = (fixed(number, dtype="float32") for number in numbers)
    layer = Layer(
        (rows, first, rows, second, rows),
        (operator("Div", 14, (0, 1), (2,)), operator("Div", 14, (2, 3), (4,))),
        (4,),
    )
    call, *_ = lower(canonical(layer), reference(canonical(layer), "fp32", 1).values)
    assert isinstance(call, Elementwise)
    assert len(call.statements) == 2


def test_numbers_in_a_row_stay_numbers(tmp_path: Path) -> None:
    rows = floats(2, 6, 5)
    layer = Layer(
        (rows, weights(1), rows, weights(1), rows),
        (operator("Mul", 14, (0, 1), (2,)), operator("Add", 14, (2, 3), (4,))),
        (4,),
    )
    call, operands, constants = lower(canonical(layer), reference(layer, "fp32", 1).values)
    assert isinstance(call, Elementwise)
    assert len(call.statements) == 1
    assert {operands[name].size for name in constants} == {1}
    check(canonical(layer), tmp_path)


@pytest.mark.parametrize("other", [(5,), (6, 5, 1)])
def test_what_scales_otherwise_than_by_channel_is_a_step_of_its_own(
    other: tuple[int, ...], tmp_path: Path
) -> None:
    x = floats(2, 6, 5, 5)
    layer = Layer(
        (x, weights(6, 1, 1), x, weights(*other), x, weights(1), x),
        (
            operator("Mul", 14, (0, 1), (2,)),
            operator("Add", 14, (2, 3), (4,)),
            operator("Mul", 14, (5, 4), (6,)),
        ),
        (6,),
    )
    assert isinstance(call := call_of(canonical(layer)), Elementwise)
    assert len(call.statements) == 3
    check(canonical(layer), tmp_path)


@pytest.mark.parametrize("product", ["Conv", "Gemm", "row"])
def test_an_activation_written_out_is_the_same_call(product: str) -> None:
    """Exporters write 1/6 as HardSigmoid's alpha, in float32."""
    for gate, name in GATES.items():
        alpha = {"alpha": float(np.float32(1 / 6))} if name == "HardSwish" else {}
        calls = {
            call_of(layer) for layer in (followed_by(name, product), gated(product, *gate, **alpha))
        }
        assert len(calls) == 1


def call_of(layer: Layer) -> Call:
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    return lower(layer, values).call


def test_a_slope_is_an_operand_that_the_model_fixes() -> None:
    for layer in (bent("Conv", 1), bent("Conv", 16, 1, 1)):
        call, operands, constants = lower(layer, reference(layer, "fp32", 1).values)
        assert isinstance(call, Convolution)
        assert (call.activation, call.numbers) == ("PRelu", ())
        assert operands["slope"].shape == (16,)
        assert "slope" in constants


def test_a_gate_on_another_value_is_no_activation() -> None:
    x = floats(1, 4, 5, 5)
    layer = Layer(
        (x, weights(4, 4, 1, 1), x, x, x),
        (
            operator("Conv", 11, (0, 1), (2,)),
            operator("Sigmoid", 13, (2,), (3,)),
            operator("Mul", 14, (0, 3), (4,)),
        ),
        (4,),
    )
    with pytest.raises(UnsupportedError, match="after the activation"):
        call_of(layer)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (single("Dropout", 13, (floats(4),), (floats(4), Tensor("bool", (4,)))), "several outputs"),
        (single("Relu", 14, (floats(4),), (floats(4),), "mine"), "runs Relu of mine"),
        (linear_attention(3, state_window=2), "states of several tokens"),
        (linear_attention(3, heads=(2, 3, 4), past=False), "don't share queries or keys equally"),
        (linear_attention(3, "retention"), "by the rule 'retention' is not supported"),
        (causal(3, state_window=2), "states of several tokens"),
        (causal(3, ndim=2), "over several axes"),
        (causal(3, 17), "17 places in its filter"),
        (single("Det", 11, (floats(4, 4),), (floats(1),)), "no library here runs Det"),
        (
            single(
                "DynamicQuantizeLSTM", 1, (floats(6, 1, 8),), (floats(6, 1, 1, 8),), "com.microsoft"
            ),
            "leave LSTMs in floats",
        ),
        (
            single("Concat", 13, (Tensor("int4", (2,)),) * 2, (Tensor("int4", (4,)),), axis=0),
            "tensors of int4 are not supported yet",
        ),
        (
            single(
                "Einsum",
                12,
                (floats(2, 5, 3, 16), floats(2, 7, 3, 16)),
                (floats(3, 5, 7, 2),),
                equation="bihd,bjhd->hijb",
            ),
            "more than two axes",
        ),
        (newest("Pad", (floats(4), longs(2)), floats(9)), "whose input 2 is computed"),
        (newest("ReduceSum", (floats(4, 0),), floats(4, 1)), "reads or writes an empty tensor"),
        (newest("Relu", (Tensor("float64", (4,)),), floats(4)), "float64"),
        (newest("Softmax", (Tensor("float64", (2, 4)),), Tensor("float64", (2, 4))), "float64"),
        (newest("Sin", (longs(4),), longs(4)), "Sin of int64"),
        (
            newest(
                "MatMul",
                (floats(2, 1, 3, 1, 5, 8), floats(4, 1, 6, 8, 5)),
                floats(2, 4, 3, 6, 5, 5),
            ),
            "along more than two axes",
        ),
        (recurrent("LSTM", layout=1), "batch first"),
        (recurrent("LSTM", clip=3.0), "clips before its activations"),
        (recurrent("LSTM", input_forget=1), "input and forget gate in one"),
        (recurrent("LSTM", activations=("Sigmoid", "Relu", "Tanh")), "LSTM with sigmoid, relu"),
        (recurrent("GRU"), "resets before the product"),
        (recurrent("RNN", activations=("Softsign",)), "RNN with softsign"),
        (recurrent("RNN", "bidirectional", activations=("Relu", "Tanh")), "RNN with relu, tanh"),
        (with_input("LSTM", 4, Tensor("int32", (3,))), "lengths of their own"),
        (with_input("LSTM", 7, weights(1, 30)), "peepholes"),
        (with_input("LSTM", 2, floats(1, 40, 10)), "weights are computed"),
        (followed_by("ThresholdedRelu", "Conv"), "ThresholdedRelu in one call"),
        (bent("Conv", 4), "differs within a channel"),
        (bent("Gemm", 5, 1), "differs within a channel"),
        (gated("Conv", "Tanh"), "after the activation"),
        (gated("Conv", "Sigmoid", "Tanh"), "after the activation"),
        (conv_group(8, 6, "Relu", "Add", "Relu"), "after the activation"),
        (
            of_bytes(BYTES, Tensor("int8", (2, 16, 24))),
            "not one matrix of weights",
        ),
        (of_bytes(BYTES, SIGNED_WEIGHTS, (5, 1)), "zero point for each row"),
        (resized(18, mode="cubic", antialias=1), "antialiasing"),
        (newest("Cast", (floats(4),), FLOAT8, to=17, saturate=0), "without saturation"),
        (newest("Cast", (FLOAT8,), longs(4), to=7), "a Cast of float8e4m3fn to int64"),
        (conv_group(8, 6, "Relu", "Add"), "after the activation"),
        (conv_group(8, 6, "Add", "BatchNormalization"), "after a residual"),
        (rotary((1, 5, 48), 16, positions(1)), "from one position on"),
        (rotary((1, 5, 48), 16, positions(1, 5), scale=2.0), "with a scale"),
        (rotary((1, 5, 48), 16, positions(1, 5), is_packed_batching=1), "packed sequences"),
        (multi_head((2, 9, 64), unidirectional=1), "causal queries behind other keys"),
        (multi_head((2, 9, 4, 2, 16)), "packed keys and other inputs"),
        (multi_head((2, 9, 64), bias=floats(192)), "a computed bias"),
        (grouped(1, 9, 9, local_window_size=8, causal=0), "with a window to both sides"),
        (grouped(1, 1, 9, beside={10: floats(1, 1, 1, 8)}), "bias lacks keys"),
        (grouped(1, 1, 9, k_quant_type="PER_TENSOR"), "alone, or without scales"),
        (grouped(1, 1, 9, stored="uint8", kv_cache_bit_width=8), "of 8 bits in uint8"),
        (grouped(1, 1, 9, stored="int8", beside={12: floats(1)}), "with computed scales"),
        (grouped(1, 1, 9, sliding_window_cache=1), "with sliding_window_cache"),
        (grouped(1, 1, 9, total=10), "and 10 keys in 9 places"),
        (paged(3, 3, 9, 4, beside={10: Tensor("int32", (3,))}), "with slot_mapping"),
        (paged(3, 3, 9, 4, kv_cache_layout="LATENT"), "one cache for keys and values"),
        (paged(3, 3, 9, 4, rotary_offset=8), "with rotary_offset"),
        (paged(3, 3, 9, 4, is_causal=0, local_window_size=8), "a window to the left alone"),
        (paged(3, 3, 2, 4), "of 1 new keys and room for 0"),
        (paged(3, 3, 9, 4, stored="uint8", v_cache_dtype="int8"), "of unlike types"),
        (grid_sampled((2, 3, 7, 9), (2, 3, 4, 5), mode="cubic"), "GridSample with cubic"),
        (
            grid_sampled((2, 3, 7, 9), (2, 3, 4, 5), padding_mode="reflection"),
            "GridSample with reflection",
        ),
        (projected(bias=False), "without a bias"),
        (projected((4, floats(2, 2, 4, 3, 16))), "with former keys and values"),
        (projected((3, ints(2, 9)), (5, floats(1, 4, 9, 9))), "with a mask and a bias of scores"),
        (projected((3, ints(2, 1, 9, 9))), "with a mask of shape"),
        (projected(do_rotary=1), "with a rotation"),
        (embedded(written=2), "without a mask"),
        (fused_conv("Gelu"), "FusedConv with 'Gelu'"),
        (fused_gemm("ScaledTanh"), "FusedGemm with 'ScaledTanh'"),
        (gathered("uint8", (40, 96), bits=1), "of 1 bits in uint8"),
        (gathered("float8e4m3fn", (40, 96)), "in float8e4m3fn"),
        (gathered("int4", (40, 96), constant=False), "of computed numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_lowered_has_a_reason(layer: Layer, reason: str) -> None:
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)
