"""Attentions of real models are one call each, and what is none has a reason."""

import numpy as np
import pytest
from msgspec.structs import replace

from benanza_runner.cuda.calls import Attention, CachedAttention, RowNormalisation
from benanza_runner.cuda.lowering.lower import lower, reads
from benanza_runner.cuda.lowering.norms import is_norm_of_sum
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer, Operator, Tensor
from tests.ingest.real_models import extracted as real
from tests.runner.cuda.layers.attention import (
    FEW,
    GROUPS,
    PLAIN,
    SQUARE,
    WHOLE,
    attention,
    behind,
    operator,
)
from tests.runner.cuda.layers.own import grouped
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
    calls = [call_of(layer) for layer in groups(name, "attention")]
    assert all(1 in call.key_steps[2:] for call in calls), "keys lie as the exporter had them"
    rows = (call.query_steps[3] == call.key_steps[3] == call.value_steps[3] == 1 for call in calls)
    assert any(rows), "with what moves them, the columns of all lie next to each other"


@pytest.mark.parametrize("name", EXPORTED[:1] + EXPORTED[5:7] + EXPORTED[8:])
def test_a_model_exported_otherwise_has_the_same_calls(name: str) -> None:
    """Optimised or not: what lies between makes no difference to what is read in place.

    T5's masks may differ: of those that an exporter has computed, the files here lack the values,
    and so it isn't known that some do nothing.
    """
    calls, raw = (
        {
            replace(call, mask=()) if "t5" in name else call
            for g in groups(name + end, "attention")
            if in_place(call := call_of(g))
        }
        for end in ("", "-raw")
    )
    assert calls == raw != set()


def in_place(call: Attention) -> bool:
    """Whether the heads of queries, keys and values lie next to each other, as products write
    them.
    """
    return call.query_steps[1] == call.key_steps[1] == call.size


def test_a_sum_with_its_norm_is_one_call() -> None:
    layers = list(filter(is_norm_of_sum, groups("transformers-bert", "region")))
    assert layers
    for layer in layers:
        call, operands, constants = lower(layer, random_inputs(layer, "fp16"))
        assert isinstance(call, RowNormalisation)
        assert call.residual
        assert set(operands) == {"input", "residual", "scale", "bias"}
        assert constants == {"scale", "bias"}


def test_what_is_fixed_is_put_together() -> None:
    body = "a = MatMul(q, k) b = Mul(a, s) c = Add(b, w) d = Div(c, s) e = Add(d, by_head)"
    layer = attention(PLAIN, f"{body} p = Softmax(e) y = MatMul(p, v)")
    values = random_inputs(layer, "fp32")
    call, operands, constants = lower(layer, values)
    assert isinstance(call, Attention)
    assert call.scale == pytest.approx(1.0)
    assert call.mask == (1, 4, 7, 9)
    assert constants == {"mask"}
    factor, w, by_head = (
        next(v for i, v in values.items() if layer.tensors[i].constant and v.shape == shape)
        for shape in ((), (1, 1, 7, 9), (1, 4, 7, 9))
    )
    assert factor == 2.5
    np.testing.assert_allclose(operands["mask"], w * factor + by_head, rtol=1e-6)


def test_keys_that_heads_share_are_read_once() -> None:
    layer = operator((2, 7, 64), (2, 9, 32), (2, 9, 16), (2, 7, 32), q_num_heads=4, kv_num_heads=2)
    call = call_of(layer)
    assert (call.heads, call.key_heads, call.value_heads) == (4, 2, 2)
    assert call.query_steps == (7 * 64, 16, 64, 1)
    assert call.key_steps == (9 * 32, 16, 32, 1)
    assert call.output_steps == (7 * 32, 8, 32, 1)


def test_the_last_query_has_the_place_of_the_last_key_that_counts() -> None:
    assert call_of(behind(*FEW[:2], is_causal=1)).before == 297
    assert call_of(behind(*FEW[:2])) == call_of(operator(*FEW))
    assert call_of(GROUPS["causal attention behind kept keys"]).before == 296


def test_all_keys_count_where_it_is_computed_how_many_and_fewer_are_refused() -> None:
    told = behind(*FEW[:2], is_causal=1)
    fewer = replace(told.tensors[3], value=np.array([300, 299], "<i8").tobytes())
    unknown = replace(told.tensors[3], value=None, constant=False)
    hidden, computed = (
        replace(told, tensors=(*told.tensors[:3], length, *told.tensors[4:]))
        for length in (fewer, unknown)
    )
    assert call_of(computed) == call_of(told)
    with pytest.raises(UnsupportedError, match="keys that don't count"):
        lower(hidden, random_inputs(hidden, "fp32"))


@pytest.mark.parametrize(("queries", "keys", "before"), [(1, 40, 0), (3, 42, 39)])
def test_only_keys_in_windows_are_read(queries: int, keys: int, before: int) -> None:
    layer = grouped(1, queries, 300, rotated=16, local_window_size=40)
    call = lower(layer, random_inputs(layer, "fp16")).call
    assert isinstance(call, CachedAttention)
    read = call.attention()
    assert (read.queries, read.keys, read.before) == (queries, keys, before)
    assert read.key_start == read.value_start == (300 - keys) * 16
    assert read.window == (40 if queries > 1 else 0), "one query sees all that is read"


def test_a_mask_has_a_place_for_each_key() -> None:
    layer = grouped(1, 1, 300, local_window_size=40, beside={10: floats(1, 1, 1, 300)})
    call = lower(layer, random_inputs(layer, "fp16")).call
    assert isinstance(call, CachedAttention)
    read = call.attention()
    assert (read.keys, read.key_start, read.window, read.before) == (300, 0, 40, 299)


def test_sinks_are_zeros_where_there_is_only_a_smooth_softmax() -> None:
    layer = grouped(1, 1, 9, smooth_softmax=1)
    _, operands, weights_of = lower(layer, random_inputs(layer, "fp16"))
    assert "sinks" in weights_of
    np.testing.assert_array_equal(operands["sinks"], np.zeros(4))


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
            "mask is computed within the group",
        ),
        (
            attention(
                f"{PLAIN}, {M1}",
                "a = MatMul(q, k) b = Add(a, m) c = Add(b, w) p = Softmax(c) y = MatMul(p, v)",
            ),
            "mask is computed within the group",
        ),
        (
            attention(
                f"{PLAIN}, {M1}",
                "a = MatMul(q, k) b = Add(a, m) c = Mul(b, s) p = Softmax(c) y = MatMul(p, v)",
            ),
            "mask is computed within the group",
        ),
        (
            attention(
                f"{PLAIN}, {M1}, bool[2,1,7,9] b",
                "a = MatMul(q, k) c = Add(a, m) d = Where(b, c, none) p = Softmax(d)"
                " y = MatMul(p, v)",
            ),
            "a mask that two others make up",
        ),
        (operator(*WHOLE, Tensor("int64", (7, 9))), "mask is int64"),
        (operator(*WHOLE, floats(7, 8)), "mask lacks keys"),
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


CORE = node("Attention", 23, (0, 1, 2), (3,))


@pytest.mark.parametrize(
    ("operators", "outputs", "reason"),
    [
        ((CORE, node("Relu", 14, (3,), (4,))), (4,), "computes more than one call does"),
        ((CORE, node("Transpose", 23, (2,), (4,))), (4,), "computes more than one call does"),
        (
            (node("Relu", 14, (0,), (4,)), node("Attention", 23, (4, 1, 2), (3,))),
            (3,),
            "Relu is not read in place",
        ),
        ((node("Attention", 23, (0, 1, 2), (3, 4)),), (3, 4), "several outputs"),
    ],
)
def test_other_operators_with_attention_are_refused(
    operators: tuple[Operator, ...], outputs: tuple[int, ...], reason: str
) -> None:
    layer = Layer((floats(2, 2, 8, 8),) * 5, operators, outputs)
    values = {i: np.ones(layer.tensors[i].shape, np.float32) for i in layer.inputs()}
    with pytest.raises(UnsupportedError, match=reason):
        lower(layer, values)


def test_operands_are_parts_of_one_input() -> None:
    """Queries, keys and values of one product are read where it wrote them."""
    layer = GROUPS["attention of one product"]
    values = random_inputs(layer, "fp32")
    lowered = lower(layer, values)
    assert isinstance(lowered.call, Attention)
    assert reads(lowered, values) == dict.fromkeys(("query", "key", "value"), layer.inputs()[0])
    call = lowered.call
    assert (call.query_start, call.key_start, call.value_start) == (0, 32, 64)
    assert call.query_steps == call.key_steps == call.value_steps == (7 * 96, 8, 96, 1)
    assert call.output_steps == (7 * 32, 8, 32, 1)


def test_heads_that_share_keys_read_them_once() -> None:
    call = call_of(GROUPS["attention of grouped queries"])
    assert (call.heads, call.key_heads, call.value_heads) == (4, 2, 2)
    assert call.key_steps == (9 * 32, 16, 32, 1)


def test_a_mask_of_bools_is_read_as_it_is() -> None:
    layer = GROUPS["attention with the lowest number where a mask says so"]
    values = random_inputs(layer, "fp32")
    lowered = lower(layer, values)
    assert isinstance(lowered.call, Attention)
    assert lowered.call.chosen == (float(np.finfo(np.float32).min), 0.0)
    assert lowered.call.mask == (2, 1, 7, 9)
    assert lowered.operands["mask"].dtype == np.bool_
    assert "mask" in reads(lowered, values)


def test_a_weight_may_be_the_query() -> None:
    """Learned queries, as of detectors and of pooling by attention."""
    layer = attention(PLAIN, "a = MatMul(q, k) p = Softmax(a) y = MatMul(p, v)")
    query = next(op.inputs[0] for op in layer.operators if op.op_type == "Attention")
    tensors = list(layer.tensors)
    tensors[query] = weights(*tensors[query].shape)
    learned = Layer(tuple(tensors), layer.operators, layer.outputs)
    lowered = lower(learned, random_inputs(learned, "fp32"))
    assert lowered.weights == {"query"}


def test_sinks_are_those_of_each_head() -> None:
    layer = GROUPS["attention with sinks and a computed mask"]
    values = random_inputs(layer, "fp32")
    lowered = lower(layer, values)
    assert isinstance(lowered.call, Attention)
    assert lowered.call.sinks
    assert (lowered.call.heads, lowered.call.key_heads) == (4, 2)
    assert "sinks" in lowered.weights
    sinks = next(at for at, each in enumerate(layer.tensors) if each == weights(4))
    np.testing.assert_array_equal(lowered.operands["sinks"], values[sinks])


def test_values_that_are_the_first_part_of_keys_are_known_as_such() -> None:
    assert call_of(GROUPS["attention of one query to kept vectors"]).shared
    assert not call_of(GROUPS["attention of one product"]).shared
