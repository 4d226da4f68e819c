"""ONNX Runtime's EmbedLayerNormalization: the sum of rows of two or three tables, normalised.

Sources: the operator's definition in ONNX Runtime; Devlin et al., "BERT: Pre-training of Deep
Bidirectional Transformers for Language Understanding", 2019, whose embeddings it computes.
"""

from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Operator


def embedding(writing: Writing, operator: Operator) -> None:
    """Tables of words, positions and, with segments, of these; results are the norm, how many
    tokens the mask lets through, and the sum. Raises `UnsupportedError`.
    """
    normed, lengths, total = (*operator.outputs, OMITTED, OMITTED)[:3]
    ids, segments, words, places, kinds, scale, shift = operator.inputs[:7]
    tokens, width = writing.shape(ids), writing.shape(words)[-1]
    if lengths != OMITTED:
        if not given(operator, 7):
            raise UnsupportedError("EmbedLayerNormalization without a mask is not counted yet")
        writing.add("ReduceSum", 11, operator.inputs[7:8], lengths, axes=(1,), keepdims=0)
    rows = writing.add("Gather", 13, (words, ids), shape=(*tokens, width))
    if given(operator, 8):
        chosen = operator.inputs[8]
        shape = (*writing.shape(chosen), width)
        at = writing.add("Gather", 13, (places, chosen), shape=shape)
    else:
        # Each token has the row of its own place.
        at = writing.add(
            "Slice", 1, (places,), shape=(tokens[1], width), axes=(0,), starts=(0,), ends=tokens[1:]
        )
    more = given(operator, 1)
    both = writing.add("Add", 14, (rows, at), None if more else total)
    if more:
        of = writing.add("Gather", 13, (kinds, segments), shape=(*tokens, width))
        both = writing.add("Add", 14, (both, of), total)
    epsilon = operator.number("epsilon", 1e-12)
    read = both, scale, shift
    writing.add("LayerNormalization", 17, read, normed, axis=-1, epsilon=epsilon)
