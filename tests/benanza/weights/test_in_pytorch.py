"""Shared weights as tensors of PyTorch."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from benanza_backbone.weights.lease import leased
from tests.benanza.weights.models import model_of, product_model, saved, weight

torch = pytest.importorskip("torch")


def test_tensors_lie_where_the_weights_are(socket: Path, tmp_path: Path) -> None:
    from benanza_backbone.weights.in_pytorch import tensors

    path = saved(product_model(), tmp_path / "m.onnx")
    with leased(path, socket=socket) as weights, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tensors(weights)["a"]
        assert found.data_ptr() == weights.arrays["a"].ctypes.data
        np.testing.assert_array_equal(found.numpy(), weight(product_model(), "a"))
        layer = torch.nn.Linear(*found.shape, bias=False, device="meta")
        layer.load_state_dict({"weight": found}, assign=True)
        assert layer.weight.data_ptr() == found.data_ptr()


def test_types_that_numpy_lacks_are_those_of_pytorch(socket: Path, tmp_path: Path) -> None:
    from benanza_backbone.weights.in_pytorch import tensors

    given = [
        helper.make_tensor(name, kind, [40_000], bytes(range(250)) * (320 * width // 2), raw=True)
        for name, kind, width in (
            ("b", TensorProto.BFLOAT16, 2),
            ("f", TensorProto.FLOAT8E4M3FN, 1),
        )
    ]
    path = saved(model_of([helper.make_node("Identity", ["x"], ["y"])], given), tmp_path / "m.onnx")
    with leased(path, socket=socket) as weights:
        found = tensors(weights)
        assert (found["b"].dtype, found["f"].dtype) == (torch.bfloat16, torch.float8_e4m3fn)
        for name, array in weights.arrays.items():
            assert found[name].view(torch.uint8).numpy().tobytes() == array.tobytes()
