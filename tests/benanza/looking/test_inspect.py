"""What `inspect` shows of a layer."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from benanza.looking.inspect import inspect_model
from benanza_ingest.limits import Limits


def shown(folder: Path, alpha: float) -> float:
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("LeakyRelu", ["x"], ["y"], alpha=alpha)],
            "g",
            [helper.make_tensor_value_info("x", 1, [4, 8])],
            [helper.make_tensor_value_info("y", 1, [4, 8])],
        )
    )
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    (layer,) = inspect_model(str(path), None, {}, Limits()).layers
    found = layer.attributes["alpha"]
    assert isinstance(found, float)
    return found


def test_an_attribute_is_the_number_that_was_written(tmp_path: Path) -> None:
    """1e-05 was shown as 9.999999747378752e-06, which is its float32."""
    assert shown(tmp_path, 1e-5) == 1e-5
    assert shown(tmp_path, 0.2) == 0.2
    assert shown(tmp_path, 2.0**31) == 2.0**31


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_it_rounds_to_the_float32_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, alpha: float
) -> None:
    assert np.float32(shown(tmp_path_factory.mktemp("m"), alpha)) == np.float32(alpha)
