"""Results of ai.onnx.ml's operators are as large as those that ONNX Runtime returns."""

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from benanza_ingest.extract import extract
from benanza_ingest.resolving.onnxruntime_operators.classical import RULES
from tests.ingest.onnx_text import content

LEAF: dict[str, Any] = {
    "nodes_treeids": [0],
    "nodes_nodeids": [0],
    "nodes_featureids": [0],
    "nodes_values": [0.0],
    "nodes_modes": ["LEAF"],
    "nodes_truenodeids": [0],
    "nodes_falsenodeids": [0],
}
CLASSES: dict[str, Any] = LEAF | {
    "class_treeids": [0, 0, 0],
    "class_nodeids": [0, 0, 0],
    "class_ids": [0, 1, 2],
    "class_weights": [0.1, 0.2, 0.7],
}
TARGETS: dict[str, Any] = LEAF | {
    "target_treeids": [0, 0],
    "target_nodeids": [0, 0],
    "target_ids": [0, 1],
    "target_weights": [0.1, 0.2],
    "n_targets": 2,
}
VECTORS: dict[str, Any] = {
    "kernel_type": "LINEAR",
    "kernel_params": [0.1, 0.0, 3.0],
    "n_supports": 1,
    "support_vectors": [0.1] * 4,
    "coefficients": [0.5],
    "rho": [0.1],
}

PAIRS: dict[str, Any] = {
    "kernel_type": "LINEAR",
    "kernel_params": [0.1, 0.0, 3.0],
    "support_vectors": [0.1] * 16,
    "vectors_per_class": [1] * 4,
    "coefficients": [0.5] * 12,
    "rho": [0.1] * 6,
    "classlabels_ints": [0, 1, 2, 3],
}

CASES: dict[str, tuple[int, dict[str, Any], int]] = {
    "FeatureVectorizer": (2, {"inputdimensions": [4, 4]}, 1),
    "Imputer": (1, {"imputed_value_floats": [1.0], "replaced_value_float": 0.0}, 1),
    "LinearRegressor": (
        1,
        {"targets": 3, "coefficients": [0.1] * 12, "intercepts": [0.1] * 3},
        1,
    ),
    "Normalizer": (1, {"norm": "L2"}, 1),
    "SVMClassifier": (1, PAIRS, 2),
    "SVMRegressor": (1, VECTORS, 1),
    "Scaler": (1, {"offset": [0.0] * 4, "scale": [2.0] * 4}, 1),
    "TreeEnsembleClassifier": (1, CLASSES | {"classlabels_int64s": [0, 1, 2]}, 2),
    "TreeEnsembleRegressor": (1, TARGETS, 1),
}


@pytest.mark.parametrize("op_type", sorted(RULES.keys() - {"ArrayFeatureExtractor"}))
def test_they_are_what_onnx_runtime_returns(op_type: str) -> None:
    count, attributes, outputs = CASES[op_type]
    names, results = [f"i{at}" for at in range(count)], [f"o{at}" for at in range(outputs)]
    node = helper.make_node(op_type, names, results, domain="ai.onnx.ml", **attributes)
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [5, 4]) for name in names]
    graph = helper.make_graph(
        [node], "g", inputs, [onnx.ValueInfoProto(name=each) for each in results]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    found = ort.InferenceSession(model).run(
        None, {name: np.ones((5, 4), np.float32) for name in names}
    )
    (layer,) = extract(model).layers
    assert layer.layer is not None, layer.reason
    tensors = [layer.layer.tensors[at] for at in layer.layer.operators[0].outputs]
    expected = [(str(each.dtype), each.shape) for each in map(np.asarray, found)]
    assert [(each.dtype, each.shape) for each in tensors] == expected


@pytest.mark.parametrize("shape", ["3", "5,3", "2,5,3"])
def test_the_last_axis_of_what_is_extracted_has_what_is_named(shape: str) -> None:
    text = f"""g (float[{shape}] x, int64[1,2] i) => (float[] y) {{
        y = ai.onnx.ml.ArrayFeatureExtractor(x, i) z = Relu(y) }}"""
    model = content(text, 17, {"ai.onnx.ml": 3})
    given = np.ones([int(size) for size in shape.split(",")], np.float32)
    (found,) = ort.InferenceSession(model).run(None, {"x": given, "i": np.zeros((1, 2), np.int64)})
    layer = extract(model).layers[-1].layer
    assert layer is not None
    assert layer.tensors[-1].shape == np.shape(found)


def test_maps_are_no_tensors_and_can_be_left_out() -> None:
    text = """g (float[2,3] x) => (y) {
        y = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1, 2]> (x) }"""
    (layer,) = extract(content(text, 17, {"ai.onnx.ml": 3})).layers
    assert layer.reason.endswith("as skl2onnx does with zipmap=False")
