"""References compute what ONNX Runtime does, each in a program of its own."""

from typing import Any

import numpy as np
import pytest

from benanza.tasks.inputs import drawn_by_numpy, drawn_by_torch
from benanza.tasks.references.operation import NoReferenceError
from benanza.tasks.references.write import Library, reference
from benanza_runner.submitted.draws import Draws
from benanza_runner.submitted.signature import signature_of
from benanza_runner.submitted.verdict import relative_error
from benanza_schemas.layer import Layer, Tensor
from tests.runner.layers import conv, floats, gemm, operator, single, weights


def constant(*values: int) -> Tensor:
    """Integers that the model fixes."""
    data = np.array(values, np.int64)
    return Tensor("int64", data.shape, constant=True, value=data.tobytes())


MAP = floats(2, 6, 9, 8)
ROWS = floats(3, 4, 10)

LAYERS = {
    "Conv of groups": single(
        "Conv", 11, (MAP, weights(4, 3, 3, 2), weights(4)), (floats(2, 4, 5, 9),),
        group=2, strides=(2, 1), pads=(1, 1, 1, 1), dilations=(1, 1), kernel_shape=(3, 2),
    ),
    "Conv SAME_UPPER": single(
        "Conv", 11, (MAP, weights(4, 6, 3, 3)), (floats(2, 4, 5, 4),),
        auto_pad="SAME_UPPER", strides=(2, 2), kernel_shape=(3, 3),
    ),
    "dilated Conv of one axis": single(
        "Conv", 11, (floats(1, 2, 20), weights(3, 2, 3)), (floats(1, 3, 16),),
        dilations=(2,), kernel_shape=(3,),
    ),
    "Conv": conv(4, 7),
    "Gemm": gemm(3, 5, 4),
    "MaxPool that rounds up": single(
        "MaxPool", 12, (MAP,), (floats(2, 6, 5, 4),),
        ceil_mode=1, kernel_shape=(2, 3), strides=(2, 2), pads=(0, 1, 0, 0),
    ),
    "AveragePool": single(
        "AveragePool", 11, (MAP,), (floats(2, 6, 9, 8),),
        kernel_shape=(3, 3), pads=(1, 1, 1, 1),
    ),
    "AveragePool with its pads": single(
        "AveragePool", 11, (MAP,), (floats(2, 6, 9, 8),),
        kernel_shape=(3, 3), pads=(1, 1, 1, 1), count_include_pad=1,
    ),
    "LRN": single("LRN", 13, (MAP,), (MAP,), size=3, alpha=0.5, beta=0.75, bias=2.0),
    "BatchNormalization": single(
        "BatchNormalization", 15, (MAP, *(weights(6),) * 4), (MAP,), epsilon=1e-3
    ),
    "InstanceNormalization": single(
        "InstanceNormalization", 6, (MAP, weights(6), weights(6)), (MAP,), epsilon=1e-3
    ),
    "LayerNormalization": single(
        "LayerNormalization", 17, (ROWS, weights(10), weights(10)), (ROWS,), axis=-1, epsilon=1e-5
    ),
    "Softmax": single("Softmax", 13, (ROWS,), (ROWS,), axis=1),
    "LogSoftmax": single("LogSoftmax", 13, (ROWS,), (ROWS,), axis=-1),
    "ReduceMean": single("ReduceMean", 13, (ROWS,), (floats(3, 10),), axes=(1,), keepdims=0),
    "ReduceMax of all": single("ReduceMax", 13, (ROWS,), (floats(1, 1, 1),), keepdims=1),
    "ReduceL2": single("ReduceL2", 13, (ROWS,), (floats(3, 4, 1),), axes=(-1,), keepdims=1),
    "Gelu": single("Gelu", 20, (ROWS,), (ROWS,), approximate="none"),
    "Gelu by tanh": single("Gelu", 20, (ROWS,), (ROWS,), approximate="tanh"),
    "Transpose": single("Transpose", 13, (ROWS,), (floats(10, 3, 4),), perm=(2, 0, 1)),
    "Concat": single("Concat", 13, (ROWS, floats(3, 2, 10)), (floats(3, 6, 10),), axis=1),
    "Split": single(
        "Split", 13, (ROWS, constant(3, 7)), (floats(3, 4, 3), floats(3, 4, 7)), axis=2
    ),
    "Slice": single(
        "Slice", 13, (ROWS, constant(1), constant(-1), constant(2), constant(2)),
        (floats(3, 4, 4),),
    ),
    "Gather": single(
        "Gather", 13, (weights(7, 5), Tensor("int64", (2, 3))), (floats(2, 3, 5),), axis=0
    ),
    "Pad": single(
        "Pad", 13, (ROWS, constant(0, 1, 0, 0, 2, 3)), (floats(3, 7, 13),), mode="constant"
    ),
    "Pad with another value": single(
        "Pad", 2, (ROWS,), (floats(3, 7, 13),), pads=(0, 1, 0, 0, 2, 3), value=0.5
    ),
    "Expand": single("Expand", 13, (floats(4, 1), constant(3, 4, 5)), (floats(3, 4, 5),)),
    "Clip": single("Clip", 6, (ROWS,), (ROWS,), min=-0.5, max=0.5),
    "Max": single("Max", 13, (ROWS, ROWS, floats(10)), (ROWS,)),
    "Where": single("Where", 9, (Tensor("bool", (3, 4, 10)), ROWS, ROWS), (ROWS,)),
    "Cast": single("Cast", 13, (Tensor("int32", (5,)),), (floats(5),), to=1),
    "integer Div": single(
        "Div", 14, (Tensor("int64", (9,)), Tensor("int64", (9,))), (Tensor("int64", (9,)),)
    ),
    **{
        name: single(name, version, (ROWS,), (ROWS,))
        for name, version in {
            "Abs": 13, "Ceil": 13, "Cos": 7, "Elu": 6, "Erf": 13, "Exp": 13, "Floor": 13,
            "HardSigmoid": 6, "HardSwish": 14, "LeakyRelu": 16, "Log": 13, "Mish": 18, "Neg": 13,
            "Reciprocal": 13, "Relu": 14, "Round": 11, "Sigmoid": 13, "Sign": 13, "Sin": 7,
            "Softplus": 1, "Softsign": 1, "Sqrt": 13, "Tanh": 13,
        }.items()
    },
    "Attention": single(
        "Attention", 23, (floats(2, 4, 5, 8), floats(2, 2, 7, 8), floats(2, 2, 7, 6)),
        (floats(2, 4, 5, 6),), scale=0.3,
    ),
    "causal Attention with a mask": single(
        "Attention", 23,
        (floats(1, 2, 5, 8), floats(1, 2, 5, 8), floats(1, 2, 5, 8), floats(5, 5)),
        (floats(1, 2, 5, 8),), is_causal=1,
    ),
    "a group": Layer(
        tensors=(floats(3, 8), weights(8, 8), floats(8), floats(3, 8), floats(3, 8), floats(3, 8)),
        operators=(
            operator("MatMul", 13, (0, 1), (3,)),
            operator("Add", 14, (3, 2), (4,)),
            operator("Tanh", 13, (4,), (5,)),
        ),
        outputs=(3, 5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_it_computes_what_onnx_runtime_does(name: str, library: Library) -> None:
    torch = pytest.importorskip("torch") if library == "torch" else None
    layer = LAYERS[name]
    signature = signature_of(layer)
    draws = Draws(layer, signature, "fp32", np.random.default_rng(3))
    fixed, changing = draws.weights(), draws.inputs()
    draws.use(fixed)
    given = iter(fixed), iter(changing)
    arrays = [next(given[0] if each.constant else given[1]) for each in signature.inputs]
    program = _run(reference(layer, signature, library))
    results = program["run"](*([torch.from_numpy(a.copy()) for a in arrays] if torch else arrays))
    found = results if isinstance(results, tuple) else (results,)
    expected = draws.expected(changing)
    for result, wanted, operand in zip(found, expected, signature.outputs, strict=True):
        array = np.asarray(result)
        assert (array.shape, array.dtype.name) == (operand.shape, operand.dtype)
        assert relative_error(array, wanted) < 1e-5


def test_it_draws_its_own_inputs() -> None:
    layer = LAYERS["Gather"]
    signature = signature_of(layer)
    source = reference(layer, signature, "numpy") + drawn_by_numpy(layer, signature)
    program = _run(source)
    table, indices = program["inputs"](1)
    assert 0 <= indices.min() <= indices.max() < len(table)
    assert program["run"](table, indices).shape == (2, 3, 5)
    in_torch = reference(layer, signature, "torch") + drawn_by_torch(layer, signature)
    compile(in_torch, "reference", "exec")


def test_it_draws_inputs_of_bfloat16_for_other_results() -> None:
    layer = single("IsNaN", 20, (Tensor("bfloat16", (4,)),), (Tensor("bool", (4,)),))
    signature = signature_of(layer)
    program = _run(reference(layer, signature, "numpy") + drawn_by_numpy(layer, signature))
    (numbers,) = program["inputs"]()
    assert numbers.dtype.name == "bfloat16"
    assert not program["run"](numbers).any()


def test_another_value_of_padding_is_in_both_references() -> None:
    layer = LAYERS["Pad with another value"]
    signature = signature_of(layer)
    assert "constant_values=0.5" in reference(layer, signature, "numpy")
    assert ", 0.5)" in reference(layer, signature, "torch")


def test_what_can_not_be_written_is_named() -> None:
    layer = single("NonZero", 13, (floats(4),), (Tensor("int64", (1, 4)),))
    with pytest.raises(NoReferenceError, match="NonZero isn't written in numpy"):
        reference(layer, signature_of(layer), "numpy")
    layer = single("Tile", 13, (floats(4), Tensor("int64", (1,))), (floats(8),))
    with pytest.raises(NoReferenceError, match="Tile"):
        reference(layer, signature_of(layer), "torch")


def _run(source: str) -> dict[str, Any]:
    program: dict[str, Any] = {"__name__": "reference"}
    exec(compile(source, "reference", "exec"), program)  # it was written here
    return program


def test_channels_lie_last_behind_a_product_whose_view_is_left_out() -> None:
    layer = Layer(
        (floats(1, 6, 8), weights(8, 4), floats(1, 6, 4), *(weights(4),) * 4, floats(1, 6, 4)),
        operators=(
            operator("MatMul", 13, (0, 1), (2,)),
            operator("BatchNormalization", 15, (2, 3, 4, 5, 6), (7,), epsilon=0.0),
        ),
        outputs=(7,),
    )
    signature = signature_of(layer)
    source = reference(layer, signature, "numpy") + drawn_by_numpy(layer, signature)
    program = _run(source)
    x, w, *others = program["inputs"]()
    scale, shift, mean, variance = others
    wanted = (x @ w - mean) / np.sqrt(variance) * scale + shift
    assert np.allclose(program["run"](x, w, *others), wanted, atol=1e-5)
