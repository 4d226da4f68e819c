"""Which layers the nodes of an FX graph compute."""

from benanza.profiling.whole_model import whole_model
from benanza.pytorch.calls import framework_calls
from benanza_schemas.events import FrameworkCall
from tests.ingest.onnx_text import content

CHAIN = "g (float[4] x) => (float[4] y) { a = Relu(x) b = Neg(a) y = Exp(b) }"
RELU = FrameworkCall("relu", "aten.relu", (), 0.0, 2.0, 0.1)
NEG = FrameworkCall("neg", "aten.neg", (), 2.0, 3.0, 0.1)
EXP = FrameworkCall("exp", "aten.exp", (), 5.0, 4.0, 0.1)


def joined(nodes: list[FrameworkCall], *origins: str) -> list[tuple[str, tuple[int, ...]]]:
    graph = whole_model(content(CHAIN)).layers
    return [(call.name, call.layers) for call in framework_calls(nodes, graph, origins)]


def test_layers_belong_to_the_nodes_that_they_were_exported_of() -> None:
    found = joined([RELU, NEG, EXP], "relu", "neg", "exp")
    assert found == [("relu", (0,)), ("neg", (1,)), ("exp", (2,))]
    assert joined([RELU], "relu", "relu", "relu") == [("relu", (0, 1, 2))]


def test_a_layer_without_a_node_belongs_to_its_reader() -> None:
    assert joined([RELU, EXP], "relu", "neg", "exp") == [("relu", (0,)), ("exp", (1, 2))]
    assert joined([EXP], "", "", "exp") == [("exp", (0, 1, 2))]


def test_without_a_reader_it_belongs_to_what_it_reads() -> None:
    assert joined([RELU], "relu", "", "exp") == [("relu", (0, 1, 2))]


def test_what_computes_no_layer_is_a_call_if_it_takes_time() -> None:
    view = FrameworkCall("view", "aten.view", (), 1.0, 0.0, 0.0)
    found = joined([RELU, NEG, view, EXP], "relu", "relu", "exp")
    assert found == [("relu", (0, 1)), ("neg", ()), ("exp", (2,))]


def test_what_takes_no_time_is_a_call_if_it_computes_a_layer() -> None:
    view = FrameworkCall("view", "aten.view", (), 2.0, 0.0, 0.0)
    assert joined([RELU, view, EXP], "relu", "view", "exp")[1] == ("view", (1,))
