"""A whole decoder as a model: the table of words, its layers, and the words' scores.

As `make_model` of onnxruntime-genai's `builders/base.py` writes it, and for four norms
`builders/gemma.py`, for scales `builders/granite.py`.
"""

from collections.abc import Callable
from functools import partial

from onnx import ModelProto, TensorProto, helper

from benanza_ingest.decoders.attending import attention, lengths
from benanza_ingest.decoders.crossing import (
    cross_attention,
    positions,
    scores_bias,
    self_attention,
)
from benanza_ingest.decoders.decoder import BLOCK, Decoder
from benanza_ingest.decoders.feeding_forward import each_token
from benanza_ingest.decoders.growing import OWN, TOKENS, GrowingGraph
from benanza_ingest.decoders.latent import latent_attention

Attend = Callable[[int, str], str]

HAS_ATTENTION = 23
"""The first opset that has Attention."""


def build(decoder: Decoder) -> ModelProto:
    """The decoder's model, with all its layers, kept keys and values, and logits.

    Its open dimensions are `batch_size`, `sequence_length`, `past_sequence_length` and
    `total_sequence_length`. Its weights are in `NAME.onnx.data`, which is not written. With latent
    attention, or behind an encoder, it takes one token, or a prompt behind nothing.
    """
    d, graph, whole = decoder, GrowingGraph(decoder), TensorProto.INT64
    inputs = [graph.typed("input_ids", TOKENS, whole)]
    own_rotation = d.latent or not (d.fused_rotation or d.crossed)
    if not d.latent and not d.crossed:
        inputs.append(graph.typed("attention_mask", ("batch_size", "total_sequence_length"), whole))
    if own_rotation or (d.crossed and d.crossed.learned_positions):
        inputs.append(graph.typed("position_ids", TOKENS, whole))
    out, total, attend = _words(graph), "", _attention(graph)
    if d.crossed:
        out = positions(graph, out)
    for layer in range(d.layers):
        out, total = _layer(graph, layer, out, total, attend)
    name = f"/model/layers.{d.layers}/final_norm_layernorm"
    _logits(graph, graph.norm(name, total, out, last=True)[0])
    made = helper.make_graph(
        graph.nodes,
        "main_graph",
        [*inputs, *graph.before],
        [graph.typed("logits", (*TOKENS, d.vocabulary)), *graph.after],
        list(graph.weights.values()),
        value_info=graph.types,
    )
    opset = HAS_ATTENTION if d.latent or d.crossed else 21
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        made, producer_name="onnxruntime-genai", ir_version=10, opset_imports=opsets
    )


def _attention(graph: GrowingGraph) -> Attend:
    """What adds the attention of a layer to what it attends from."""
    if graph.of.latent:
        return partial(latent_attention, graph)
    if graph.of.crossed:
        return partial(self_attention, graph, bias=scores_bias(graph))
    return partial(attention, graph, known=lengths(graph))


def _words(graph: GrowingGraph) -> str:
    """The rows of the table for the tokens; of the last product's weight if they are the same."""
    d, name, shape = graph.of, "/model/embed_tokens", (*TOKENS, graph.of.hidden)
    if d.tied and d.quantised:
        packed, *rest = graph.packed("lm_head.MatMul", d.hidden, d.vocabulary)
        flat = (d.vocabulary, d.hidden * d.bits // 8)
        inputs = [packed, graph.constant(list(flat))]
        table = graph.node(f"{name}/Reshape", inputs, flat, TensorProto.UINT8)
        kinds = {"bits": d.bits, "block_size": BLOCK, "gather_axis": 0, "quantize_axis": 1}
        inputs = [table, "input_ids", *rest]
        out = graph.node(f"{name}/GatherBlockQuantized", inputs, shape, **OWN, **kinds)
    else:
        size = (d.vocabulary, d.hidden)
        if d.tied:
            weight = graph.weight("lm_head.MatMul.weight", size[::-1])
            table = graph.node(f"{name}/Transpose", [weight], size, perm=[1, 0])
        else:
            table = graph.weight("model.embed_tokens.weight", size)
        out = graph.node(f"{name}/Gather", [table, "input_ids"], shape)
    return graph.scaled(f"{name}/Mul", out, d.embedding_scale, d.hidden)


def _layer(
    graph: GrowingGraph, layer: int, out: str, total: str, attend: Attend
) -> tuple[str, str]:
    """Adds a layer behind what the last one gave out and the sum before it, "" at first; returns
    the same of its own.
    """
    d, base = graph.of, f"/model/layers.{layer}"
    name = f"{base}/input_layernorm"
    normed, total = graph.norm(name, total, out) if total else (graph.norm(name, out)[0], out)
    out = attend(layer, normed)
    out = graph.scaled(f"{base}/residual_mul/Mul_1", out, d.residual_scale, d.hidden)
    if d.four_norms:
        out, _ = graph.norm(f"{base}/post_attention_layernorm", out)
    if d.crossed:
        normed, total = graph.norm(f"{base}/encoder_attn_layernorm", total, out)
        out = cross_attention(graph, layer, normed)
    between = "pre_feedforward" if d.four_norms else "post_attention"
    normed, total = graph.norm(f"{base}/{between}_layernorm", total, out)
    out = each_token(graph, layer, normed)
    out = graph.scaled(f"{base}/residual_mul/Mul_2", out, d.residual_scale, d.hidden)
    if d.four_norms:
        out, _ = graph.norm(f"{base}/post_feedforward_layernorm", out)
    return out, total


def _logits(graph: GrowingGraph, of: str) -> None:
    """Adds the scores of all words as the output `logits`."""
    d, shape = graph.of, (*TOKENS, graph.of.vocabulary)
    out = graph.product("/lm_head", of, d.hidden, d.vocabulary)
    out = graph.scaled("/lm_head/Mul", out, d.logits_scale, d.vocabulary)
    if d.logits_softcap:
        cap = graph.constant(d.logits_softcap, d.precision)
        out = graph.node("/lm_head/softcap/Div", [out, cap], shape)
        out = graph.node("/lm_head/softcap/Tanh", [out], shape)
        graph.node("/lm_head/softcap/Mul", [out, cap], shape)
    graph.nodes[-1].output[0] = "logits"
    graph.types.pop()
