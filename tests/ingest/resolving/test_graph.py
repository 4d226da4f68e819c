"""The live nodes of a graph in an order that can be run, whatever order the file has."""

import random

import pytest
from onnx import ModelProto

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.resolving.graph import in_topological_order
from tests.ingest.onnx_text import by_name, content, edges_by_name, extracted, kinds, proto
from tests.ingest.real_models import content as file_of
from tests.ingest.real_models import extracted as real


def test_nodes_may_be_listed_in_any_order() -> None:
    model = extracted("g (float[2] x) => (y) { y = Tanh(b) b = Relu(a) a = Sigmoid(x) }")
    assert [layer.op for layer in model.layers] == ["Sigmoid", "Relu", "Tanh"]
    assert model.edges == ((0, 1), (1, 2))


def test_what_is_changed_in_a_sorted_node_is_changed_in_the_graph() -> None:
    """What asks onnx for too much is hidden so."""
    model = proto("g (float[2] x) => (y) { y = Tanh(a) a = Relu(x) }")
    first, _ = in_topological_order(model.graph)
    first.proto.op_type = "Sigmoid"
    assert [node.op_type for node in model.graph.node] == ["Sigmoid", "Tanh"]


@pytest.mark.parametrize("name", ["inception_v1", "transformers-llama-raw"])
def test_a_shuffled_file_has_the_same_layers_and_edges(name: str) -> None:
    shuffled = ModelProto.FromString(file_of(name))
    nodes = list(shuffled.graph.node)
    random.Random(7).shuffle(nodes)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(nodes)
    found, expected = extract(shuffled.SerializeToString()), real(name)
    assert by_name(found) == by_name(expected)
    assert edges_by_name(found) == edges_by_name(expected)
    assert len(found.groups) == len(expected.groups)


def test_a_cycle_is_refused_and_shown() -> None:
    text = (
        "g (float[2] x) => (y) { [one] a = Add(x, c) [two] b = Relu(a) [three] c = Tanh(b)"
        " [four] y = Relu(c) }"
    )
    with pytest.raises(ModelError) as refused:
        extracted(text)
    why = str(refused.value)
    assert why.startswith("the graph has a cycle: ")
    assert {"one", "two", "three"} <= set(why.replace(";", "").split())
    assert "export the model again" in why


def test_a_node_that_reads_itself_is_a_cycle() -> None:
    with pytest.raises(ModelError, match="cycle"):
        extracted("g (float[2] x) => (y) { y = Add(x, y) }")


def test_a_cycle_through_a_body_is_refused() -> None:
    with pytest.raises(ModelError, match="cycle"):
        extracted(
            "g (bool c, float[2] x) => (y) { z = Relu(y) y = If (c) <"
            " then_branch = t () => (a) { a = Relu(z) },"
            " else_branch = e () => (b) { b = Relu(x) }> }"
        )


@pytest.mark.parametrize(
    "text",
    [
        "g (float[2] x) => (y) { y = Relu(x) y = Tanh(x) }",
        "g (float[2] x) => (x) { x = Relu(x) }",
        'g (float[2] x) => (y) <float[2] w = ["location": "w"]> { w = Relu(x) y = Relu(w) }',
        "g (float[4] x) => (a) { a, a = Split<num_outputs=2>(x) }",
    ],
)
def test_a_value_written_twice_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"value '.' is written twice; export the model again"):
        extracted(text)


def test_reading_what_nothing_writes_is_refused() -> None:
    with pytest.raises(ModelError, match="node 'reader' reads 'ghost', which nothing writes"):
        extracted("g (float[2] x) => (y) { [reader] y = Add(x, ghost) }")


def test_reading_it_in_a_body_is_refused_too() -> None:
    with pytest.raises(ModelError, match="reads 'ghost', which nothing writes"):
        extracted(
            "g (bool c, float[2] x) => (y) { y = If (c) <"
            " then_branch = t () => (a) { a = Relu(ghost) },"
            " else_branch = e () => (b) { b = Relu(x) }> }"
        )


def test_returning_what_nothing_writes_is_refused() -> None:
    with pytest.raises(ModelError, match="nothing writes the output 'z'"):
        extracted("g (float[2] x) => (z) { y = Relu(x) }")


def test_a_name_with_a_line_break_stays_on_one_line() -> None:
    model = proto("g (float[2] x) => (y) { y = Relu(x) }")
    model.graph.node[0].input[0] = "two\nlines"
    with pytest.raises(ModelError) as refused:
        extract(model.SerializeToString())
    assert "\n" not in str(refused.value)
    assert r"two\nlines" in str(refused.value)


def test_nodes_whose_outputs_nobody_reads_are_no_layers() -> None:
    model = extracted(
        "g (float[2] x) => (y) { a = Tanh(x) b = Relu(a) y = Sigmoid(x) c = Identity(y) }"
    )
    assert kinds(model) == [("Sigmoid", "compute")]


def test_a_value_that_is_read_and_returned_is_both() -> None:
    model = extracted("g (float[2] x) => (a, y) { a = Relu(x) y = Tanh(a) }")
    assert kinds(model) == [("Relu", "compute"), ("Tanh", "compute")]


def test_a_model_that_returns_its_input_has_no_layers() -> None:
    model = extracted("g (float[2] x) => (x) { y = Relu(x) }")
    assert (model.layers, model.edges, model.groups) == ((), (), ())


def test_several_edges_between_two_layers_are_one() -> None:
    model = extracted(
        "g (float[4] x) => (y) { a, b = Split<num_outputs=2>(x) c = Add(a, b) y = Mul(c, c) }"
    )
    assert model.edges == ((0, 1), (1, 2))


def test_unnamed_and_equally_named_nodes_are_layers_of_their_own() -> None:
    """The published code matched layers by name, so that those without one collided."""
    model = extracted(
        "g (float[2] x) => (y) { a = Relu(x) [same] b = Tanh(a) [same] c = Tanh(b) y = Relu(c) }"
    )
    assert [layer.name for layer in model.layers] == ["a", "same", "same", "y"]
    assert model.edges == ((0, 1), (1, 2), (2, 3))


def test_a_very_long_chain_is_no_problem() -> None:
    chain = " ".join(f"v{i + 1} = Relu(v{i})" for i in reversed(range(5000)))
    model = extract(content(f"g (float[2] v0) => (v5000) {{ {chain} }}"))
    assert len(model.layers) == 5000
    assert model.edges == tuple((i, i + 1) for i in range(4999))


def test_optional_outputs_that_nobody_reads_do_not_matter() -> None:
    """A Dropout with its mask left unread is the same layer as one without."""
    alone = extracted("g (float[2,3] x) => (y) { y = Dropout(x) }")
    unread = extracted("g (float[2,3] x) => (y) { y, mask = Dropout(x) }")
    assert alone.layers[0].fingerprint == unread.layers[0].fingerprint
    pooled = extracted("g (float[1,1,4,4] x) => (y) { y = MaxPool<kernel_shape=[2,2]>(x) }")
    with_indices = extracted(
        "g (float[1,1,4,4] x) => (y, i) { y, i = MaxPool<kernel_shape=[2,2]>(x) }"
    )
    assert pooled.layers[0].fingerprint != with_indices.layers[0].fingerprint
