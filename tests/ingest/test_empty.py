"""Axes of length 0, as a cache has before the first step."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extract import extract, wired
from benanza_ingest.isolation.answers import packed, unpacked
from benanza_ingest.layering.views import NO_ELEMENTS
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelPublished
from benanza_schemas.layer import Layer
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN
from tests.examples import examples
from tests.ingest.empty_graphs import random_graph
from tests.ingest.onnx_text import by_name, extracted, shapes

CACHE = """
g (float[batch,past,4] cache, float[batch,length,4] x, float[4,4] w) => (y, z) {
    [moved] c = Transpose<perm = [0,2,1]>(cache)
    [gelu] f = com.microsoft.Gelu(c)
    [kept] k = Transpose<perm = [0,2,1]>(x)
    [joined] j = Concat<axis = 2>(f, k)
    [scores] y = MatMul(x, j)
    [sum] z = ReduceSum<keepdims = 0>(cache)
}"""


def has_empty(layer: Layer) -> bool:
    return any(0 in tensor.shape for tensor in layer.tensors if tensor.value is None)


def test_a_layer_whose_results_have_no_elements_is_free_and_one_that_joins_them_is_not() -> None:
    dims = {"past": 0, "length": 3}
    layers = by_name(extracted(CACHE, domains={"com.microsoft": 1}, dims=dims))
    free = [name for name, layer in layers.items() if layer.reason]
    assert free == ["moved", "gelu"]
    assert {layers[name].reason for name in free} == {NO_ELEMENTS}
    assert {(layers[name].kind, layers[name].bytes) for name in free} == {("view", 0)}
    joined = layers["joined"]
    assert shapes(joined) == [(1, 4, 0), (1, 4, 3), (1, 4, 3)]
    assert (joined.kind, joined.flops, joined.bytes) == ("movement", 0, 2 * 12 * 4)
    assert (layers["sum"].kind, layers["sum"].flops, layers["sum"].bytes) == ("compute", 0, 4)


def test_a_product_over_nothing_takes_no_operations() -> None:
    product, einsum = extracted(
        "g (float[2,0] x, float[0,5] w) => (y, z)"
        ' { y = MatMul(x, w) z = Einsum<equation = "ik,kj->ij">(x, w) }'
    ).layers
    assert (product.kind, product.flops, product.bytes) == ("compute", 0, 40)
    assert (einsum.kind, einsum.flops, einsum.bytes) == ("compute", 0, 40)


@examples(0.5)
@given(st.integers(0, 2**32))
def test_sizes_are_those_that_onnx_runtime_returns(seed: int) -> None:
    made = random_graph(seed)
    found = wired(made.content, batch=None, dims=made.dims, limits=Limits())
    for node, layer in zip(found.graph.nodes, found.wiring.layers, strict=True):
        assert layer.layer is not None, layer.reason
        written = [found.graph.types[name] for name in node.outputs if name]
        for name, known in zip(filter(None, node.outputs), written, strict=True):
            assert known is not None
            # What is new in a state has a name that the model doesn't know.
            assert known.dims() == made.shapes.get(name, known.dims()), name
            assert name in made.shapes or node.appends
        empty = all(known is not None and 0 in known.dims() for known in written)
        if not layer.reason.startswith(COPIED_STATE):
            assert layer.reason == (NO_ELEMENTS if empty else "")
        if empty:
            assert (layer.kind, layer.flops, layer.bytes) == ("view", 0, 0)


@examples(0.2)
@given(st.integers(0, 2**32))
def test_no_group_reads_or_writes_what_has_no_elements_and_the_parent_believes_it(
    seed: int,
) -> None:
    made = random_graph(seed)
    model = extract(made.content, dims=made.dims, granularity=3)
    groups = [group for group in model.groups if group.rule != STATE_AS_WRITTEN]
    assert not any(has_empty(group.layer) for group in groups)
    asked = ModelPublished(
        event_id="0" * 32, name="g", sha256="0" * 64, dims=made.dims, granularity=3
    )
    assert unpacked(packed(model), asked, None, Limits()) == model
