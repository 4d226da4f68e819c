"""What an export says of the PyTorch model that it was made of."""

from onnx import ModelProto

from benanza.pytorch.metadata import BATCH, MODEL, NODE, SCOPES, mark, origins_in, properties
from tests.ingest.onnx_text import proto

TWO = "g (float[4] x) => (float[4] y) { a = Relu(x) y = Neg(a) }"


def exported() -> ModelProto:
    """A model as PyTorch's exporter writes it: with stack traces, and a helper without a scope."""
    model = proto(TWO)
    relu, helper = model.graph.node
    relu.metadata_props.add(key=SCOPES, value="['', 'model.act', 'relu_3']")
    relu.metadata_props.add(key="pkg.torch.onnx.stack_trace", value="File ...")
    relu.doc_string = helper.doc_string = "long"
    model.metadata_props.add(key="other", value="1")
    model.graph.input[0].metadata_props.add(key="other", value="1")
    return model


def test_only_names_are_left() -> None:
    model = exported()
    mark(model, "resnet50", 8)
    assert properties(model) == {MODEL: "resnet50", BATCH: "8"}
    assert [properties(node) for node in model.graph.node] == [{NODE: "relu_3"}, {}]
    text = str(model)
    assert "other" not in text
    assert "long" not in text


def test_origins_go_by_the_values_that_nodes_write() -> None:
    model = exported()
    assert origins_in(model) == {}
    mark(model, "resnet50", 8)
    assert origins_in(model) == {"a": "relu_3"}


def test_nodes_of_functions_have_theirs() -> None:
    model = proto(
        "g (float[4] x) => (float[4] y) { y = own.f(x) }\n"
        '<opset_import: ["": 21], domain: "own"> f (a) => (b) { b = Neg(a) }',
        domains={"own": 1},
    )
    (node,) = model.functions[0].node
    node.metadata_props.add(key=SCOPES, value="['', 'neg_1']")
    mark(model, "resnet50", 1)
    assert properties(node) == {NODE: "neg_1"}
