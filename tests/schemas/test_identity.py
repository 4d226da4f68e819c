"""The fingerprint is the same for the same layer, and only for it."""

import time
from typing import Any

import msgspec
import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas.identity import (
    LayerError,
    canonical,
    digest,
    fingerprint,
    fingerprint_of_canonical,
)
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator, Tensor, TensorValue
from tests.examples import examples
from tests.schemas import samples
from tests.schemas.layer_strategies import layers, rewritten

F32 = Tensor("float32", (2, 3))


def operator(
    op_type: str,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    attributes: tuple[Attribute, ...] = (),
) -> Operator:
    return Operator(op_type, "", 13, attributes, inputs, outputs)


def layer_of(operators: list[Operator], outputs: tuple[int, ...], tensors: int) -> Layer:
    return Layer((F32,) * tensors, tuple(operators), outputs)


def same(one: Layer, other: Layer) -> bool:
    return fingerprint(one) == fingerprint(other)


@given(st.data())
@examples(times=2)
def test_names_and_order_do_not_count(data: st.DataObject) -> None:
    layer = data.draw(layers())
    other = data.draw(rewritten(layer))
    assert canonical(other) == canonical(layer)
    assert fingerprint(other) == fingerprint(layer)


@given(layers())
def test_the_canonical_form_is_its_own(layer: Layer) -> None:
    once = canonical(layer)
    assert canonical(once) == once
    assert fingerprint_of_canonical(once) == fingerprint(layer)


def as_graph(layer: Layer) -> "nx.DiGraph[Any]":
    """Operators, tensors and the slots between them as one labelled graph, for networkx."""
    graph = nx.DiGraph()
    for number, found in enumerate(layer.operators):
        label = (found.op_type, found.domain, found.version, found.attributes)
        graph.add_node(("op", number), label=label)
        for way, indices in (("in", found.inputs), ("out", found.outputs)):
            for slot, index in enumerate(indices):
                if index == OMITTED:
                    continue
                tensor, between = ("tensor", index), (way, number, slot)
                output = index in layer.outputs
                graph.add_node(tensor, label=(layer.tensors[index], output))
                graph.add_node(between, label=(way, slot))
                ends = (tensor, ("op", number)) if way == "in" else (("op", number), tensor)
                graph.add_edges_from([(ends[0], between), (between, ends[1])])
    return graph


few_layers = layers(
    max_operators=3,
    tensors=st.just(F32),
    op_types=("Add", "Relu"),
    attributes=st.just(()),
)
"""So few that two of them are often the same."""


@given(few_layers, few_layers)
@examples(times=4)
def test_fingerprints_are_equal_just_where_the_graphs_are_isomorphic(
    one: Layer, other: Layer
) -> None:
    isomorphic = nx.is_isomorphic(
        as_graph(one), as_graph(other), node_match=lambda a, b: a["label"] == b["label"]
    )
    assert same(one, other) == isomorphic


BASE = Layer(
    tensors=(
        Tensor("float32", (2, 3)),
        Tensor("int64", (1,), constant=True, value=b"\0\0\0\0\0\0\0\0"),
        Tensor("float32", (2, 3)),
        Tensor("float32", (1, 3)),
    ),
    operators=(
        operator("Add", (0, 0), (2,)),
        operator("ReduceSum", (2, 1), (3,), (Attribute("keepdims", 1),)),
    ),
    outputs=(3,),
)


def with_tensor(index: int, **changes: Any) -> Layer:
    tensors = list(BASE.tensors)
    tensors[index] = msgspec.structs.replace(tensors[index], **changes)
    return msgspec.structs.replace(BASE, tensors=tuple(tensors))


def with_operator(index: int, **changes: Any) -> Layer:
    operators = list(BASE.operators)
    operators[index] = msgspec.structs.replace(operators[index], **changes)
    return msgspec.structs.replace(BASE, operators=tuple(operators))


OTHERS = {
    "operator type": with_operator(0, op_type="Mul"),
    "domain": with_operator(0, domain="com.example"),
    "version": with_operator(0, version=14),
    "attribute value": with_operator(1, attributes=(Attribute("keepdims", 0),)),
    "attribute name": with_operator(1, attributes=(Attribute("keep_dims", 1),)),
    "attribute type": with_operator(1, attributes=(Attribute("keepdims", 1.0),)),
    "attribute left out": with_operator(1, attributes=()),
    "tensor attribute": with_operator(
        1, attributes=(Attribute("keepdims", TensorValue("int64", (), bytes(8))),)
    ),
    "input shape": with_tensor(0, shape=(3, 2)),
    "rank": with_tensor(0, shape=(2, 3, 1)),
    "shape inside": with_tensor(2, shape=(3, 2)),
    "output shape": with_tensor(3, shape=(1, 1)),
    "element type": with_tensor(0, dtype="float16"),
    "constant flag": with_tensor(0, constant=True),
    "deciding value": with_tensor(1, value=b"\1\0\0\0\0\0\0\0"),
    "value unknown": with_tensor(1, value=None),
    "empty value": with_tensor(1, value=b""),
    "output set": msgspec.structs.replace(BASE, outputs=(2, 3)),
    "input left out": with_operator(0, inputs=(OMITTED, 0)),
    "one input more": with_operator(0, inputs=(0, 0, 0)),
}


def test_whatever_differs_gives_another_fingerprint() -> None:
    found = {what: fingerprint(layer) for what, layer in OTHERS.items()}
    assert fingerprint(BASE) not in found.values()
    assert len(set(found.values())) == len(found), found


@given(st.data())
@examples(times=1.5)
def test_a_change_anywhere_gives_another_fingerprint(data: st.DataObject) -> None:
    layer = canonical(data.draw(layers()))
    at = data.draw(st.integers(0, len(layer.tensors) - 1))
    tensors = list(layer.tensors)
    longer = (*tensors[at].shape, 7)
    tensors[at] = msgspec.structs.replace(tensors[at], shape=longer)
    assert not same(layer, msgspec.structs.replace(layer, tensors=tuple(tensors)))


def test_adding_a_value_to_itself_is_not_adding_two() -> None:
    twice = layer_of([operator("Add", (0, 0), (1,))], (1,), 2)
    two = layer_of([operator("Add", (0, 1), (2,))], (2,), 3)
    assert not same(twice, two)


def test_the_order_of_an_operators_inputs_counts() -> None:
    relu, tanh = operator("Relu", (0,), (1,)), operator("Tanh", (0,), (2,))
    one = layer_of([relu, tanh, operator("Sub", (1, 2), (3,))], (3,), 4)
    other = layer_of([relu, tanh, operator("Sub", (2, 1), (3,))], (3,), 4)
    assert not same(one, other)


def test_computing_twice_is_not_computing_once_and_reading_twice() -> None:
    """Seen from the output alone, both are the same tree."""
    relu = operator("Relu", (0,), (1,))
    shared = layer_of([relu, operator("Add", (1, 1), (2,))], (2,), 3)
    again = operator("Relu", (0,), (2,))
    twice = layer_of([relu, again, operator("Add", (1, 2), (3,))], (3,), 4)
    assert not same(shared, twice)


def test_outputs_that_look_the_same_are_told_apart_by_what_they_share() -> None:
    """Of three equal pairs of operators two share an input; which of them doesn't count."""

    def layer(first: int, second: int) -> Layer:
        """Three Relus on three inputs; two of them are multiplied."""
        relus = [operator("Relu", (i,), (i + 3,)) for i in range(3)]
        product = operator("Mul", (first + 3, second + 3), (6,))
        return layer_of([*relus, product], (3, 4, 5, 6), 7)

    ways = {fingerprint(layer(i, j)) for i in range(3) for j in range(3) if i != j}
    assert len(ways) == 1
    assert fingerprint(layer(0, 0)) not in ways


def test_inputs_that_nobody_reads_do_not_count() -> None:
    assert same(
        layer_of([operator("Relu", (0,), (1,))], (1,), 2),
        layer_of([operator("Relu", (2,), (1,))], (1,), 3),
    )


def test_an_optional_input_left_out_at_the_end_may_be_written_or_not() -> None:
    assert same(
        layer_of([operator("Clip", (0,), (1,))], (1,), 2),
        layer_of([operator("Clip", (0, OMITTED, OMITTED), (1, OMITTED))], (1,), 2),
    )
    middle = layer_of([operator("Clip", (0, OMITTED, 1), (2,))], (2,), 3)
    assert canonical(middle).operators[0].inputs == (0, OMITTED, 1)


GOLDEN = {
    "convolution": (samples.CONV, "31a5c7879252532cdbb1ca553decd1e4"),
    "group": (samples.CONV_CLIP, "50d0dc7b8a75643352acdf0826f2dcd0"),
    "attributes": (samples.EVERY_ATTRIBUTE, "12aa5052733f846d0a132cd43e1fbcc3"),
}


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_identity_does_not_change_unnoticed(name: str) -> None:
    """If this fails, all that was ever measured is measured again: raise IDENTITY_VERSION."""
    layer, expected = GOLDEN[name]
    assert fingerprint(layer) == expected


def test_a_digest_is_128_bits_in_hexadecimal() -> None:
    assert digest(b"") == "cae66941d9efbd404e4d88758ea67670"


ILL_FORMED = {
    "Relu reads tensor 7, which isn't there": layer_of([operator("Relu", (7,), (1,))], (1,), 2),
    "Relu reads tensor -2, which isn't there": layer_of([operator("Relu", (-2,), (1,))], (1,), 2),
    "Relu can't write tensor 2": layer_of([operator("Relu", (0,), (2,))], (1,), 2),
    "Tanh can't write tensor 1": layer_of(
        [operator("Relu", (0,), (1,)), operator("Tanh", (0,), (1,))], (1,), 2
    ),
    "Relu reads what a later operator writes": layer_of(
        [operator("Relu", (1,), (2,)), operator("Tanh", (0,), (1,))], (2,), 3
    ),
    "Add reads what a later operator writes": layer_of([operator("Add", (0, 1), (1,))], (1,), 2),
    "a layer needs outputs": layer_of([operator("Relu", (0,), (1,))], (), 2),
    "each written by one of its operators": layer_of([operator("Relu", (0,), (1,))], (0,), 2),
    "a layer needs outputs, each": layer_of([], (), 0),
    "an operator of Relu.Tanh is of no use": layer_of(
        [operator("Relu", (0,), (1,)), operator("Tanh", (0,), (2,))], (1,), 3
    ),
    "too many outputs that look the same": layer_of(
        [operator("Relu", (0,), (i,)) for i in range(1, 9)], tuple(range(1, 9)), 9
    ),
}


@pytest.mark.parametrize("complaint", ILL_FORMED)
def test_an_ill_formed_layer_is_refused_with_the_reason(complaint: str) -> None:
    with pytest.raises(LayerError, match=complaint):
        canonical(ILL_FORMED[complaint])
    with pytest.raises(LayerError, match=complaint):
        fingerprint(ILL_FORMED[complaint])


def test_a_long_chain_is_walked_without_recursion() -> None:
    length = 20_000
    chain = [operator("Relu", (i,), (i + 1,)) for i in range(length)]
    layer = layer_of(chain, (length,), length + 1)
    assert canonical(layer) == layer


def test_a_layer_that_splits_and_joins_again_and_again_is_walked_once() -> None:
    """Each join doubles the paths from the output; the operators stay few."""
    joins = [operator("Add", (i, i), (i + 1,)) for i in range(200)]
    layer = layer_of(joins, (200,), 201)
    started = time.process_time()
    assert canonical(layer) == layer
    assert time.process_time() - started < 5


def test_many_outputs_that_look_different_take_no_trying() -> None:
    split = operator("Split", (0,), tuple(range(1, 1001)))
    layer = layer_of([split], tuple(range(1, 1001)), 1001)
    assert canonical(canonical(layer)) == canonical(layer)
