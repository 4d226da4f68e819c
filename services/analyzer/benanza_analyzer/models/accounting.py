"""The two accountings: which layers a bound counts.

`full` counts every layer that computes or moves data. `paper` counts only the operators that
cuDNN and cuBLAS execute, as the 2020 paper does; they are listed below by the call that runs them.
Under both, a view is free, and a layer that ingest skipped is missing.
"""

from typing import Literal

from benanza_schemas.events import LayerSummary
from benanza_schemas.layer import Accounting

Standing = Literal["counted", "free", "not_counted", "missing"]
"""How a bound treats a layer, whatever was measured."""

DEFAULT_DOMAINS = ("", "ai.onnx")

PAPER_2020 = frozenset(
    (
        *("Conv", "Gemm", "MatMul", "RNN", "Dropout"),
        *("BatchNormalization", "MaxPool", "AveragePool", "Softmax"),
        *("Relu", "LeakyRelu", "PRelu", "Sigmoid", "Tanh"),
        *("Add", "Sum", "Sub", "Mul", "Div", "Min", "Max"),
    )
)
"""The operators of the 2020 paper: cuDNN's legacy calls, and `cublas…gemm`, `…gemv`."""

CUDNN_LEGACY = frozenset(
    (
        "ConvTranspose",  # cudnnConvolutionBackwardData
        *("ConvInteger", "QLinearConv"),  # cudnnConvolutionBiasActivationForward in int8
        *("GlobalMaxPool", "GlobalAveragePool"),  # cudnnPoolingForward, a window of it all
        *("GRU", "LSTM"),  # cudnnRNNForward
        *("Clip", "Elu"),  # cudnnActivationForward
        "LRN",  # cudnnLRNCrossChannelForward
        "LogSoftmax",  # cudnnSoftmaxForward
        *("Not", "Sqrt"),  # cudnnOpTensor
        *("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean"),  # cudnnReduceTensor
        *("ReduceMin", "ReduceProd", "ReduceSum"),
    )
)
"""What cuDNN's calls of 2020, which it still has, run beyond the paper's list."""

CUDNN_GRAPH = frozenset(
    (
        "Attention",  # scaled dot-product attention
        *("InstanceNormalization", "LayerNormalization", "RMSNormalization"),  # norm forward
        # Pointwise modes. The identity mode is a copy or a cast: movement, so not here.
        *("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Log", "Mod", "Neg", "Pow"),
        *("Reciprocal", "Sin", "Tan"),
        *("Gelu", "Softplus", "Swish"),
        *("And", "Or", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Where"),
    )
)
"""What the operations of cuDNN 9's graph API add: `cudnnPointwiseMode_t`, norms, attention."""

CUBLAS = frozenset(
    (
        *("MatMulInteger", "QLinearMatMul"),  # cublasLtMatmul in int8
        "Einsum",  # its contractions are cublasGemmStridedBatchedEx
    )
)
"""What cuBLAS and cuBLASLt run beyond the paper's list."""

PAPER = PAPER_2020 | CUDNN_LEGACY | CUDNN_GRAPH | CUBLAS
"""The operators of ONNX's own domain that the accounting `paper` counts."""


def standing(layer: LayerSummary, accounting: Accounting) -> Standing:
    """How a bound under this accounting treats the layer."""
    if layer.kind == "skipped":
        return "missing"
    if layer.kind == "view":
        return "free"
    if accounting == "full":
        return "counted"
    by_library = layer.domain in DEFAULT_DOMAINS and layer.op in PAPER
    return "counted" if by_library else "not_counted"
