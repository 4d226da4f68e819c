"""The largest models that ingest accepts."""

from dataclasses import dataclass

from benanza_backbone.settings import Settings


@dataclass(frozen=True)
class Limits:
    """The limits for a model; a setting raises each.

    `model_bytes` is the size of the ONNX file without external data; protobuf limits it to 2 GB.
    `nodes` is the number of nodes; those of functions and bodies count as often as they are used.
    `tensor_elements` is the number of elements of one tensor.
    """

    model_bytes: int = 2**31 - 1
    nodes: int = 200_000
    tensor_elements: int = 2**40


MODEL_BYTES_SETTING = "BENANZA_MAX_MODEL_BYTES"
NODES_SETTING = "BENANZA_MAX_NODES"
TENSOR_ELEMENTS_SETTING = "BENANZA_MAX_TENSOR_ELEMENTS"


def limits_of(settings: Settings) -> Limits:
    """The limits for a model in these settings."""
    return Limits(
        model_bytes=settings.max_model_bytes,
        nodes=settings.max_nodes,
        tensor_elements=settings.max_tensor_elements,
    )
