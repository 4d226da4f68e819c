"""ONNX Runtime runs layers of its own operators with what is made up for their inputs."""

import random

import pytest

from benanza_ingest.extract import extract
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.session import CPU, Session
from tests.ingest.resolving.onnxruntime_operators.cases import CASES
from tests.ingest.resolving.onnxruntime_operators.test_results import model_of

TIMES = 5


@pytest.mark.parametrize("op_type", CASES)
def test_it_runs(op_type: str) -> None:
    chance = random.Random(op_type)
    for _ in range(TIMES):
        model, _ = model_of(op_type, CASES[op_type](chance))
        (layer,) = extract(model.SerializeToString()).layers
        assert layer.layer is not None
        made = layer_model(layer.layer)
        Session(made.proto, made.constants, made.inputs, CPU, 1).call()
