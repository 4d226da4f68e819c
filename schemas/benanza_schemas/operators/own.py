"""The operators that ONNX Runtime adds to ONNX's own. No region contains any of them."""

from benanza_schemas.operators.facts import OperatorFacts, Rows

OWN_STANDARD: Rows = {"SimplifiedLayerNormalization": OperatorFacts("normalisation", 4)}
"""Those that ONNX Runtime adds to the standard domain."""

OWN: Rows = {
    "BiasSplitGelu ComplexMul ComplexMulConj IsAllFinite MulInteger MurmurHash3 "
    "QLinearLeakyRelu QLinearSigmoid QLinearWhere QOrderedGelu SampleOp": OperatorFacts(
        "element-wise"
    ),
    "QLinearAdd QLinearMul": OperatorFacts("element-wise", others="fit"),
    "BiasAdd GatedAdd": OperatorFacts("element-wise", 2),
    "QuickGelu ScaledSiLU": OperatorFacts("element-wise", 4),
    "FastGelu Gelu": OperatorFacts("element-wise", 5),
    "LinearAttentionGate": OperatorFacts(  # a sum, three of the activation, and a product
        "element-wise", 5
    ),
    "BiasGelu": OperatorFacts("element-wise", 6),
    "GatherND RestorePadding": OperatorFacts("movement", 0),
    "ExpandDims RemovePadding Trilu": OperatorFacts("movement", 0, (1,)),
    "Range": OperatorFacts("movement", 0, (0, 1, 2)),
    "Pad": OperatorFacts("movement", 0, (1, 2)),
    "QLinearReduceMean ReduceSumInteger": OperatorFacts("reduction", None),
    "QOrderedLayerNormalization": OperatorFacts("normalisation"),
    "BranchwiseRMSNorm": OperatorFacts("normalisation", 4),
    "QLinearSoftmax SkipSimplifiedLayerNormalization": OperatorFacts("normalisation", 5),
    "BiasSoftmax": OperatorFacts("normalisation", 6),
    "GroupNorm": OperatorFacts("normalisation", 7),
    "GatedRMSNorm": OperatorFacts(  # the norm, the gate's activation, and their product
        "normalisation", 8
    ),
    "SkipGroupNorm SkipLayerNormalization": OperatorFacts("normalisation", 8),
    "EngramGate": OperatorFacts(  # two norms, a product of rows, and the gate
        "normalisation", 11
    ),
    "MaxpoolWithMask NhwcMaxPool QLinearAveragePool QLinearGlobalAveragePool": OperatorFacts(
        "pooling", None
    ),
    "CDist": OperatorFacts("product"),
    "CausalConvWithState FusedConv FusedGemm FusedMatMul "
    "FusedMatMulActivation GemmFastGelu GemmFloat8 HyperConnectionPostMix HyperConnectionPreMix "
    "MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight MatMulInteger16 "
    "MatMulNBitsMlp MatMulNBitsQkv MoE NhwcConv NhwcFusedConv "
    "QLinearConv QMoE QOrderedMatMul SparseToDenseMatMul TransposeMatMul "
    "VarlenCausalConvWithState": OperatorFacts("product", None),
    "DynamicQuantizeMatMul MatMulBnb4 MatMulIntegerToFloat MatMulNBits QGemm": OperatorFacts(
        "product", None, others="fit"
    ),
    "ConvTransposeWithDynamicPads MatMulFpQ4": OperatorFacts("product", None, (2,)),
    "DecoderMaskedMultiHeadAttention DynamicSparseAttention GatedRelativePositionBias "
    "LongformerAttention PackedAttention PackedSparseAttentionIndexer "
    "QOrderedLongformerAttention SparseAttentionIndexer SparsePagedAttention": OperatorFacts(
        "attention"
    ),
    "Attention DecoderMaskedSelfAttention GatedDeltaNet LinearAttention MultiHeadAttention "
    "PackedMultiHeadAttention PagedAttention QAttention QOrderedAttention "
    "SparseAttention": OperatorFacts("attention", None),
    "RelativePositionBias": OperatorFacts("attention", deciding=(1, 2)),
    "GroupQueryAttention": OperatorFacts("attention", None, (6,)),
    "DecoderAttention": OperatorFacts("attention", None, (8, 9, 10)),
    "AttnLSTM DynamicQuantizeLSTM": OperatorFacts("recurrent", None),
    "Irfft Rfft": OperatorFacts("transform"),
    "Inverse": OperatorFacts("linear algebra"),
    "GridSample": OperatorFacts("sampling"),
    "UnfoldTensor": OperatorFacts("sampling", 0),
    "CropAndResize": OperatorFacts("sampling", deciding=(3,)),
    "DequantizeLinear DequantizeWithOrder QuantizeLinear QuantizeWithOrder": OperatorFacts(
        "quantisation"
    ),
    "DequantizeBFP": OperatorFacts("quantisation", deciding=(1,)),
    "QLinearConcat": OperatorFacts("quantisation", 0, others="fit"),
    "GemmaRotaryEmbedding NGramHashMapping VarlenNGramHashMapping": OperatorFacts("embedding"),
    "TorchEmbedding": OperatorFacts("embedding", 0),
    "GatherBlockQuantized": OperatorFacts("embedding", 2, others="fit"),  # a difference, a product
    "MRotaryEmbedding RotaryEmbedding": OperatorFacts("embedding", 3),  # two products and a sum
    "EmbedLayerNormalization QEmbedLayerNormalization": OperatorFacts(
        "embedding",
        9,  # two sums, then as LayerNormalization
    ),
    "WordConvEmbedding": OperatorFacts("embedding", None),
    "BiasDropout BitmaskBiasDropout": OperatorFacts("random"),
    "BitmaskDropout": OperatorFacts("random", 0),
    "NGramRepeatBlock": OperatorFacts("selection", 0),
    "AllGather": OperatorFacts("collective", 0),
    "AllReduce": OperatorFacts("collective", None),
}
"""Those of `com.microsoft`."""

IN_BLOCKS: Rows = {
    "AveragePool GlobalAveragePool GlobalMaxPool MaxPool": OperatorFacts("pooling", None),
    "Conv": OperatorFacts("product", None),
    "ReorderInput ReorderOutput": OperatorFacts("movement", 0),
    "Upsample": OperatorFacts("sampling"),
}
"""Those of `com.microsoft.nchwc`, whose channels are in blocks."""
