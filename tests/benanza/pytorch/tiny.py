"""A tiny convolutional network of timm's: four stages of one block each."""

from functools import cache

import pytest

from benanza.profiling.whole_model import WholeModel, whole_model

NAME = "timm:test_resnet"


def need_pytorch() -> None:
    """Skips the module that calls this where PyTorch isn't installed, as in CI."""
    for package in ("torch", "timm", "onnxscript"):
        pytest.importorskip(package)


@cache
def exported() -> bytes:
    """Its export."""
    from benanza.pytorch.export import export

    content: bytes = export(NAME, 1).SerializeToString()
    return content


def tiny_model() -> WholeModel:
    """It as a whole model."""
    return whole_model(exported())
