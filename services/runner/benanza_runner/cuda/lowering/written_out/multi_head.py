"""ONNX Runtime's MultiHeadAttention as ONNX's Attention, where that computes the same."""

from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Operator

_REFUSED = {
    3: "a bias",
    4: "a mask of keys",
    6: "former keys and values",
    7: "former keys and values",
    8: "former keys and values",
    9: "keys of other sequences",
}
"""What an input is, by its place, that ONNX's operator lacks or that no call here takes."""


def multi_head(writing: Writing, operator: Operator) -> None:
    """Queries, keys and values, each by batch, token and column of all heads; keys and values also
    by batch, head, token and column. Raises `UnsupportedError`.
    """
    for place, name in _REFUSED.items():
        if given(operator, place):
            raise UnsupportedError(f"a MultiHeadAttention with {name} is not supported yet")
    if any(result != OMITTED for result in operator.outputs[1:]):
        raise UnsupportedError("a MultiHeadAttention with several outputs is not supported yet")
    read = operator.inputs[:3]
    if not all(given(operator, place) for place in range(3)) or any(
        len(writing.shape(index)) > 4 for index in read
    ):
        raise UnsupportedError("a MultiHeadAttention of packed keys is not supported yet")
    causal = operator.integer("unidirectional", 0)
    if causal and writing.shape(read[0])[-2] != writing.shape(read[1])[-2]:
        raise UnsupportedError(
            "a causal MultiHeadAttention of more keys than queries is not supported yet"
        )
    heads = operator.integer("num_heads")
    size = writing.shape(read[0])[-1] // heads
    writing.add(
        "Attention",
        23,
        (*read, *operator.inputs[5:6]),
        operator.outputs[0],
        is_causal=causal,
        kv_num_heads=heads,
        q_num_heads=heads,
        scale=operator.number("scale", 0.0) or size**-0.5,
    )
