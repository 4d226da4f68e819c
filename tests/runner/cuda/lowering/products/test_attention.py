"""Attentions of real models are one call each, and what is none has a reason."""

import numpy as np
import pytest

from benanza_runner.cuda.calls import Attention, RowNormalisation
from benanza_runner.cuda.lowering.lower import lower, reads
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator, Tensor
from tests.ingest.real_models import extracted as real
from tests.runner.cuda.layers.attention import PLAIN, SQUARE, WHOLE, attention, operator
from tests.runner.layers import floats, weights
from tests.runner.layers import operator as node

EXPORTED = (
    "timm-vit_tiny_patch16_224",
    "torchvision-swin_t",
    "transformers-bert",
    "transformers-gpt2",
    "transformers-llama",
    "transformers-t5-decoder",
    "transformers-t5-encoder",
    "transformers-whisper-decoder",
    "transformers-whisper-encoder",
    "diffusers-unet",
)


def groups(name: str, rule: str) -> list[Layer]:
    """The distinct groups that a rule finds in an exported model."""
    found = {g.fingerprint: g.layer for g in real(name).groups if g.rule == rule}
    return list(found.values())


def call_of(layer: Layer) -> Attention:
    values = random_inputs(layer, "fp16")
    lowered = lower(layer, values)
    assert isinstance(lowered.call, Attention)
    assert {"query", "key", "value"} <= set(reads(lowered, values)) | lowered.weights
    return lowered.call


@pytest.mark.parametrize("name", EXPORTED)
def test_all_groups_of_exported_models_are_one_call(name: str) -> None:
    found = groups(name, "attention")
    assert found
    for layer in found:
        call = call_of(layer)
        rows, columns = call.key_steps[2:]
        prepared = layer.operators[0].op_type == "Transpose"
        assert (columns if prepared else rows) == 1, "keys lie as the exporter had them"


@pytest.mark.parametrize("name", EXPORTED[2:5])
def test_a_model_exported_otherwise_has_the_same_calls(name: str) -> None:
    """Optimised or not: what lies between makes no difference to the library."""
    calls, raw = ({call_of(g) for g in groups(name + end, "attention")} for end in ("", "-raw"))
    assert calls == raw


def test_a_sum_with_its_norm_is_one_call() -> None:
    """One adds two results; the first of the model adds places, which are weights."""
    fixed = []
    for layer in groups("transformers-bert", "norm"):
        call, operands, constants = lower(layer, random_inputs(layer, "fp16"))
        assert isinstance(call, RowNormalisation)
        assert call.residual
        assert set(operands) == {"input", "residual", "scale", "bias"}
        fixed.append(constants - {"scale", "bias"})
    assert sorted(map(len, fixed)) == [0, 1]


def test_what_is_fixed_is_put_together() -> None:
    body = "a = MatMul(q, k) b = Mul(a, s) c = Add(b, w) d = Div(c, s) e = Add(d, by_head)"
    layer = attention(PLAIN, f"{body} p = Softmax(e) y = MatMul(p, v)")
    values = random_inputs(layer, "fp32")
    call, operands, constants = lower(layer, values)
    assert isinstance(call, Attention)
    assert call.scale == pytest.approx(1.0)
    assert call.mask == (1, 4, 7, 9)
    assert constants == {"mask"}
    s, w, by_head = (
        next(v for i, v in values.items() if layer.tensors[i].constant and v.shape == shape)
        for shape in ((), (1, 1, 7, 9), (1, 4, 7, 9))
    )
    np.testing.assert_allclose(operands["mask"], w / s + by_head, rtol=1e-6)


def test_keys_that_heads_share_are_read_once() -> None:
    layer = operator((2, 7, 64), (2, 9, 32), (2, 9, 16), (2, 7, 32), q_num_heads=4, kv_num_heads=2)
    call = call_of(layer)
    assert (call.heads, call.key_heads, call.value_heads) == (4, 2, 2)
    assert call.query_steps == (7 * 64, 16, 64, 1)
    assert call.key_steps == (9 * 32, 16, 32, 1)
    assert call.output_steps == (7 * 32, 8, 32, 1)


M1, M2 = "float[2,1,7,9] m", "float[2,1,7,9] m2"
PAST = (2, 4, 3, 16), (2, 4, 3, 8)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (
            attention(
                f"{PLAIN}, {M1}, {M2}",
                "a = MatMul(q, k) b = Add(a, m) c = Add(b, m2) p = Softmax(c) y = MatMul(p, v)",
            ),
            "two computed masks",
        ),
        (
            attention(
                f"{PLAIN}, {M1}",
                "a = MatMul(q, k) b = Add(a, m) c = Add(b, w) p = Softmax(c) y = MatMul(p, v)",
            ),
            "a constant and a computed mask",
        ),
        (
            attention(
                f"{PLAIN}, {M1}",
                "a = MatMul(q, k) b = Add(a, m) c = Mul(b, s) p = Softmax(c) y = MatMul(p, v)",
            ),
            "scales a computed mask",
        ),
        (
            attention(
                "float[1,4,7,16] q, float[1,4,16,9] k, float[2,4,9,8] v",
                "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)",
            ),
            "scores are repeated",
        ),
        (
            attention(
                "float[2,7,4,16] q0, float[2,9,4,16] k0, float[8,9,8] v",
                "n = Constant<value_ints=[8, 16, 9]>() q1 = Relu(q0)"
                " q2 = Transpose<perm=[0,2,1,3]>(q1) n1 = Constant<value_ints=[8, 7, 16]>()"
                " q = Reshape(q2, n1) k1 = Transpose<perm=[0,2,3,1]>(k0) k = Reshape(k1, n)"
                " a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)",
            ),
            "not contiguous in memory",
        ),
        (operator(*WHOLE, Tensor("bool", (7, 9))), "mask is bool"),
        (operator(*WHOLE, floats(7, 8)), "mask lacks keys"),
        (operator(*WHOLE, softcap=2.0), "caps its scores"),
        (
            operator(*SQUARE, floats(9, 12), *(floats(*shape) for shape in PAST)),
            "past keys and values",
        ),
    ],
)
def test_what_is_not_done_has_a_reason(layer: Layer, reason: str) -> None:
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)


@pytest.mark.parametrize(
    ("middle", "reason"),
    [
        (
            (
                node("MatMul", 13, (0, 1), (3,)),
                node("Softmax", 13, (3,), (4,), axis=1),
                node("MatMul", 13, (4, 2), (5,)),
            ),
            "not over the keys",
        ),
        (
            (
                node("MatMul", 13, (0, 1), (3,)),
                node("Softmax", 13, (3,), (4,)),
                node("MatMul", 13, (2, 4), (5,)),
            ),
            "not wired as attention",
        ),
        (
            (
                node("Transpose", 13, (0,), (3,), perm=(0, 2, 1)),
                node("MatMul", 13, (3, 1), (4,)),
                node("Softmax", 13, (4,), (5,)),
                node("MatMul", 13, (5, 2), (6,)),
            ),
            "not wired as attention",
        ),
        (
            (
                node("MatMul", 13, (0, 1), (3,)),
                node("Softmax", 13, (3,), (4,)),
                node("MatMul", 13, (4, 2), (5,)),
                node("Relu", 14, (5,), (6,)),
            ),
            "more operators than attention",
        ),
        (
            (
                node("MatMul", 13, (0, 1), (3,)),
                node("MatMul", 13, (3, 2), (4,)),
                node("Softmax", 13, (4,), (5,)),
            ),
            "more operators than attention",
        ),
    ],
)
def test_other_groups_of_the_same_operators_are_refused(
    middle: tuple[Operator, ...], reason: str
) -> None:
    layer = Layer((floats(2, 8, 8),) * 7, middle, middle[-1].outputs)
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)


def test_a_weight_may_be_the_query() -> None:
    """Learned queries, as of detectors and of pooling by attention."""
    layer = attention(PLAIN, "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)")
    query = layer.operators[0].inputs[0]
    tensors = list(layer.tensors)
    tensors[query] = weights(*tensors[query].shape)
    learned = Layer(tuple(tensors), layer.operators, layer.outputs)
    lowered = lower(learned, random_inputs(learned, "fp32"))
    assert lowered.weights == {"query"}
