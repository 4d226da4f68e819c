"""A whole decoder as a model: the table of words, its layers, and the words' scores.

As `make_model` of onnxruntime-genai's `builders/base.py` writes it, and for four norms
`builders/gemma.py`, for scales `builders/granite.py`.
"""

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from benchmarks.decoders.attending import Lengths, attention, lengths
from benchmarks.decoders.configurations import BLOCK, Decoder
from benchmarks.decoders.feeding_forward import feed_forward, mixture
from benchmarks.decoders.growing import OWN, TOKENS, GrowingGraph


def build(decoder: Decoder) -> ModelProto:
    """The decoder's model, with all its layers, kept keys and values, and logits.

    Its open dimensions are `batch_size`, `sequence_length`, `past_sequence_length` and
    `total_sequence_length`. Its weights are in `NAME.onnx.data`, which is not written.
    """
    d, graph, whole = decoder, GrowingGraph(decoder), TensorProto.INT64
    known = lengths(graph)
    out, total = _words(graph), ""
    for layer in range(d.layers):
        out, total = _layer(graph, layer, out, total, known)
    name = f"/model/layers.{d.layers}/final_norm_layernorm"
    _logits(graph, graph.norm(name, total, out, last=True)[0])
    caches = [f"{layer}.{name}" for layer in range(d.layers) for name in ("key", "value")]

    def kept(name: str, length: str) -> list[ValueInfoProto]:
        shape = ("batch_size", d.kv_heads, f"{length}_sequence_length", d.head_size)
        return [graph.typed(f"{name}.{cache}", shape) for cache in caches]

    inputs = [graph.typed("input_ids", TOKENS, whole)]
    inputs.append(graph.typed("attention_mask", ("batch_size", "total_sequence_length"), whole))
    if not d.fused_rotation:
        inputs.append(graph.typed("position_ids", TOKENS, whole))
    inputs += kept("past_key_values", "past")
    outputs = [graph.typed("logits", (*TOKENS, d.vocabulary)), *kept("present", "total")]
    made = helper.make_graph(
        graph.nodes,
        "main_graph",
        inputs,
        outputs,
        list(graph.weights.values()),
        value_info=graph.types,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        made, producer_name="onnxruntime-genai", ir_version=10, opset_imports=opsets
    )


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
    graph: GrowingGraph, layer: int, out: str, total: str, known: Lengths
) -> tuple[str, str]:
    """Adds a layer behind what the last one gave out and the sum before it, "" at first; returns
    the same of its own.
    """
    d, base = graph.of, f"/model/layers.{layer}"
    name = f"{base}/input_layernorm"
    normed, total = graph.norm(name, total, out) if total else (graph.norm(name, out)[0], out)
    out = attention(graph, layer, normed, known)
    out = graph.scaled(f"{base}/residual_mul/Mul_1", out, d.residual_scale, d.hidden)
    if d.four_norms:
        out, _ = graph.norm(f"{base}/post_attention_layernorm", out)
    between = "pre_feedforward" if d.four_norms else "post_attention"
    normed, total = graph.norm(f"{base}/{between}_layernorm", total, out)
    out = (mixture if d.experts else feed_forward)(graph, layer, normed)
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
