"""A branch that is inlined brings names of its own."""

from onnx import GraphProto, helper, parser

from benanza_ingest.resolving.control_flow.bodies import with_own_names


def branch() -> GraphProto:
    graph: GraphProto = parser.parse_graph(
        "t () => (float[4] o) <float[4] w = {1, 2, 3, 4}, float[4] s> {"
        " s = Add(x, w) c = Greater(s, x) o, p = If (c) <"
        "   then_branch = tt () => (a, b) { a = Neg(s) b = Abs(outer) },"
        "   else_branch = te () => (a, b) { a = Abs(s) b = Neg(w) }> }"
    )
    return graph


def test_what_a_branch_makes_gets_the_prefix_and_what_it_reads_does_not() -> None:
    found = with_own_names(branch(), "y/", {})
    assert [list(node.input) for node in found.node] == [["x", "y/w"], ["y/s", "x"], ["y/c"]]
    assert [list(node.output) for node in found.node] == [["y/s"], ["y/c"], ["y/o", "y/p"]]
    assert [tensor.name for tensor in found.initializer] == ["y/w"]
    assert [value.name for value in found.output] == ["y/o"]
    assert [value.name for value in found.value_info] == ["y/s"]
    inner = {a.name: a.g for a in found.node[2].attribute}
    assert [list(node.input) for node in inner["then_branch"].node] == [["y/s"], ["outer"]]
    assert [list(node.input) for node in inner["else_branch"].node] == [["y/s"], ["y/w"]]


def test_the_branch_itself_is_left_as_it_was() -> None:
    before = branch()
    with_own_names(before, "y/", {})
    assert before == branch()


def test_outputs_left_out_stay_left_out() -> None:
    graph = helper.make_graph([helper.make_node("MaxPool", ["x"], ["o", ""])], "t", [], [], [])
    assert list(with_own_names(graph, "y/", {}).node[0].output) == ["y/o", ""]
