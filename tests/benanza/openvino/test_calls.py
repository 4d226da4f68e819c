"""Which layers the nodes of an execution graph compute."""

from onnx import GraphProto

from benanza.openvino.calls import ExecutedNode, framework_calls
from benanza.profiling.whole_model import named_after, whole_model
from tests.ingest.onnx_text import content

IN_A_ROW = """
g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y)
<float[4, 4, 1, 1] w = ["location": "w"], float[1] s = ["location": "s"]> {
    a = Conv(x, w)
    b = Mul(a, s)
    c = Relu(b)
    y = Sigmoid(c)
}
"""


def _layers() -> GraphProto:
    return whole_model(content(IN_A_ROW)).layers


def _node(name: str, *positions: int, reads: str = "", runs: bool = True) -> ExecutedNode:
    return ExecutedNode(name, name.partition("_")[0], named_after(positions), (reads,), runs)


def test_each_node_has_the_layers_that_it_is_named_after_and_its_times() -> None:
    nodes = [_node("Convolution", 0, 1), _node("Subgraph", 2, 3)]
    calls = framework_calls(nodes, _layers(), [[3.0, 1.0], [5.0, 2.0], [9.0, 3.0]])
    assert [(call.op, call.layers, call.start_us, call.median_us) for call in calls] == [
        ("Convolution", (0, 1), 0.0, 5.0),
        ("Subgraph", (2, 3), 5.0, 2.0),
    ]


def test_a_node_without_a_name_computes_what_lies_before_its_readers() -> None:
    nodes = [_node("Convolution"), _node("Reorder", reads="Convolution"), _node("Relu", 2, 3)]
    nodes[2] = nodes[2]._replace(reads=("Convolution",))
    calls = framework_calls(nodes, _layers(), [[1.0, 1.0, 1.0]])
    assert [call.layers for call in calls] == [(0, 1), (), (2, 3)]


def test_what_is_written_out_is_computed_by_each_of_its_nodes() -> None:
    nodes = [_node("MVN", 0, 1), _node("Subgraph", 1, 2, 3)]
    calls = framework_calls(nodes, _layers(), [[1.0, 1.0]])
    assert [call.layers for call in calls] == [(0, 1), (1, 2, 3)]


def test_a_node_that_does_not_run_has_only_what_no_other_has() -> None:
    """Such as one that lays out the weights of a convolution before anything runs."""
    nodes = [
        _node("Reshape_1", 0, runs=False),
        _node("Convolution", 0, 1, 2),
        _node("Reshape_2", 3, runs=False),
        _node("Reshape_3", runs=False),
    ]
    calls = framework_calls(nodes, _layers(), [[0.0, 4.0, 0.0, 0.0]])
    assert [(call.name, call.layers) for call in calls] == [
        ("Convolution", (0, 1, 2)),
        ("Reshape_2", (3,)),
    ]
    assert calls[1].start_us == 4.0
