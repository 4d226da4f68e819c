"""Nodes that may have too many axes are hidden from onnx's inference, and are there afterwards."""

from onnx import ModelProto
from onnx.helper import make_function, make_node

from benanza_ingest.resolving.graph import in_topological_order
from benanza_ingest.resolving.inferring.ranks import without_outgrown
from tests.ingest.onnx_text import proto


def hidden(model: ModelProto) -> list[str]:
    """The operators that are hidden."""
    before = [node.op_type for node in model.graph.node]
    with without_outgrown(model.graph, in_topological_order(model.graph)):
        within = [node.op_type for node in model.graph.node]
    assert [node.op_type for node in model.graph.node] == before
    return [op for op, left in zip(before, within, strict=True) if op != left]


def test_a_shape_of_unknown_length_hides_its_reader() -> None:
    model = proto("""g (float[2,3] x, int64[N] s) => (float[M] y) {
        e = Expand (x, s)
        y = Relu (e)
    }""")
    assert hidden(model) == ["Expand"]


def test_shapes_that_are_made_as_exporters_make_them_hide_nothing() -> None:
    model = proto("""g (float[2,3,4,5] x, float[60] t) => (float[M] y) {
        s = Shape (x)
        zero = Constant <value = int64 {0}> ()
        axes = Constant <value_ints = [0]> ()
        first = Gather (s, zero)
        one = Unsqueeze (first, axes)
        rest = Constant <value = int64[2] {-1, 60}> ()
        shape = Concat <axis = 0> (one, rest)
        doubled = Mul (shape, axes)
        r = Reshape (x, shape)
        y = Expand (r, doubled)
    }""")
    assert hidden(model) == []


def test_a_body_that_gives_a_value_a_name_of_the_graph_around_it_hides_no_axes() -> None:
    model = proto("""g (bool c, int64[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] x) => (int64[M] y) {
        a = Gather (x, x)
        b = If (c) <then_branch = t () => (int64[1] a) { a = Constant <value = int64[1] {0}> () },
                    else_branch = f () => (int64[1] d) { d = Constant <value = int64[1] {0}> () }>
        y = Gather (a, a)
    }""")
    assert hidden(model) == ["Gather"]


def test_two_gathers_of_few_axes_hide_nothing() -> None:
    model = proto("g (int64[2,3] x) => (int64[M] y) { a = Gather (x, x) y = Gather (a, a) }")
    assert hidden(model) == []


def test_an_operator_of_another_domain_may_have_no_inputs() -> None:
    model = proto("g (float[2] x) => (float[2] y) { y = Relu (x) z = ConstantOfShape () }")
    assert hidden(model) == []


def test_of_a_list_in_any_order_the_same_is_hidden() -> None:
    model = proto("g (float[2,3] x, int64[N] s) => (float[M] y) { y = Relu(e) e = Expand(x, s) }")
    nodes = in_topological_order(model.graph)
    with without_outgrown(model.graph, nodes):
        assert [node.op_type for node in model.graph.node] == ["", "Relu"]


def test_in_a_function_that_is_not_inlined_all_that_may_add_axes_is_hidden() -> None:
    body = [make_node("Expand", ["x", "s"], ["e"]), make_node("Relu", ["e"], ["y"])]
    function = make_function("d", "F", ["x", "s"], ["y"], body, [])
    model = proto("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    nodes = in_topological_order(model.graph)
    with without_outgrown(model.graph, nodes, [function]):
        assert [node.op_type for node in function.node] == ["", "Relu"]
    assert [node.op_type for node in function.node] == ["Expand", "Relu"]
