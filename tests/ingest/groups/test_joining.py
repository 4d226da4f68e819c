"""Layers joined into one: always canonical, whatever they are and in whatever order they come."""

import pytest

from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.wiring import Wiring, wire
from benanza_ingest.layering import costs
from benanza_ingest.layering.layers import Layers
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import opset_imports, parse
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.resolve import resolve
from benanza_runner.onnx_layers.onnx_schemas import opsets
from benanza_schemas.identity import LayerError, canonical, fingerprint
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor
from tests.ingest.onnx_text import content
from tests.ingest.real_models import ALL
from tests.ingest.real_models import content as file_of


def wired(encoded: bytes) -> Wiring:
    """A model's layers with their nodes, as the rules see them."""
    model = parse(encoded, Limits())
    binding = bind(model, None, {})
    graph = resolve(model, binding, Limits())
    maker = Layers(graph, opset_imports(model), Limits())
    return wire(graph, tuple(maker.layer(node) for node in graph.nodes))


def plainly_joined(wiring: Wiring, positions: tuple[int, ...]) -> Layer:
    """The same by names alone, without a thought for order: `canonical` has to do the rest."""
    tensors: dict[str, Tensor] = {}
    members: list[tuple[Operator, tuple[str, ...], tuple[str, ...]]] = []
    for position in positions:
        layer, node = wiring.layers[position].layer, wiring.node(position)
        assert layer is not None
        operator = layer.operators[0]
        read = node.inputs[: len(operator.inputs)]
        written = node.outputs[: len(operator.outputs)]
        members.append((operator, read, written))
        own = operator.inputs + operator.outputs
        for index, name in zip(own, read + written, strict=True):
            if index != OMITTED and (name not in tensors or layer.tensors[index].value):
                tensors[name] = layer.tensors[index]
    places = {name: place for place, name in enumerate(tensors)} | {"": OMITTED}
    operators = [
        Operator(
            operator.op_type,
            operator.domain,
            operator.version,
            operator.attributes,
            tuple(places[name] for name in read),
            tuple(places[name] for name in written),
        )
        for operator, read, written in members
    ]
    inside = set(positions)
    outputs = tuple(
        places[name]
        for position in positions
        for name in wiring.node(position).outputs
        if name and not inside.issuperset(wiring.readers[name])
    )
    return Layer(tuple(tensors.values()), tuple(operators), outputs)


def check_joined(wiring: Wiring, positions: tuple[int, ...], joiner: Joiner) -> None:
    joined = joiner.join(positions)
    assert canonical(joined.layer) == joined.layer
    assert joined.layer == canonical(plainly_joined(wiring, positions))
    assert joined.fingerprint == fingerprint(joined.layer)
    assert joined.bytes == costs.moved_bytes(joined.layer)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_each_layer_with_those_that_it_reads_from(name: str) -> None:
    """Many of these are no chains: an Add with the two convolutions that it adds up, say."""
    wiring = wired(file_of(name))
    joiner = Joiner(wiring)
    before: dict[int, list[int]] = {}
    for source, target in wiring.edges:
        before.setdefault(target, []).append(source)
    assert before
    for target, sources in before.items():
        positions = (*sorted(sources), target)
        if all(wiring.layers[position].layer is not None for position in positions):
            check_joined(wiring, positions, joiner)


@pytest.mark.parametrize("nodes", ["p = Relu(x) q = Sigmoid(x)", "q = Sigmoid(x) p = Relu(x)"])
def test_layers_side_by_side_are_put_in_the_order_in_which_they_are_read(nodes: str) -> None:
    wiring = wired(content(f"g (float[2,3] x) => (y) {{ {nodes} y = Sub(q, p) }}"))
    joined = Joiner(wiring).join((0, 1, 2))
    assert joined.layer.title() == "Sigmoid+Relu+Sub"


def test_one_layer_may_be_decided_by_what_another_takes_as_a_weight() -> None:
    """The group then holds the elements: they decide what it does."""
    wiring = wired(
        content(
            "g (float[2,3] x) => (y) <float c = {0.5}> { t = Mul(x, c) y = Clip(t, c) }",
        )
    )
    joined = Joiner(wiring).join((0, 1))
    assert [tensor.value for tensor in joined.layer.tensors if tensor.constant] == [
        b"\x00\x00\x00\x3f"
    ]
    check_joined(wiring, (0, 1), Joiner(wiring))


def test_the_same_layers_wired_otherwise_are_another_layer() -> None:
    text = "g (float[2,2] x, float[2,2] z) => (y) {{ t = MatMul(x, z) y = Add(t, {}) }}"
    prints = {Joiner(wired(content(text.format(b)))).join((0, 1)).fingerprint for b in "xzt"}
    assert len(prints) == 3


def test_layers_that_are_alike_are_joined_once() -> None:
    wiring = wired(
        content(
            "g (float[2,2] x, float[2,2] z) => (y)"
            "{ a = MatMul(x, z) b = Relu(a) c = MatMul(b, z) y = Relu(c) }"
        )
    )
    joiner = Joiner(wiring)
    assert joiner.join((0, 1)) is joiner.join((2, 3))


def test_each_value_that_is_read_outside_is_a_result() -> None:
    text = "g (float[2,3] x) => ({}) {{ a = Relu(x) b = Neg(a) c = Exp(b) d = Sqrt(b) }}"
    for out, count in (("c, d", 2), ("c, d, b", 3), ("a, c, d", 3)):
        wiring = wired(content(text.format(out)))
        check_joined(wiring, (0, 1, 2, 3), Joiner(wiring))
        assert len(Joiner(wiring).join((0, 1, 2, 3)).layer.outputs) == count
    part = Joiner(wired(content(text.format("c, d")))).join((0, 1))
    assert [part.layer.operators[-1].outputs] == [part.layer.outputs]


def test_a_result_more_is_another_layer() -> None:
    text = "g (float[2,3] x) => ({}) {{ a = Relu(x) b = Neg(a) }}"
    one, both = (Joiner(wired(content(text.format(out)))).join((0, 1)) for out in ("b", "a, b"))
    assert one.fingerprint != both.fingerprint
    assert both.bytes - one.bytes == 4 * 6


def test_results_in_another_order_are_the_same_layer() -> None:
    text = "g (float[2,3] x) => (c, d) {{ a = Relu(x) {} }}"
    orders = ("c = Exp(a) d = Sqrt(a)", "d = Sqrt(a) c = Exp(a)")
    one, other = (Joiner(wired(content(text.format(o)))).join((0, 1, 2)) for o in orders)
    assert one.fingerprint == other.fingerprint


def test_names_go_with_several_results() -> None:
    wiring = wired(content("g (float[2,3] x) => (c, d) { a = Relu(x) c = Exp(a) d = Sqrt(a) }"))
    named = Joiner(wiring).named((0, 1, 2))
    assert [named.names[place] for place in named.layer.outputs] == ["c", "d"]
    assert named.fingerprint == fingerprint(named.layer)


def test_indices_that_are_repeated_are_read_where_they_are_once() -> None:
    """Once in the group, however many read them; and not where a layer stands alone."""
    wiring = wired(
        content(
            "g (float[4,2,6] x, float[4,2,6] z) => (y) <int32[1,2,3] c = {0, 1, 2, 3, 4, 5}>"
            "{ s = Constant<value_ints=[4,2,3]>() e = Expand(c, s) i = Cast<to=7>(e)"
            " a = GatherElements<axis=2>(x, i) b = GatherElements<axis=2>(z, i) y = Add(a, b) }",
        )
    )
    assert [layer.op for layer in wiring.layers] == ["GatherElements", "GatherElements", "Add"]
    joined = Joiner(wiring).join((0, 1, 2))
    assert joined.layer == canonical(joined.layer)
    assert joined.layer.title() == "Expand+GatherElements+GatherElements+Add"
    (once,) = (t for t in joined.layer.tensors if t.constant and t.value is None)
    assert once == Tensor("int64", (1, 2, 3), constant=True)
    named = Joiner(wiring).named((0, 1, 2))
    names = dict(zip(named.names, named.layer.tensors, strict=True))
    assert "i" not in names, "a layer that stands alone reads it"
    assert {"x", "z", "y"} <= names.keys()
    assert named.fingerprint == joined.fingerprint


@pytest.mark.parametrize(("opset", "titles"), [(12, 8), (13, 13), (23, 13)])
def test_what_repeats_indices_is_of_the_same_operator_set(opset: int, titles: int) -> None:
    wiring = wired(
        content(
            "g (float[4,2,6] x) => (y)"
            " <int64[1,2,3] c = {0, 1, 2, 3, 4, 5}, int64[3] s = {4, 2, 3}>"
            " { i = Expand(c, s) a = GatherElements<axis=2>(x, i) y = Neg(a) }",
            opset,
        )
    )
    joined = Joiner(wiring).join((0, 1))
    assert joined.layer.operators[0].version == titles
    assert opsets(joined.layer)[""] >= titles


def test_too_many_results_that_look_the_same_are_an_error() -> None:
    body = " ".join(f"y{n} = MatMul(x, w{n})" for n in range(8))
    outs = ", ".join(f"y{n}" for n in range(8))
    weights = ", ".join(f'float[3,3] w{n} = ["location": "w"]' for n in range(8))
    wiring = wired(content(f"g (float[2,3] x) => ({outs}) <{weights}> {{ {body} }}"))
    with pytest.raises(LayerError, match="look the same"):
        Joiner(wiring).join(tuple(range(8)))
