"""The batch size and named dimensions get their numbers, or a hint says how to give them."""

import pytest

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import parse
from benanza_ingest.resolving.bind import MAX_DIMENSION, bind
from tests.ingest.onnx_text import content, extracted, kinds, shapes
from tests.ingest.real_models import LIGHT
from tests.ingest.real_models import content as file_of
from tests.ingest.real_models import extracted as real


def graph_of(*shape: int | str) -> str:
    dims = ",".join(map(str, shape))
    return f"g (float[{dims}] x) => (y) {{ y = Relu(x) }}"


def shape_bound(text: str, batch: int | None, dims: dict[str, int]) -> tuple[int, ...]:
    (layer,) = extracted(text, batch=batch, dims=dims).layers
    return shapes(layer)[0]


@pytest.mark.parametrize("name", ["batch", "N", "batch_size", "Batch", "unk__7", "anything"])
def test_the_first_dimension_of_the_first_input_is_the_batch_whatever_its_name(name: str) -> None:
    assert shape_bound(graph_of(name, 4), 8, {}) == (8, 4)
    assert shape_bound(graph_of(name, 4), None, {}) == (1, 4)


def test_a_dimension_named_like_a_batch_is_the_batch_wherever_it_is() -> None:
    assert shape_bound(graph_of("sequence", "batch", 4), 8, {"sequence": 3}) == (3, 8, 4)


def test_an_open_batch_is_one_and_a_fixed_one_stays() -> None:
    assert extracted(graph_of("N", 4)).batch == 1
    assert extracted(graph_of(5, 4)).batch == 5


def test_a_dimension_that_nobody_named_goes_by_its_place() -> None:
    assert shape_bound(graph_of("?", "?"), 2, {"x[1]": 7}) == (2, 7)
    (layer,) = extracted(graph_of("?", "?")).layers
    assert layer.kind == "skipped"
    assert layer.reason == "Relu: 'x' has shape [1, x[1]]; give --dim 'x[1]=N'"


def test_named_dimensions_are_bound_wherever_they_stand() -> None:
    model = extracted(
        "g (float[N,sequence,4] x, float[sequence,4] w) => (y) { t = Add(x, w) y = Relu(t) }",
        dims={"sequence": 6},
    )
    assert [shapes(layer)[-1] for layer in model.layers] == [(1, 6, 4)] * 2
    assert model.dims == {"sequence": 6}
    assert model.batch == 1


def test_the_batch_may_be_given_by_its_name() -> None:
    found = extracted(graph_of("N", 4), dims={"N": 5})
    assert (found.batch, found.dims) == (5, {})


def test_a_length_may_be_0() -> None:
    model = extracted(
        "g (float[batch,past,4] c, float[batch,length,4] x) => (y) { y = Concat<axis=1>(c, x) }",
        dims={"past": 0, "length": 3},
    )
    assert model.dims == {"past": 0, "length": 3}
    assert [shapes(layer)[-1] for layer in model.layers] == [(1, 3, 4)]


def test_what_has_length_0_is_not_taken_for_the_batch() -> None:
    model = extracted("g (float[past,4] c, float[n,4] x) => (y) { y = Relu(x) }", dims={"past": 0})
    assert (model.batch, model.dims) == (1, {"past": 0})


def test_the_batch_given_twice_must_be_the_same() -> None:
    assert extracted(graph_of("N", 4), batch=5, dims={"N": 5}).batch == 5
    with pytest.raises(ModelError, match="can't be 5 and 6: 'N' is the batch; give one"):
        extracted(graph_of("N", 4), batch=5, dims={"N": 6})


def test_a_layer_that_stays_open_says_which_dimension_would_help() -> None:
    text = (
        "g (float[N,rows] a, float[N,columns] b) => (c, d, e)"
        "{ c = Relu(a) d = Relu(b) e = Concat<axis=1>(a, b) }"
    )
    reasons = {layer.name: layer.reason for layer in extracted(text).layers}
    assert reasons["c"].endswith("; give --dim rows=N")
    assert reasons["d"].endswith("; give --dim columns=N")
    bound = extracted(text, dims={"rows": 2})
    assert [layer.kind for layer in bound.layers] == ["compute", "skipped", "skipped"]
    assert bound.layers[2].reason.endswith("; give --dim columns=N")
    assert kinds(extracted(text, dims={"rows": 2, "columns": 3})) == [
        ("Relu", "compute"),
        ("Relu", "compute"),
        ("Concat", "movement"),
    ]


def test_a_layer_that_no_dimension_would_help_says_so() -> None:
    """How many elements are not zero is known when the model runs."""
    (nonzero, transpose) = extracted(
        "g (float[4] x) => (y) { t = NonZero(x) y = Transpose(t) }"
    ).layers
    assert nonzero.kind == transpose.kind == "skipped"
    assert nonzero.reason.endswith("; it depends on the data")


@pytest.mark.parametrize(
    ("dims", "complaint"),
    [
        ({"rows": 1}, "no open dimension 'rows'; it has 'N', 'width'"),
        ({"widht": 1}, "no open dimension 'widht'; did you mean 'width'?"),
        ({"N": 0}, "'N' is the batch, which can't be 0; give 1 or more"),
        ({"width": -3}, "'width' can't be -3; give a number from 0 up"),
        ({"width": 2**63}, "'width' can't be 9223372036854775808"),
    ],
)
def test_dimensions_that_cannot_be_bound_are_refused(dims: dict[str, int], complaint: str) -> None:
    with pytest.raises(ModelError) as refused:
        extracted(graph_of("N", "width"), dims=dims)
    assert complaint in str(refused.value)


def test_a_model_without_open_dimensions_says_so() -> None:
    with pytest.raises(ModelError, match="it has none: all are fixed"):
        extracted(graph_of(2, 3), dims={"width": 1})


@pytest.mark.parametrize("batch", [0, -1, 2**63, MAX_DIMENSION + 1])
def test_a_batch_size_that_cannot_be_is_refused(batch: int) -> None:
    for shape in (("N", 4), (2, 4)):
        with pytest.raises(ModelError, match="from 1 up"):
            extracted(graph_of(*shape), batch=batch)


def test_a_batch_size_that_makes_a_tensor_too_large_is_refused() -> None:
    with pytest.raises(ModelError, match="raise BENANZA_MAX_TENSOR_ELEMENTS"):
        extracted(graph_of("N", 4), batch=2**50)


def test_weights_among_the_inputs_are_no_inputs() -> None:
    """Models of before 2019 list them there, and the first of them has no batch."""
    model = parse(
        content("g (float[8,4] w, float[N,4] x) => (y) <float[8,4] w = [\"location\": \"w\"]>"
                "{ y = Gemm<transB=1>(x, w) }"),
        Limits(),
    )  # fmt: skip
    bound = bind(model, 3, {})
    assert bound.batch == 3
    assert [value.name for value in bound.inputs] == ["x"]


def test_a_model_without_tensors_to_feed_has_batch_1() -> None:
    assert extracted("g () => (y) { y = RandomNormal<shape=[2,3]>() }").batch == 1
    assert extracted("g (float x) => (y) { y = Relu(x) }").batch == 1


def test_a_fixed_batch_is_replaced_in_all_inputs_that_share_it() -> None:
    model = extracted(
        "g (float[2,4] x, float[2,4] z, float[3,4] w) => (y, v){ y = Add(x, z) v = Relu(w) }",
        batch=7,
    )
    assert [shapes(layer)[0] for layer in model.layers] == [(7, 4), (3, 4)]
    assert model.batch == 7


def test_a_reshape_that_states_the_former_batch_follows_the_new_one() -> None:
    text = (
        "g (float[1,6,4] x) => (y) <int64[3] s = {1, 4, 6}, int64[2] f = {1, -1}>"
        "{ a = Reshape(x, s) b = Relu(a) c = Reshape(b, f) y = Relu(c) }"
    )
    found = extracted(text, batch=5)
    assert [shapes(layer)[-1] for layer in found.layers if layer.op == "Relu"] == [
        (5, 4, 6),
        (5, 24),
    ]
    assert [layer.kind for layer in found.layers] == ["view", "compute"] * 2


def test_a_reshape_that_does_not_state_the_batch_is_left_alone() -> None:
    text = "g (float[1,6,4] x) => (y) <int64[2] s = {-1, 4}> { a = Reshape(x, s) y = Relu(a) }"
    assert shapes(extracted(text, batch=5).layers[1])[0] == (30, 4)


def test_shapes_that_the_model_states_give_way_to_another_batch() -> None:
    text = "g (float[1,4] x) => (float[1,4] y) <float[1,4] t>{ t = Relu(x) y = Sigmoid(t) }"
    assert [shapes(layer)[-1] for layer in extracted(text, batch=3).layers] == [(3, 4)] * 2


@pytest.mark.parametrize("name", LIGHT)
def test_a_fixed_model_at_batch_8_takes_8_times_the_operations(name: str) -> None:
    one, eight = real(name), extract(file_of(name), batch=8)
    assert one.batch == 1
    assert eight.batch == 8
    assert [(a.op, a.kind) for a in one.layers] == [(a.op, a.kind) for a in eight.layers]
    assert "skipped" not in {layer.kind for layer in eight.layers}
    assert sum(a.flops for a in eight.layers) == 8 * sum(a.flops for a in one.layers)
    assert sum(a.parameters for a in eight.layers) == sum(a.parameters for a in one.layers)
    assert eight.edges == one.edges
    assert [g.layers for g in eight.groups] == [g.layers for g in one.groups]


@pytest.mark.parametrize("batch", [1, 3])
def test_binding_the_batch_that_a_model_has_changes_nothing(batch: int) -> None:
    encoded = content(graph_of(batch, 4))
    assert extract(encoded, batch=batch) == extract(encoded)


def test_axes_of_one_name_can_be_told_apart() -> None:
    model = content("g (float[N,3,S,S] x) => (float[N,3,S,S] y) { y = Relu(x) }")

    def bound(dims: dict[str, int], batch: int = 1) -> tuple[int, ...]:
        (layer,) = extract(model, batch=batch, dims=dims).layers
        return shapes(layer)[-1]

    assert bound({"S": 5}) == (1, 3, 5, 5)
    assert bound({"x[2]": 48, "x[3]": 192}, batch=2) == (2, 3, 48, 192)
    assert bound({"x[2]": 48, "S": 192}) == (1, 3, 48, 192)
    assert extract(model, dims={"x[2]": 48, "x[3]": 192}).dims == {"x[2]": 48, "x[3]": 192}
    with pytest.raises(ModelError, match="no open dimension 'x"):
        extract(model, dims={"x[1]": 48})


@pytest.mark.parametrize(
    ("inputs", "batch", "others"),
    [
        ("float[B,3,N] x", "B", ["N"]),  # a point cloud: N points
        ("float[steps,batch,8] x", "batch", ["steps"]),
        ("float[7,3] table, float[n,3] x", "n", []),
        ("float[rows,3] x, float[3,bs] y", "rows", ["bs"]),
    ],
)
def test_a_first_axis_is_the_batch_before_what_has_a_short_name(
    inputs: str, batch: str, others: list[str]
) -> None:
    model = parse(content(f"g ({inputs}) => (z) {{ z = Relu(x) }}"), Limits())
    binding = bind(model, None, {})
    assert binding.assumed.startswith(f"{batch!r} was taken for the batch, of 1")
    assert binding.open_names() == others
