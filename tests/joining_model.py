"""A small model whose last layer alone reads the second input."""

import numpy as np
import onnx

TEXT = """<ir_version: 10, opset_import: ["": 21]>
joining (float[64,128] x, float[64,128] late) => (float[64,128] y) {
  a = MatMul(x, w)
  b = Softmax(a)
  c = MatMul(b, w)
  d = Softmax(c)
  e = MatMul(d, w)
  f = Softmax(e)
  y = Add(f, late)
}"""


def joining_model(seed: int = 1) -> bytes:
    """Products and softmaxes one after the other, and then a sum."""
    model = onnx.parser.parse_model(TEXT)
    weights = np.random.default_rng(seed).standard_normal((128, 128), np.float32) / 8
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    return model.SerializeToString()
