"""What a whole model says of the file that it was made of."""

from onnx import numpy_helper

from benanza.profiling.whole_model import whole_model
from benanza.pytorch.metadata import MODEL, NODE
from benanza_ingest.extract import extract
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


def test_each_reader_on_integers_has_a_dequantize_linear_of_its_own() -> None:
    """As among the layers, and with scales as the file has them."""
    text = """
    g (float[8] x) => (float[8] y) <float s = {0.5}, float t = {0.25}, uint8 z = {7}> {
        q = QuantizeLinear(x, s, z)
        d = DequantizeLinear(q, s, z)
        a = Sigmoid(d)
        aq = QuantizeLinear(a, t, z)
        ad = DequantizeLinear(aq, t, z)
        b = Add(ad, d)
        bq = QuantizeLinear(b, s, z)
        y = DequantizeLinear(bq, s, z)
    }
    """
    found = whole_model(content(text))
    layers = extract(content(text)).layers
    assert [node.op_type for node in found.proto.graph.node] == [layer.op for layer in layers]
    assert [layer.kind for layer in layers].count("view") == 1
    kept = {each.name: numpy_helper.to_array(each) for each in found.proto.graph.initializer}
    assert {name: array.item() for name, array in kept.items()} == {"s": 0.5, "t": 0.25, "z": 7}
    session = Session(found.proto, found.weights, found.inputs, CPU, threads=1)
    assert session.call().us > 0
