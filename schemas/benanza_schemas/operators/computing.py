"""Operators each element of whose result follows from many elements of the inputs."""

from benanza_schemas.operators.facts import OperatorFacts, Rows

REDUCTIONS: Rows = {
    "ArgMax ArgMin": OperatorFacts("reduction", None, others="instructions"),
    "CumProd": OperatorFacts("reduction", 1, (1,), "instructions"),
    "CumSum": OperatorFacts("reduction", None, (1,), "instructions", evaluated=True),
    "Hardmax": OperatorFacts("reduction", None),
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceSumSquare": OperatorFacts(
        "reduction", None, (1,), "instructions", "reduction"
    ),
    "ReduceMax ReduceMin ReduceProd ReduceSum": OperatorFacts(
        "reduction", None, (1,), "instructions", "reduction", evaluated=True
    ),
    "TopK": OperatorFacts("ranking", None, (1,), "instructions"),
}

NORMALISATIONS: Rows = {
    "BatchNormalization": OperatorFacts(  # a scale and a shift, both known before
        "normalisation", 2, others="channels", region="element-wise"
    ),
    # Mean, difference, square, sum, scale by deviation, scale, shift.
    "GroupNormalization InstanceNormalization": OperatorFacts(
        "normalisation", 7, others="channels", region="reduction"
    ),
    "LayerNormalization": OperatorFacts("normalisation", 7, others="last axes", region="reduction"),
    "RMSNormalization": OperatorFacts("normalisation", 4, others="last axes", region="reduction"),
    "LRN": OperatorFacts("normalisation", None),
    # Maximum, difference, exponential, sum, quotient.
    "LogSoftmax Softmax": OperatorFacts("normalisation", 5, region="reduction"),
    "LpNormalization": OperatorFacts("normalisation", 3, region="reduction"),
    "MeanVarianceNormalization": OperatorFacts("normalisation", 5),
}

POOLINGS: Rows = {
    "AveragePool MaxPool": OperatorFacts("pooling", None, region="window"),
    "GlobalAveragePool GlobalMaxPool": OperatorFacts("pooling", None, region="reduction"),
    "GlobalLpPool LpPool": OperatorFacts("pooling", None),
}

PRODUCTS: Rows = {
    "Conv": OperatorFacts("product", None, others="channels", region="window"),
    "ConvInteger ConvTranspose QLinearConv": OperatorFacts("product", None, others="channels"),
    "Gemm MatMul MatMulInteger QLinearMatMul": OperatorFacts("product", None, others="fit"),
    "DeformConv Einsum": OperatorFacts("product", None),
    "CausalConvWithState": OperatorFacts("product", None),
    "Attention": OperatorFacts("attention", None),
    "LinearAttention": OperatorFacts("attention", None),
    "GRU LSTM RNN": OperatorFacts("recurrent", None),
    "DFT": OperatorFacts("transform", None, (1, 2)),
    "STFT": OperatorFacts("transform", None, (1, 3)),
    "Det": OperatorFacts("linear algebra", None),
}
