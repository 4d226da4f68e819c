"""What a whole model says of the file that it was made of."""

import numpy as np
from onnx import numpy_helper

from benanza.profiling.whole_model import whole_model
from benanza.pytorch.metadata import MODEL, NODE
from benanza_runner.onnxruntime.session import CPU, Session
from tests.ingest.onnx_text import content, proto

TEXT = """
g (float[4] x) => (float[4] y) <float[4] w = {1, 2, 3, 4}> {
    folded = Neg(w)
    dead = Relu(x)
    a = Add(x, folded)
    y = Relu(a)
}
"""


def test_layers_have_the_origins_of_their_nodes() -> None:
    model = proto(TEXT)
    model.metadata_props.add(key=MODEL, value="resnet50")
    for node, origin in zip(model.graph.node, ("neg", "relu", "add", ""), strict=True):
        if origin:
            node.metadata_props.add(key=NODE, value=origin)
    found = whole_model(model.SerializeToString())
    assert [node.op_type for node in found.proto.graph.node] == ["Add", "Relu"]
    assert found.origins == ("add", "")
    assert found.metadata == {MODEL: "resnet50"}


def test_other_files_have_none() -> None:
    found = whole_model(content(TEXT))
    assert found.origins == ("", "")
    assert found.metadata == {}


def test_an_index_that_the_file_holds_stays_as_it_is() -> None:
    """Two tables are read at it, and the second has one row only."""
    text = """
    g (float[8, 4] x, float[1, 4] y) => (float[4] z) <int64 at = {0}> {
        a = Gather(x, at)
        b = Gather(y, at)
        z = Add(a, b)
    }
    """
    found = whole_model(content(text))
    (index,) = (each for each in found.proto.graph.initializer if each.name == "at")
    assert numpy_helper.to_array(index) == 0
    session = Session(found.proto, found.weights, found.inputs, CPU, threads=1)
    assert session.call().us > 0


def test_numbers_by_which_frameworks_know_a_function_stay_as_they_are() -> None:
    text = """
    g (float[4] x) => (float[4] y)
    <float root = {1.4142135}, float[1] one = {1}, float[4] w = {1, 2, 3, 4}> {
        d = Div(x, root)
        e = Erf(d)
        a = Add(e, one)
        y = Mul(a, w)
    }
    """
    found = whole_model(content(text))
    kept = {
        each.name: numpy_helper.to_array(each).item()
        for each in found.proto.graph.initializer
        if each.name not in found.weights
    }
    assert kept == {"root": np.float32(1.4142135), "one": 1}
    assert set(found.weights) == {"w"}
