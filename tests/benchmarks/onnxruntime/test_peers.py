"""Whole models timed in ONNX Runtime: everything but the CUDA provider, on the CPU's."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, checker, helper

from benanza.onnxruntime.half import half
from benanza.profiling.whole_model import Arrays, whole_model
from benanza_ingest.reading.zoo import zoo_path
from benanza_runner.onnx_layers.layer_model import placeholder
from benanza_runner.onnxruntime.session import CPU
from benanza_schemas.layer import Precision
from benchmarks.onnxruntime import peers
from benchmarks.onnxruntime.attempts import OrtConfiguration
from benchmarks.onnxruntime.peers import attempted
from benchmarks.onnxruntime.session import ModelForOrt, tamed, with_weights

PLAIN = OrtConfiguration(nhwc=False, graph=False)
BEST = OrtConfiguration(nhwc=True, graph=True, fused_bias=True)
RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = peers.RULE._replace(warm_up_us=0, samples=2, least_us=0, few_samples=2, max_samples=2)
    monkeypatch.setattr(peers, "RULE", rule)


def model(weights: Arrays, *nodes: tuple[str, str, dict[str, Any]]) -> ModelProto:
    """Nodes one after the other, from `x` to `y`, each with a weight."""
    values = ["x", *(f"v{n}" for n in range(1, len(nodes))), "y"]
    graph = helper.make_graph(
        [
            helper.make_node(op, [values[n], weight], [values[n + 1]], **attributes)
            for n, (op, weight, attributes) in enumerate(nodes)
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        [placeholder(name, TensorProto.FLOAT, array.shape) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=3)


def test_sums_of_products_neither_grow_nor_die_away() -> None:
    weights: Arrays = {
        "a": RANDOM.standard_normal((300, 64)).astype(np.float32) * 9,
        "b": RANDOM.standard_normal((64, 300)).astype(np.float32) / 9,
        "bias": np.ones(5, np.float32),
    }
    proto = model(weights, ("MatMul", "a", {}), ("Gemm", "b", {"transB": 1}), ("Add", "bias", {}))
    made = tamed(proto, weights)
    for weight in (made["a"], made["b"].T):
        sums = RANDOM.standard_normal((1_000, 300)) @ weight
        assert np.std(sums) == pytest.approx(2**0.5, rel=0.05)
        assert weight.dtype == np.float32
    assert made["bias"] is weights["bias"]
    assert made.keys() == weights.keys()


def test_a_weight_of_two_layers_is_scaled_once() -> None:
    weights = {"w": np.full((4, 4), 7, np.float32)}
    twice = model(weights, ("MatMul", "w", {}), ("MatMul", "w", {}))
    np.testing.assert_allclose(tamed(twice, weights)["w"], 0.5**0.5, rtol=1e-6)


def test_weights_stand_in_the_model_afterwards() -> None:
    weights = {"w": RANDOM.standard_normal((3, 5)).astype(np.float32)}
    proto = model(weights, ("MatMul", "w", {}))
    made = with_weights(proto, weights)
    checker.check_model(made, full_check=True)
    x = np.ones((2, 3), np.float32)
    attempt = attempted(PLAIN, CPU, made, {"x": x}, x @ weights["w"])
    assert attempt.failure == ""
    assert (attempt.median_us or 0) > 0
    assert (attempt.error or 0) < 1e-6
    assert attempt.samples >= 2
    assert attempt.on_cpu == ()


def test_a_wrong_result_does_not_count_and_is_kept() -> None:
    weights = {"w": np.ones((3, 5), np.float32)}
    made = with_weights(model(weights, ("MatMul", "w", {})), weights)
    x = np.ones((2, 3), np.float32)
    attempt = attempted(PLAIN, CPU, made, {"x": x}, np.full((2, 5), 4, np.float32))
    assert attempt.failure == "wrong result: it is off by 0.25 of its norm"
    assert (attempt.median_us or 0) > 0
    overflown = attempted(PLAIN, CPU, made, {"x": x * np.float32("inf")}, x @ weights["w"])
    assert overflown.error is None
    assert overflown.failure == "wrong result: it is off by inf of its norm"


def test_what_is_refused_is_an_attempt_with_its_reason() -> None:
    weights = {"w": np.ones((4, 5), np.float32)}
    made = with_weights(model(weights, ("MatMul", "w", {})), weights)
    attempt = attempted(PLAIN, CPU, made, {"x": np.ones((2, 3), np.float32)}, np.ones(1))
    assert "MatMul" in attempt.failure
    missing = attempted(BEST, BEST.provider("fp16"), made, {}, np.ones(1))
    assert missing.failure
    assert missing.median_us is None


def test_a_model_of_the_zoo_at_another_batch_size_in_both_types() -> None:
    whole = ModelForOrt("shufflenet", 2)
    assert whole.expected.shape == (2, 1000)
    asked: dict[Precision, str] = {"fp32": "float32", "fp16": "float16"}
    for precision, dtype in asked.items():
        made, inputs = whole.at(precision)
        checker.check_model(made)
        assert {str(array.dtype) for array in inputs.values()} == {dtype}
        assert attempted(PLAIN, CPU, made, inputs, whole.expected).failure == ""


def test_in_half_a_model_of_the_zoo_has_no_float32_left() -> None:
    model = whole_model(zoo_path("squeezenet").read_bytes())
    made = half(with_weights(model.proto, model.weights))
    kinds = {tensor.data_type for tensor in made.graph.initializer}
    kinds |= {v.type.tensor_type.elem_type for v in (*made.graph.input, *made.graph.output)}
    assert TensorProto.FLOAT not in kinds
