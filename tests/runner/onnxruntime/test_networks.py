"""Networks timed as within a model."""

import ast
import sys
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from msgspec.structs import replace

from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime import network_timer as script
from benanza_runner.onnxruntime.network_timer import SAMPLES, NetworkTimer
from benanza_runner.onnxruntime.networks import network_samples_us, network_timer
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.vocabulary import CacheState
from tests.runner.layers import conv, conv_group, floats, relu, single


@pytest.fixture(scope="module")
def timer() -> NetworkTimer:
    return network_timer(threads=1)


def test_more_work_takes_longer(timer: NetworkTimer) -> None:
    small = network_samples_us(timer, layer_model(relu(10)))
    large = network_samples_us(timer, layer_model(conv(64, 56)))
    assert len(small) == SAMPLES
    assert median(small) < median(large)
    # 231 million operations at no more than 500 GFLOP/s.
    assert median(large) > 400


def test_long_networks_are_called_a_few_times_only(
    timer: NetworkTimer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "LONG_US", 0)
    assert len(network_samples_us(timer, layer_model(conv(64, 56)))) == script.FEW_SAMPLES


def test_inputs_keep_their_values(timer: NetworkTimer) -> None:
    model = layer_model(relu(1000))
    before = {name: array.copy() for name, array in model.inputs.items()}
    network_samples_us(timer, model)
    for name, array in model.inputs.items():
        np.testing.assert_array_equal(array, before[name])


def test_types_that_numpy_lacks_are_refused(timer: NetworkTimer) -> None:
    x = replace(floats(4), dtype="bfloat16")
    with pytest.raises(ValueError, match="bfloat16"):
        network_samples_us(timer, layer_model(single("Relu", 14, (x,), (x,))))


def test_a_group_that_is_no_single_call_can_be_a_network() -> None:
    """As one call it is timed only where ONNX Runtime has a kernel for it."""
    network = replace(conv_group(8, 8, "Add", "Relu"), execution="network")
    (variant,) = OnnxRuntime(threads=1, libraries=()).measure(network, "fp32").variants
    assert not variant.failure
    assert variant.cache == CacheState.INTERLEAVED
    assert variant.algorithm == "Conv+Add+Relu"


def test_the_script_of_suites_needs_numpy_and_onnx_runtime_alone() -> None:
    tree = ast.parse(Path(str(script.__file__)).read_text(encoding="utf-8"))
    names = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert names - sys.stdlib_module_names == {"numpy", "onnxruntime"}
