"""The layers of units compute what the model does."""

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from msgspec.structs import replace

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.groups.quantised.propose import RULE
from benanza_ingest.program import program
from benanza_runner.onnxruntime.session import CPU
from tests.ingest.onnx_text import content
from tests.ingest.test_program import blocks_of, run

TEXT = """
g (float[1,2,4,4] x) => (float[1,16] y) <float s = {0.05}, uint8 o = {0}, uint8 m = {100},
    float t = {0.02}, float again = {0.02}, int8 wo = {0}, int8[2,2,1,1] w = {10, -20, 30, 40},
    int8[32,16] v = ["location": "v"]> {
    q = QuantizeLinear(x, s, m) d = DequantizeLinear(q, s, m) wf = DequantizeLinear(w, t, wo)
    c = Conv(d, wf) r = Relu(c) cq = QuantizeLinear(r, t, o) cd = DequantizeLinear(cq, t, o)
    a = Sigmoid(cd) aq = QuantizeLinear(a, s, m) ad = DequantizeLinear(aq, s, m)
    e = Add(ad, cd) eq = QuantizeLinear(e, t, o) ed = DequantizeLinear(eq, t, o)
    p = Transpose<perm=[0,1,3,2]>(ed) pq = QuantizeLinear(p, again, o)
    pd = DequantizeLinear(pq, t, o) f = Flatten(pd) fq = QuantizeLinear(f, again, o)
    fd = DequantizeLinear(fq, t, o) vf = DequantizeLinear(v, t, wo) y = MatMul(fd, vf) }
"""


def model() -> bytes:
    made = onnx.load_model_from_string(content(TEXT))
    values = np.random.default_rng(0).integers(-9, 9, (32, 16), np.int8)
    tensor = next(each for each in made.graph.initializer if each.name == "v")
    tensor.CopyFrom(onnx.numpy_helper.from_array(values, "v"))
    encoded: bytes = made.SerializeToString()
    return encoded


def test_a_model_computes_the_same_unit_by_unit() -> None:
    file = model()
    found = extract(file)
    found = replace(found, groups=tuple(g for g in found.groups if g.rule == RULE))
    blocks = blocks_of(found, fused=True)
    assert sum(len(block) > 1 for block in blocks) == 5
    values: dict[str, Any] = {
        each.name: onnx.numpy_helper.to_array(each)
        for each in onnx.load_model_from_string(file).graph.initializer
    }
    values["x"] = np.random.default_rng(1).standard_normal((1, 2, 4, 4)).astype(np.float32)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    whole = ort.InferenceSession(file, options, providers=[CPU.name])
    (expected,) = whole.run(["y"], {"x": values["x"]})
    views = {*range(len(found.layers))} - {at for block in blocks for at in block}
    for step in program(file, [*blocks, *((at,) for at in views)]).steps:
        values |= run(step, values)
    np.testing.assert_allclose(values["y"], expected, rtol=1e-5)


def test_what_only_counts_within_a_unit_is_no_step_of_its_own() -> None:
    with pytest.raises(ModelError, match="of what is quantised"):
        program(model(), [*blocks_of(extract(model()), fused=False)])
