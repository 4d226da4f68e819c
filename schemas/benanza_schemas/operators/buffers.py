"""Which operators of ONNX Runtime keep keys and values in a buffer that is theirs before and after.

Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md.
"""

from collections.abc import Mapping, Sequence

BUFFERS: Mapping[str, Sequence[tuple[int, int]]] = {
    "Attention": ((4, 1),),
    "DecoderMaskedMultiHeadAttention": ((5, 1), (6, 2)),
    "DecoderMaskedSelfAttention": ((4, 1),),
    "GroupQueryAttention": ((3, 1), (4, 2)),
    "MultiHeadAttention": ((6, 1), (7, 2)),
    "SparseAttention": ((3, 1), (4, 2)),
}
"""By operator of `com.microsoft`: the places of each among inputs and outputs. Where both have the
same shape there is room for what is new, which is written there, and nothing is copied. The last
axis but one is that of keys.
"""
