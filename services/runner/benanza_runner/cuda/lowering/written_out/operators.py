"""Operators of ONNX Runtime and of ONNX, written with others of ONNX.

Source: the definitions of the operators of `com.microsoft` in ONNX Runtime.
"""

from collections.abc import Callable

from msgspec.structs import replace

from benanza_runner.cuda.lowering.written_out import activated, diffusion
from benanza_runner.cuda.lowering.written_out.causal import causal_convolution
from benanza_runner.cuda.lowering.written_out.embedding import embedding
from benanza_runner.cuda.lowering.written_out.gated import gated_norm, linear_attention_gate
from benanza_runner.cuda.lowering.written_out.rotary import own_rotary, standard_rotary
from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Layer, Operator

DOMAIN, IN_BLOCKS, CLASSICAL = "com.microsoft", "com.microsoft.nchwc", "ai.onnx.ml"


def consists_of_others(layer: Layer) -> bool:
    """Whether a layer has operators that only `in_standard_operators` may know."""
    domains = any(operator.domain for operator in layer.operators)
    return domains or (len(layer.operators) == 1 and ("", layer.operators[0].op_type) in _FORMS)


def in_standard_operators(layer: Layer) -> Layer:
    """The layer as a graph of ONNX's operators, whose inputs are the same tensors.

    Raises `UnsupportedError` for an operator that isn't known here.
    """
    operator = layer.operators[0]
    write = _FORMS.get((operator.domain, operator.op_type))
    if write is None or len(layer.operators) > 1:
        raise UnsupportedError(_what_to_publish(layer.title(), operator.domain))
    writing = Writing(layer)
    write(writing, operator)
    return replace(layer, tensors=tuple(writing.tensors), operators=tuple(writing.operators))


def _what_to_publish(title: str, domain: str) -> str:
    """Why nothing runs such a layer on a GPU, and what to do about it."""
    if domain == CLASSICAL:
        return f"no library here runs {title} on a GPU: --runtime onnxruntime measures it on a CPU"
    if domain == IN_BLOCKS:
        return (
            f"{title} with channels in blocks runs on CPUs alone: publish the model as it was "
            "before ONNX Runtime optimised it"
        )
    instead = "publish the model with operators of ONNX in its place, as before they were fused"
    if title == "DynamicQuantizeLSTM":
        instead = "leave LSTMs in floats where the model is quantised"
    if title == "MatMulFpQ4":
        instead = "quantise to MatMulNBits"
    return f"no library here runs {title} of {domain} on a GPU: {instead}"


def _norm_of_sum(writing: Writing, operator: Operator) -> None:
    """`SkipLayerNormalization`, or with the root of the mean square `SkipSimplified…`."""
    simplified = operator.op_type.startswith("SkipSimplified")
    bias = 3 if simplified else 4
    results = (*operator.outputs, *(OMITTED,) * 4)
    if any(place != OMITTED for place in results[1:3]):
        raise UnsupportedError(f"the statistics of {operator.op_type} are not supported yet")
    x, skip = operator.inputs[:2]
    total = results[3]
    if given(operator, bias):
        both = writing.add("Add", 14, (x, skip))
        both = writing.add("Add", 14, (both, operator.inputs[bias]), total)
    else:
        both = writing.add("Add", 14, (x, skip), total)
    epsilon = operator.number("epsilon", 1e-12)
    if simplified:
        read: tuple[int, ...] = (both, operator.inputs[2])
        name, version = "RMSNormalization", 23
    else:
        read = (both, *operator.inputs[2:4])
        name, version = "LayerNormalization", 17
    writing.add(name, version, read, results[0], axis=-1, epsilon=epsilon)


def _simplified_norm(writing: Writing, operator: Operator) -> None:
    """`SimplifiedLayerNormalization`, which ONNX Runtime has in ONNX's own domain."""
    if any(place != OMITTED for place in operator.outputs[1:]):
        raise UnsupportedError(f"the statistics of {operator.op_type} are not supported yet")
    axis, epsilon = operator.integer("axis", -1), operator.number("epsilon", 1e-5)
    read, result = operator.inputs[:2], operator.outputs[0]
    writing.add("RMSNormalization", 23, read, result, axis=axis, epsilon=epsilon)


def _gelu(writing: Writing, operator: Operator) -> None:
    """`Gelu`, `BiasGelu` and `FastGelu`, which is approximated by tanh."""
    x = operator.inputs[0]
    if given(operator, 1):
        x = writing.add("Add", 14, (x, operator.inputs[1]))
    how = "tanh" if operator.op_type == "FastGelu" else "none"
    writing.add("Gelu", 20, (x,), operator.outputs[0], approximate=how)


def _quick_gelu(writing: Writing, operator: Operator) -> None:
    """`QuickGelu`, which approximates a Gelu by a sigmoid: a Swish with a factor."""
    alpha = operator.number("alpha", 1.702)
    writing.add("Swish", 24, operator.inputs, operator.outputs[0], alpha=alpha)


def _same(version: int) -> Callable[[Writing, Operator], None]:
    """ONNX's operator of the same name and attributes, in this version."""

    def write(writing: Writing, operator: Operator) -> None:
        (result,) = operator.outputs
        kinds = {attribute.name: attribute.value for attribute in operator.attributes}
        shape = writing.shape(result)
        writing.add(operator.op_type, version, operator.inputs, result, shape, **kinds)

    return write


_FORMS: dict[tuple[str, str], Callable[[Writing, Operator], None]] = {
    ("", "CausalConvWithState"): causal_convolution,
    ("", "RotaryEmbedding"): standard_rotary,
    ("", "SimplifiedLayerNormalization"): _simplified_norm,
    (DOMAIN, "BiasAdd"): diffusion.bias_add,
    (DOMAIN, "BiasGelu"): _gelu,
    (DOMAIN, "BiasSoftmax"): diffusion.bias_softmax,
    (DOMAIN, "BiasSplitGelu"): diffusion.bias_split_gelu,
    (DOMAIN, "CausalConvWithState"): causal_convolution,
    (DOMAIN, "DequantizeLinear"): _same(21),
    (DOMAIN, "EmbedLayerNormalization"): embedding,
    (DOMAIN, "FastGelu"): _gelu,
    (DOMAIN, "FusedConv"): activated.convolution,
    (DOMAIN, "FusedGemm"): activated.gemm,
    (DOMAIN, "GatedRMSNorm"): gated_norm,
    (DOMAIN, "Gelu"): _gelu,
    (DOMAIN, "GridSample"): _same(16),
    (DOMAIN, "GroupNorm"): diffusion.group_norm,
    (DOMAIN, "LinearAttentionGate"): linear_attention_gate,
    (DOMAIN, "QuantizeLinear"): _same(21),
    (DOMAIN, "QuickGelu"): _quick_gelu,
    (DOMAIN, "RotaryEmbedding"): own_rotary,
    (DOMAIN, "SkipGroupNorm"): diffusion.group_norm,
    (DOMAIN, "SkipLayerNormalization"): _norm_of_sum,
    (DOMAIN, "SkipSimplifiedLayerNormalization"): _norm_of_sum,
    (DOMAIN, "Trilu"): _same(14),
}
