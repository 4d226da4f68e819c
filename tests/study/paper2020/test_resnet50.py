"""MXNet's graph of ResNet50-v1."""

from collections import Counter

from benanza_ingest.extract import extract
from study.paper2020.resnet50 import resnet50_v1


def test_it_has_the_layers_that_the_paper_counts() -> None:
    found = extract(resnet50_v1().SerializeToString(), batch=32)
    ops = Counter(layer.op for layer in found.layers)
    assert ops == {
        "Conv": 53,
        "BatchNormalization": 53,
        "Relu": 49,
        "Add": 16,
        "Gemm": 1,
        "MaxPool": 1,
        "GlobalAveragePool": 1,
        "Flatten": 1,
    }
    assert ops.total() == 175
    assert not any(layer.reason for layer in found.layers)
    last = found.layers[-1].layer
    assert last is not None
    assert last.tensors[last.outputs[0]].shape == (32, 1000)
