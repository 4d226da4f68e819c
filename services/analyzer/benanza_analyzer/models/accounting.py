"""The two accountings: which layers a bound counts.

`full` counts every layer that computes or moves data. `paper` counts only the operators that the
2020 paper timed with cuDNN and cuBLAS, and takes these libraries' times only; the plan of a bound
sees to the latter. Under both, a view is free, and a layer that ingest skipped is missing.
"""

from typing import Literal

from benanza_schemas.events import LayerSummary
from benanza_schemas.layer import Accounting

Treatment = Literal["counted", "free", "not_counted", "missing"]
"""How a bound treats a layer, whatever was measured."""

DEFAULT_DOMAINS = ("", "ai.onnx")

PAPER = frozenset(
    (
        *("Conv", "Gemm", "MatMul", "RNN", "Dropout"),
        *("BatchNormalization", "MaxPool", "AveragePool", "Softmax"),
        *("Relu", "LeakyRelu", "PRelu", "Sigmoid", "Tanh"),
        *("Add", "Sum", "Sub", "Mul", "Div", "Min", "Max"),
    )
)
"""The operators of ONNX's own domain that the 2020 paper times: by calls of cuDNN as it was then,
and by `cublas…gemm` and `…gemv`."""


def treatment(layer: LayerSummary, accounting: Accounting) -> Treatment:
    """How a bound under this accounting treats the layer."""
    if layer.kind == "skipped":
        return "missing"
    if layer.kind == "view":
        return "free"
    if accounting == "full":
        return "counted"
    timed_then = layer.domain in DEFAULT_DOMAINS and layer.op in PAPER
    return "counted" if timed_then else "not_counted"
