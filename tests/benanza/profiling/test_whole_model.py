"""A file as a framework runs it."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, numpy_helper

from benanza.profiling.made_up import Readers
from benanza.profiling.whole_model import WholeModel, positions_in, whole_model
from benanza.pytorch.metadata import MODEL, NODE
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_runner.arrays import Array
from benanza_runner.onnxruntime.session import CPU, Session, session_options
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
    assert [node.op_type for node in found.layers.node] == ["Add", "Relu"]
    assert found.origins == ("add", "")
    assert found.metadata == {MODEL: "resnet50"}


def test_an_open_size_that_follows_from_weights_is_fixed() -> None:
    text = "g (float[2,K] x, float[6,3] w) => (y) { y = MatMul(x, w) }"
    found = whole_model(content(text))
    shape = found.proto.graph.input[0].type.tensor_type.shape
    assert [size.dim_value for size in shape.dim] == [2, 6]
    assert found.inputs["x"].shape == (2, 6)


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


def test_products_of_packed_weights_give_numbers_around_one() -> None:
    """A model that chooses experts by larger ones gives one of them all the weight."""
    packed, scales = "uint8[16, 64, 16]", "float[1024]"
    location = '["location": "nowhere"]'
    text = f"""
    g (float[1, 2048] x) => (float[1, 16] y) <{packed} w = {location}, {scales} s = {location}> {{
        y = com.microsoft.MatMulNBits <K = 2048, N = 16, bits = 4, block_size = 32> (x, w, s)
    }}
    """
    (found,) = results(whole_model(content(text, domains={"com.microsoft": 1})))
    assert 0.01 < np.abs(found).max() < 10


def results(model: WholeModel) -> list[Array]:
    options = session_options(model.weights, CPU, 1)
    content = model.proto.SerializeToString()
    session = ort.InferenceSession(content, options, providers=[CPU.name])
    found: list[Array] = session.run(None, model.inputs)
    return found


def named(model: WholeModel) -> list[tuple[str, tuple[int, ...]]]:
    """The operators of the nodes, with the layers that their names say."""
    return [(node.op_type, positions_in(node.name)) for node in model.proto.graph.node]


def test_all_of_the_file_runs_with_the_weights_that_it_has() -> None:
    """Also what nothing reads, and what reads constants alone."""
    numbers = ", ".join(map(str, range(32)))
    text = f"""
    g (float[1, 32] x) => (float[1, 32] y) <float[1, 32] w = {{{numbers}}}> {{
        doubled = Add(w, w)
        dead = Neg(doubled)
        zero = Sub(x, x)
        y = Add(zero, doubled)
    }}
    """
    model = whole_model(content(text))
    assert named(model) == [("Add", ()), ("Neg", ()), ("Sub", (0,)), ("Add", (1,))]
    assert list(model.weights) == ["w"]
    assert results(model)[0].tolist() == [[2.0 * number for number in range(32)]]


def test_a_skipped_layer_runs_and_has_its_position() -> None:
    text = """
    g (float[4, 4] x) => (float[4, N] y) {
        r = Relu(x)
        at = NonZero(r)
        f = Cast <to = 1> (at)
        y = Concat <axis = 0> (f, f)
    }
    """
    model = whole_model(content(text))
    assert named(model) == [("Relu", (0,)), ("NonZero", (1,)), ("Cast", (2,)), ("Concat", (3,))]
    assert results(model)[0].shape[0] == 4


def test_a_branch_that_always_runs_is_in_the_call_of_its_if() -> None:
    text = """
    g (float[2] x) => (float[2] y) {
        yes = Constant <value = bool {1}> ()
        z = If (yes) <
            then_branch = t () => (float[2] a) { b = Relu(x) a = Neg(b) },
            else_branch = e () => (float[2] a) { a = Abs(x) }
        >
        y = Exp(z)
    }
    """
    model = whole_model(content(text))
    assert [node.op_type for node in model.layers.node] == ["Relu", "Neg", "Exp"]
    assert named(model)[1:] == [("If", (0, 1)), ("Exp", (2,))]
    names = [node.name for node in model.proto.graph.node]
    assert len(set(names)) == len(names)
    assert results(model)


def test_an_input_that_decides_is_in_range() -> None:
    """An index into a table of two rows, the size of a shape, the number of greatest elements."""
    text = """
    g (int64[3] at, int64[2] sizes, int64[1] k, float[2, 6] x)
        => (float[3, 6] y, float[4, 3] z, float[2, 2] v, int64[2, 2] i) {
        y = Gather(x, at)
        z = Reshape(x, sizes)
        v, i = TopK(x, k)
    }
    """
    model = whole_model(content(text))
    assert set(model.inputs["at"].tolist()) <= {0, 1}
    assert model.inputs["sizes"].tolist() == [4, 3]
    assert [each.shape for each in results(model)] == [(3, 6), (4, 3), (2, 2), (2, 2)]


def test_weights_that_the_file_lacks_are_in_range_also_in_bodies() -> None:
    text = """
    g (float[2, 64] x, bool c) => (float[20, 64] y)
        <int64[20] at = ["location": "w"], int8[64, 64] w = ["location": "w"],
         float s = {0.5}, int8 zero = {0}> {
        whole = DequantizeLinear(w, s, zero)
        p = MatMul(x, whole)
        q = If (c) <
            then_branch = t () => (float[2, 64] a) <float[64] b = ["location": "w"]> {
                a = Add(p, b)
            },
            else_branch = e () => (float[2, 64] a) { a = Neg(p) }
        >
        y = Gather(q, at)
    }
    """
    model = whole_model(content(text))
    assert set(model.weights) == {"at", "w"}
    assert set(model.weights["at"].tolist()) <= {0, 1}
    assert np.isfinite(results(model)[0]).all()


def test_at_another_batch_size_a_file_of_fixed_size_is_made_of_its_layers() -> None:
    text = """
    g (float[1, 8, 2] x) => (float[1, 16] y) <int64[2] flat = {1, 16}> {
        r = Relu(x)
        y = Reshape(r, flat)
    }
    """
    assert results(whole_model(content(text), 1))[0].shape == (1, 16)
    model = whole_model(content(text), 5)
    assert named(model) == [("Relu", (0,)), ("Reshape", (1,))]
    assert results(model)[0].shape == (5, 16)


def test_a_light_model_has_weights_made_up_in_place_of_those_that_are_all_the_same() -> None:
    text = """
    g (float[1, 32] x) => (float[1, 8] y) <int64[2] shape = {32, 8}> {
        w = ConstantOfShape(shape)
        y = MatMul(x, w)
    }
    """
    model = whole_model(content(text))
    assert named(model) == [("MatMul", (0,))]
    assert len(np.unique(model.weights["w"])) > 100


def lacking(name: str, *shape: int) -> TensorProto:
    return TensorProto(
        name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL
    )


EXPORTED = """
g (float[1, 8] x) => (float[1, 8] y) <float two = {2.0}> {
    factor = CastLike(two, x)
    product = MatMul(x, w)
    y = Mul(product, factor)
}
"""


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("with_weights", [True, False])
def test_an_export_without_weights_is_made_of_its_layers(
    *, marked: bool, with_weights: bool
) -> None:
    """ONNX Runtime converted numbers at each run of what `benanza export` wrote."""
    file = proto(EXPORTED)
    file.graph.initializer.append(
        numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
        if with_weights
        else lacking("w", 8, 8)
    )
    if marked:
        file.metadata_props.add(key=MODEL, value="resnet50")
    model = whole_model(file.SerializeToString())
    converts = "CastLike" in [node.op_type for node in model.proto.graph.node]
    assert converts == (with_weights or not marked)
    (found,) = results(model)
    if with_weights:
        np.testing.assert_array_equal(found, 2 * model.inputs["x"])


def test_an_export_with_a_state_in_a_form_of_its_own_runs_as_it_is() -> None:
    text = """
    g (float[2,1,64] q, float[2,4,9,16] k, float[2,4,9,16] v)
        => (float[2,1,64] y, float[2,4,10,16] c, float[2,4,10,16] d) {
        a = Add(q, w)
        y, c, d = com.microsoft.MultiHeadAttention<num_heads = 4>(a, a, a, , , , k, v)
    }
    """
    file = proto(text, 21, {"com.microsoft": 1})
    file.graph.initializer.append(lacking("w", 64))
    file.metadata_props.add(key=MODEL, value="resnet50")
    assert len(whole_model(file.SerializeToString()).proto.graph.node) == 2


@pytest.mark.parametrize(
    ("given", "node"),
    [
        ("seq(float[2])", "ConcatFromSequence <axis = 0> (s)"),
        ("string[2]", "Identity(s)"),
        ("float[1, length]", "Relu(s)"),
    ],
)
def test_an_input_that_can_not_be_made_up(given: str, node: str) -> None:
    hint = "give --dim length=N" if "length" in given else ""
    with pytest.raises(ModelError, match=f"'s' .*{hint}"):
        whole_model(content(f"g ({given} s) => (float[N] y) {{ y = {node} }}"))


def test_each_reader_on_integers_has_a_dequantize_linear_of_its_own() -> None:
    """As among the layers, of which it is made at another batch size, with scales as the file has
    them.
    """
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
    found = whole_model(content(text), 16)
    layers = extract(content(text), batch=16).layers
    assert [node.op_type for node in found.proto.graph.node] == [layer.op for layer in layers]
    assert [layer.kind for layer in layers].count("view") == 1
    kept = {each.name: numpy_helper.to_array(each) for each in found.proto.graph.initializer}
    assert {name: array.item() for name, array in kept.items()} == {"s": 0.5, "t": 0.25, "z": 7}
    session = Session(found.proto, found.weights, found.inputs, CPU, threads=1)
    assert session.call().us > 0


STEP = """
g (float[2,4,10,8] before, float[2,4,1,8] x, float[2,4,1,8] q)
    => (float[2,4,11,8] after, float[2,4,1,8] y) {
    [scaled] new = Neg(x)
    [joined] after = Concat<axis = 2>(before, new)
    [attention] y = Attention(q, after, after)
}
"""


@pytest.mark.parametrize("batch", [None, 5])
def test_a_state_that_a_bound_keeps_in_place_is_copied_as_the_file_has_it(
    batch: int | None,
) -> None:
    """Its time belongs to the layer that would write what is new."""
    found = whole_model(content(STEP, 23), batch=batch)
    (joined,) = (node for node in found.proto.graph.node if node.op_type == "Concat")
    assert positions_in(joined.name) == (1,)
    assert [node.op_type for node in found.layers.node] == ["Neg", "Concat", "Attention"]
    assert {value.name for value in found.proto.graph.output} == {"after", "y"}
    session = Session(found.proto, found.weights, found.inputs, CPU, threads=1)
    assert session.call().us > 0


def test_queries_behind_a_buffer_run_in_a_model_that_is_made_of_layers() -> None:
    """Their Attention needs an opset that is newer than the file's."""
    text = """
    g (float[2,4,3,8] q, float[2,4,10,8] keys, float[2,4,10,8] values)
        => (float[2,4,3,8] y, float[2,4,13,8] more_keys, float[2,4,13,8] more_values) {
        y, more_keys, more_values = Attention<is_causal = 1>(q, q, q, , keys, values)
    }
    """
    found = whole_model(content(text, 23), batch=5)
    assert [node.op_type for node in found.proto.graph.node] == ["Concat", "Concat", "Attention"]
    session = Session(found.proto, found.weights, found.inputs, CPU, threads=1)
    assert session.call().us > 0


def test_a_state_in_a_form_of_its_own_runs_only_as_the_file_is() -> None:
    text = """
    g (float[2,1,64] q, float[2,4,9,16] k, float[2,4,9,16] v)
        => (float[2,1,64] y, float[2,4,10,16] c, float[2,4,10,16] d) {
        y, c, d = com.microsoft.MultiHeadAttention<num_heads = 4>(q, q, q, , , , k, v)
    }
    """
    file = content(text, 21, {"com.microsoft": 1})
    assert len(whole_model(file).proto.graph.node) == 1
    with pytest.raises(ModelError, match="only as its file is"):
        whole_model(file, batch=5)


def test_a_node_that_is_several_layers_is_named_after_all() -> None:
    text = """
    g (float[2,3] x, float[3,4] w, float[4,5] v) => (y) {
        r = Relu(x)
        y = Einsum<equation = "ai,ij,jk->ak">(r, w, v)
    }
    """
    nodes = whole_model(content(text, 23)).proto.graph.node
    assert [positions_in(node.name) for node in nodes] == [(0,), (1, 2)]


def test_weights_that_are_made_up_differ() -> None:
    """Else a framework that finds equal constants computes equal products once."""
    text = """
    g (float[4, 8] x) => (float[4, 8] y)
    <float[8, 8] q = ["location": "q"], float[8, 8] k = ["location": "k"],
     float[8, 8] v = ["location": "v"]> {
        a = MatMul(x, q)
        b = MatMul(x, k)
        c = MatMul(x, v)
        y = Sum(a, b, c)
    }
    """
    for batch in (None, 2):  # as the file is, and made of its layers
        weights = whole_model(content(text), batch).weights
        assert len(weights) == 3
        assert len({array.tobytes() for array in weights.values()}) == 3
        assert len({np.sort(array, axis=None).tobytes() for array in weights.values()}) == 1


def test_indices_that_the_file_lacks_are_in_range_also_behind_other_operators() -> None:
    """As the types of tokens are in BERT, of which there are two."""
    text = """
    g (float[1, 4, 2] x) => (float[1, 4, 2] y)
    <int64[1, 512] types = ["location": "types"], int64[1] zero = {0}, int64[1] four = {4},
     int64[1] one = {1}, float[2, 2] table = ["location": "table"]> {
        few = Slice(types, zero, four, one)
        rows = Gather(table, few)
        y = Add(x, rows)
    }
    """
    found = whole_model(content(text))
    session = Session(found.proto, found.weights, found.inputs, CPU, threads=1)
    assert session.call().us > 0


@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_a_value_that_can_t_be_made_up_is_said_of_the_model(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise kind("no such type")

    monkeypatch.setattr(Readers, "input", unknown)
    with pytest.raises(ModelError, match="the model's inputs can't be made up: no such type"):
        whole_model(content("g (float[4] x) => (float[4] y) { y = Relu(x) }"))
