"""A bound on ONNX Runtime adds up no more calls than ONNX Runtime makes of the same file."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper, parser

from tests.benanza.onnxruntime.calls import calls_of_bound, nodes_of_onnxruntime
from tests.ingest.resolving.repeated_graphs import graphs

MEAN = "ReduceMean<axes=[-1]>"
ROOT = f"V0 = Pow(X, two) V1 = {MEAN}(V0) V2 = Add(V1, eps) V3 = Sqrt(V2)"
CENTRED = f"V4 = {MEAN}(X) V5 = Sub(X, V4) {ROOT.replace('X', 'V5')}"

FUNCTIONS = {
    "gelu": "V0 = Div(X, root2) V1 = Erf(V0) V2 = Add(V1, one) V3 = Mul(X, V2) Y = Mul(V3, half)",
    "gelu of half": "V0 = Div(X, root2) V1 = Erf(V0) V2 = Add(V1, one) V3 = Mul(X, half)"
    " Y = Mul(V3, V2)",
    "fast gelu": "V0 = Pow(X, three) V1 = Mul(V0, k) V2 = Add(X, V1) V3 = Mul(V2, root)"
    " V4 = Tanh(V3) V5 = Add(V4, one) V6 = Mul(X, half) Y = Mul(V6, V5)",
    "quick gelu": "V0 = Mul(X, more) V1 = Sigmoid(V0) Y = Mul(X, V1)",
    "silu": "V0 = Sigmoid(X) Y = Mul(X, V0)",
    "hard swish": "V0 = Add(X, three) V1 = Clip(V0, zero, six) V2 = Mul(X, V1) Y = Div(V2, six)",
    "rms": f"{ROOT} V6 = Div(X, V3) Y = Mul(V6, w)",
    "rms by a reciprocal": f"{ROOT} V6 = Div(one, V3) V7 = Mul(X, V6) Y = Mul(V7, w)",
    "rms without weights": f"{ROOT} V6 = Div(one, V3) Y = Mul(X, V6)",
    "layer norm": f"{CENTRED} V6 = Div(V5, V3) V7 = Mul(V6, w) Y = Add(V7, b)",
    "layer norm by a reciprocal": f"{CENTRED} V6 = Div(one, V3) V7 = Mul(V5, V6) V8 = Mul(V7, w)"
    " Y = Add(V8, b)",
    "quotient": "V0 = Div(one, X) Y = Mul(s, V0)",
    "product": "V0 = Mul(X, half) Y = MatMul(V0, m)",
    "linear": "V0 = MatMul(X, m) Y = Add(V0, b)",
    "residual": "Y = Add(X, s)",
}
VECTOR = np.linspace(0.5, 1.5, 16)
CONSTANTS = {
    "root2": 2**0.5, "one": 1, "half": 0.5, "two": 2, "three": 3, "eps": 1e-6, "k": 0.044715,
    "root": (2 / np.pi) ** 0.5, "more": 1.702, "zero": 0, "six": 6, "w": VECTOR, "b": VECTOR / 10,
    "m": np.outer(VECTOR, VECTOR),
}  # fmt: skip


@st.composite
def models(draw: st.DrawFn) -> bytes:
    """One to four functions, one behind the other, their operands in either order."""
    names = draw(st.lists(st.sampled_from(sorted(FUNCTIONS)), min_size=1, max_size=4))
    body, value = "", "x"
    for number, name in enumerate(names):
        result = "y" if number == len(names) - 1 else f"y{number}"
        text = re.sub(r"\bV(\d)\b", rf"v{number}_\1", FUNCTIONS[name])
        text = re.sub(r"\bX\b", value, text)
        body += f" {re.sub(r'Y', result, text)}"
        value = result
    body = re.sub(
        r"\b(Add|Mul)\((\w+), (\w+)\)",
        lambda found: found[0] if draw(st.booleans()) else "{0}({2}, {1})".format(*found.groups()),
        body,
    )
    shape = "float[2,4,16]"
    graph = f"g ({shape} x, {shape} s) => ({shape} y) {{ {body} }}"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    for name, value_of in CONSTANTS.items():
        if re.search(rf"\b{name}\b", body):
            array = np.asarray(value_of, np.float32)
            model.graph.initializer.append(numpy_helper.from_array(array, name))
    encoded: bytes = model.SerializeToString()
    return encoded


@settings(max_examples=60)
@given(models())
def test_functions_that_are_written_out(content: bytes) -> None:
    assert calls_of_bound(content) <= len(nodes_of_onnxruntime(content))


@settings(max_examples=40)
@given(graphs(("softmax", "repeat")))
def test_what_is_costly_and_repeats(content: bytes) -> None:
    assert calls_of_bound(content) <= len(nodes_of_onnxruntime(content))
