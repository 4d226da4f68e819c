"""The part of a decoder's layer that works on each token by itself.

As `make_mlp` and `make_moe` of onnxruntime-genai's builders write it: `builders/base.py`,
`builders/gptoss.py` for experts with biases.
"""

from typing import Any

from onnx import TensorProto

from benanza_ingest.decoders.decoder import BLOCK
from benanza_ingest.decoders.growing import OWN, TOKENS, GrowingGraph


def each_token(graph: GrowingGraph, layer: int, of: str) -> str:
    """Adds that of this layer: one network, or experts, with those that each token has besides."""
    d, base = graph.of, f"/model/layers.{layer}"
    if not d.experts or layer < d.dense_layers:
        return feed_forward(graph, f"{base}/mlp", of, d.dense_intermediate or d.intermediate)
    out = mixture(graph, layer, of)
    if not d.shared_experts:
        return out
    size = d.shared_experts * d.intermediate
    shared = feed_forward(graph, f"{base}/moe/shared_experts", of, size)
    return graph.node(f"{base}/moe/Add", [out, shared], (*TOKENS, d.hidden))


def feed_forward(graph: GrowingGraph, base: str, of: str, intermediate: int) -> str:
    """Adds gate, up and down projections; without a gate for squared ReLU, and for layers whose
    norms have a mean and whose products have a bias, as Whisper's.
    """
    d, shape = graph.of, (*TOKENS, intermediate)
    if d.activation == "relu2":
        out = graph.product(f"{base}/up_proj", of, d.hidden, intermediate)
        out = graph.node(f"{base}/act_fn/Relu", [out], shape)
        out = graph.node(f"{base}/square/Pow", [out, graph.constant([2], TensorProto.INT32)], shape)
        return graph.product(f"{base}/down_proj", out, intermediate, d.hidden)
    if d.crossed and d.output_bias:
        out = graph.product(f"{base}/fc1", of, d.hidden, intermediate, bias=True)
        out = graph.node(f"{base}/act_fn/Gelu", [out], shape)
        return graph.product(f"{base}/fc2", out, intermediate, d.hidden, bias=True)
    gate = graph.product(f"{base}/gate_proj", of, d.hidden, intermediate)
    up = graph.product(f"{base}/up_proj", of, d.hidden, intermediate)
    if d.activation == "silu":
        act = graph.node(f"{base}/act_fn/Sigmoid", [gate], shape)
        act = graph.node(f"{base}/act_fn/Mul", [gate, act], shape)
    else:
        act = graph.node(f"{base}/act_fn/Gelu", [gate], shape, approximate="tanh")
    out = graph.node(f"{base}/Mul", [act, up], shape)
    return graph.product(f"{base}/down_proj", out, intermediate, d.hidden)


def mixture(graph: GrowingGraph, layer: int, of: str) -> str:
    """Adds a router and a mixture of experts, as one operator: gate, down and up projections, or
    the first and the last of them in one matrix.
    """
    d, base = graph.of, f"/model/layers.{layer}/moe"
    router = graph.product(f"{base}/router", of, d.hidden, d.experts, bias=d.swiglu)
    rows = ("batch_size * sequence_length", d.experts)
    flat = graph.constant([-1, d.experts])
    inputs = [of, graph.node(f"{base}/router/Reshape", [router, flat], rows)]
    if d.swiglu:
        inputs += _expert(graph, layer, "gate_up_proj", d.hidden, 2 * d.intermediate)
        inputs += _expert(graph, layer, "down_proj", d.intermediate, d.hidden)
    else:
        inputs += _expert(graph, layer, "weight_1", d.hidden, d.intermediate)
        inputs += _expert(graph, layer, "weight_2", d.intermediate, d.hidden)
        inputs += _expert(graph, layer, "weight_3", d.hidden, d.intermediate)
    kinds: dict[str, Any] = {
        "k": d.top_k,
        "normalize_routing_weights": int(d.normalised_routes),
        "use_sparse_mixer": 0,
        "activation_type": "swiglu" if d.swiglu else d.activation,
        "swiglu_fusion": int(d.swiglu),
    }
    if d.swiglu:
        kinds |= {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0}
    if d.quantised:
        kinds |= {"expert_weight_bits": d.bits, "block_size": BLOCK}
    operator = "QMoE" if d.quantised else "MoE"
    return graph.node(f"{base}/{operator}", inputs, (*TOKENS, d.hidden), **OWN, **kinds)


def _expert(graph: GrowingGraph, layer: int, name: str, depth: int, width: int) -> list[str]:
    """A projection of all experts: its weight, scales if it is quantised, and its bias or none."""
    d, base = graph.of, f"model.layers.{layer}.moe.experts.{name}"
    bias = graph.weight(f"{base}.bias", (d.experts, width)) if d.swiglu else ""
    if not d.quantised:
        return [graph.weight(f"{base}.weight", (d.experts, width, depth)), bias]
    packed = (d.experts, width, depth * d.bits // 8)
    weight = graph.weight(f"{base}.qweight", packed, TensorProto.UINT8)
    return [weight, graph.weight(f"{base}.scales", (d.experts, width, depth // BLOCK)), bias]
