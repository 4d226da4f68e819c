"""An operator's layer, checked against what really runs."""

from typing import Any

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedLayer
from tests.ingest.onnx_text import shapes
from tests.ingest.running import Array, run_one


def one_layer(op_type: str, inputs: list[Array], **more: Any) -> tuple[ExtractedLayer, list[Array]]:
    """The layer of an operator, and what ONNX Runtime computes with it.

    What the layer says of shapes, bytes and parameters is compared with the arrays themselves.
    """
    content, outputs = run_one(op_type, inputs, **more)
    (layer,) = extract(content).layers
    arrays = [array for array in (*inputs, *outputs) if array is not None]
    assert shapes(layer) == [array.shape for array in arrays]
    # Windows that are far apart leave some elements out.
    all_bytes = sum(array.nbytes for array in arrays)
    apart = max(more.get("strides") or [1]) > 1
    assert layer.bytes <= all_bytes if apart else layer.bytes == all_bytes
    weights = more.get("weights", 0)
    assert layer.parameters == sum(a.size for a in inputs[len(inputs) - weights :])
    return layer, outputs
