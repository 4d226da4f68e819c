"""What stands before and behind LinearAttention: its gates, and a norm of its result with a gate.

Source: the definitions of LinearAttentionGate and GatedRMSNorm in ONNX Runtime.
"""

from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Operator


def linear_attention_gate(writing: Writing, operator: Operator) -> None:
    """`LinearAttentionGate`: logarithms of what is kept, and parts of what corrects a state."""
    a, bias, scale = operator.inputs[:3]
    shifted = writing.add("Add", 14, (a, bias))
    step = writing.add("Softplus", 1, (shifted,))
    writing.add("Mul", 14, (step, scale), operator.outputs[0])
    if given(operator, 3) and (*operator.outputs, OMITTED)[1] != OMITTED:
        writing.add("Sigmoid", 13, (operator.inputs[3],), operator.outputs[1])


def gated_norm(writing: Writing, operator: Operator) -> None:
    """`GatedRMSNorm`, of groups of as many elements as it has weights.

    Raises `UnsupportedError`.
    """
    x, scale, gate = operator.inputs[:3]
    activation = operator.text("activation", "silu")
    if activation not in ("silu", "swish", "sigmoid"):
        raise UnsupportedError(f"{operator.op_type} with '{activation}' is not supported yet")
    shape, size = writing.shape(x), writing.shape(scale)[0]
    groups = (*shape[:-1], shape[-1] // size, size)
    apart = writing.reshape(x, groups)
    epsilon = operator.number("epsilon", 1e-5)
    normed = writing.add("RMSNormalization", 23, (apart, scale), axis=-1, epsilon=epsilon)
    normed = writing.reshape(normed, shape)
    if activation == "sigmoid":
        opened = writing.add("Sigmoid", 13, (gate,))
    else:
        opened = writing.add("Swish", 24, (gate,), alpha=1.0)
    writing.add("Mul", 14, (normed, opened), operator.outputs[0])
