"""How large a model may be."""

from dataclasses import dataclass

from benanza_backbone.settings import Settings


@dataclass(frozen=True)
class Limits:
    """Bounds on what ingest takes on, each with the setting that raises it.

    `model_bytes` is the ONNX file without external data; ONNX itself allows 2 GB
    (protobuf's limit). `nodes` counts those of functions and bodies as often as they are
    used. `tensor_elements` is for any one tensor.
    """

    model_bytes: int = 2**31 - 1
    nodes: int = 200_000
    tensor_elements: int = 2**40


MODEL_BYTES_SETTING = "BENANZA_MAX_MODEL_BYTES"
NODES_SETTING = "BENANZA_MAX_NODES"
TENSOR_ELEMENTS_SETTING = "BENANZA_MAX_TENSOR_ELEMENTS"


def limits_of(settings: Settings) -> Limits:
    """How large a model may be, as the settings say."""
    return Limits(
        model_bytes=settings.max_model_bytes,
        nodes=settings.max_nodes,
        tensor_elements=settings.max_tensor_elements,
    )
