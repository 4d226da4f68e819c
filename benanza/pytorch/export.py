"""ONNX exports of models by PyTorch's exporter, without weights."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import torch

from benanza.pytorch.metadata import mark
from benanza.pytorch.models import case

OPSET = 20


def export(name: str, batch: int) -> onnx.ModelProto:
    """The graph of a model as PyTorch's exporter finds it, which is not optimised.

    Weights are left out, and stand there as external data. Raises what PyTorch or the model's
    package does.
    """
    model, inputs = case(name, batch)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        program(model, inputs).save(path, external_data=True)
        exported = onnx.load(path, load_external_data=False)
    mark(exported, name, batch)
    return exported


def program(model: Any, inputs: Sequence[Any]) -> Any:
    """The `torch.onnx.ONNXProgram` of a model with these inputs.

    Its `exported_program` holds the FX graph that the ONNX graph was made of, after PyTorch's
    exporter has decomposed what ONNX has no operator for.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PyTorch, about itself
        return torch.onnx.export(
            model,
            tuple(inputs),
            dynamo=True,
            opset_version=OPSET,
            optimize=False,
            verbose=False,
        )
