"""A model comes out of a message as it went in, and no message makes the parent believe what the
message of another model would contradict.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_backbone.worker.frames import FrameError
from benanza_backbone.worker.process import decoded
from benanza_ingest.core import events_of
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.isolation.answers import packed, unless_refused, unpacked
from benanza_ingest.isolation.messages import TakenApart, answers, encoder
from benanza_ingest.layering import costs
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import LayerSeen, LayerUse, ModelPublished
from benanza_schemas.identity import fingerprint_of_canonical
from tests.ingest.onnx_text import content as written
from tests.ingest.real_models import content

LIMITS = Limits()

SMALL = """
g (float[N,8,length] x, float[8,8] w) => (y, custom)
{
    a = Relu(x)
    b = Identity(a)
    c = MatMul(w, b)
    y = Sigmoid(c)
    custom = com.example.Foo(w)
}
"""


def published(batch: int | None = 2, granularity: int | None = 2) -> ModelPublished:
    return ModelPublished(
        event_id="0" * 32,
        name="small",
        sha256="0" * 64,
        batch_sizes=() if batch is None else (batch,),
        dims={"length": 3},
        granularity=granularity,
    )


def taken_apart() -> ExtractedModel:
    return extract(written(SMALL), batch=2, dims={"length": 3}, granularity=2)


@pytest.fixture(scope="module")
def answer() -> TakenApart:
    return packed(taken_apart())


def read(answer: TakenApart, asked: ModelPublished | None = None) -> ExtractedModel:
    """The model in this answer, after it went over a socket."""
    found = unless_refused(decoded(encoder.encode(answer), answers))
    asked = asked or published()
    return unpacked(found, asked, next(iter(asked.batch_sizes), None), LIMITS)


@pytest.mark.parametrize(
    "name", ["densenet121", "shufflenet", "transformers-t5-decoder", "torchvision-swin_t-raw"]
)
def test_real_models_come_out_as_they_went_in(name: str) -> None:
    model = extract(content(name), granularity=3)
    assert read(packed(model), published(None, 3)) == model


def test_what_follows_from_the_dimensions_that_were_asked_for_is_none_of_them() -> None:
    total = b"past + length"
    text = f"g (float[N,past] p, float[N,length] l, float[N,{'x' * len(total)}] m) => (y) {{"
    model = written(f"{text} y = Relu(m) }}").replace(b"x" * len(total), total)
    asked = {"past": 0, "length": 3}
    found = extract(model, dims=asked)
    assert found.dims == asked
    assert read(packed(found), replace(published(None), dims=asked)) == found


def test_a_small_one_has_something_of_everything(answer: TakenApart) -> None:
    assert read(answer) == taken_apart()
    assert answer.groups
    assert answer.sequences
    assert {summary.kind for summary in answer.summaries} == {"compute", "view", "skipped"}


def of_summary(answer: TakenApart, **fields: object) -> TakenApart:
    """With another first summary, which is a Relu's."""
    first, *others = answer.summaries
    return replace(answer, summaries=(replace(first, **fields), *others))


def of_graph(answer: TakenApart, **fields: object) -> TakenApart:
    first, *others = answer.graphs
    return replace(answer, graphs=(replace(first, **fields), *others))


def of_operator(answer: TakenApart, **fields: object) -> TakenApart:
    return of_graph(answer, operators=(replace(answer.graphs[0].operators[0], **fields),))


def of_group(answer: TakenApart, **fields: object) -> TakenApart:
    first, *others = answer.groups
    return replace(answer, groups=(replace(first, **fields), *others))


def of_sequence(answer: TakenApart, **fields: object) -> TakenApart:
    first, *others = answer.sequences
    return replace(answer, sequences=(replace(first, **fields), *others))


def of_shape(answer: TakenApart, *shape: int) -> TakenApart:
    graph = answer.graphs[0]
    return of_graph(answer, tensors=tuple(replace(t, shape=shape) for t in graph.tensors))


FORGED: list[tuple[str, Callable[[TakenApart], TakenApart]]] = [
    ("batch size 3 instead of 2", lambda a: replace(a, batch=3)),
    ("dimensions that nobody asked for", lambda a: replace(a, dims={"length": 4})),
    ("dimensions that nobody asked for", lambda a: replace(a, dims={"length": 3, "more": 1})),
    ("edges that aren't in order", lambda a: replace(a, edges=a.edges[::-1])),
    ("edges that aren't in order", lambda a: replace(a, edges=((0, len(a.layers)),))),
    ("edges that aren't in order", lambda a: replace(a, edges=((1, 1),))),
    ("edges that aren't in order", lambda a: replace(a, edges=(a.edges[0], *a.edges))),
    ("out of range", lambda a: replace(a, layers=(LayerUse(99, "x"),), edges=())),
    ("out of range", lambda a: of_summary(a, graph=99)),
    ("a layer without a graph", lambda a: of_summary(a, graph=None)),
    ("a layer without a graph", lambda a: of_summary(a, kind="skipped")),
    ("a layer of another operator", lambda a: of_summary(a, op="Conv")),
    ("a layer of another operator", lambda a: of_summary(a, graph=a.groups[0].graph)),
    ("a layer that can't be one", lambda a: of_summary(a, reason="why")),
    ("a layer that can't be one", lambda a: of_graph(a, execution="network")),
    ("a layer needs outputs", lambda a: of_graph(a, outputs=())),
    ("reads tensor 7, which isn't there", lambda a: of_operator(a, inputs=(7,))),
    ("a size is negative", lambda a: of_shape(a, -1)),
    ("a layer of no size", lambda a: of_operator(of_shape(a, 2**62), op_type="Reshape")),
    (r"more than 2\^60 operations", lambda a: of_shape(a, *[2**62] * 64)),
    ("a tensor of over 64 axes", lambda a: of_shape(a, *[1] * 65)),
    ("a group that is none", lambda a: of_group(a, rule="")),
    ("a group that is none", lambda a: of_group(a, graph=a.sequences[0].graph)),
    ("layers that aren't there", lambda a: of_group(a, layers=())),
    ("layers that aren't there", lambda a: of_group(a, layers=(0, 99))),
    ("layers that aren't in order", lambda a: of_group(a, layers=(1, 0))),
    ("a sequence that nobody asked for", lambda a: of_sequence(a, layers=(0, 1, 2))),
    ("a sequence that nobody asked for", lambda a: of_sequence(a, graph=0)),
]


@pytest.mark.parametrize(("why", "forge"), FORGED)
def test_what_can_not_be_is_refused(
    answer: TakenApart, why: str, forge: Callable[[TakenApart], TakenApart]
) -> None:
    with pytest.raises(FrameError, match=why):
        read(forge(answer))


def test_what_was_not_asked_for_is_refused(answer: TakenApart) -> None:
    with pytest.raises(FrameError, match="a sequence that nobody asked for"):
        read(answer, published(granularity=None))
    with pytest.raises(FrameError, match="5 layers, more than 4"):
        unpacked(answer, published(), 2, Limits(nodes=4))


def test_a_view_moves_nothing_and_other_costs_are_those_of_the_graph(answer: TakenApart) -> None:
    """A process says neither what a layer costs, nor which it is."""
    model = read(answer)
    (view,) = {layer.op for layer in model.layers if layer.kind == "view"}
    assert view == "Identity"
    check_believed(model)


def check_believed(model: ExtractedModel) -> None:
    for layer in model.layers:
        if layer.layer is None:
            assert (layer.kind, layer.fingerprint) == ("skipped", "")
            continue
        assert layer.fingerprint == fingerprint_of_canonical(layer.layer)
        figures = costs.flops(layer.layer), costs.moved_bytes(layer.layer)
        assert (layer.flops, layer.bytes) == ((0, 0) if layer.kind == "view" else figures)
    for group in model.groups:
        assert group.fingerprint == fingerprint_of_canonical(group.layer)
        assert group.flops == costs.flops(group.layer)
        assert group.bytes == costs.moved_bytes(group.layer)
    for sequence in model.sequences:
        assert sequence.fingerprint == fingerprint_of_canonical(sequence.layer)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something is in it, besides the whole."""
    keys: Any = value.keys() if isinstance(value, dict) else range(len(value))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(value[key], dict | list) and len(path) < 7:
            found += places(value[key], (*path, key))
    return found


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.lists(st.integers(-3, 300), max_size=4),
    st.dictionaries(st.text(max_size=3), st.integers(0, 5), max_size=2),
)


@settings(max_examples=300)
@given(data=st.data())
def test_a_changed_answer_is_refused_or_makes_events_that_are_right(
    data: st.DataObject, answer: TakenApart
) -> None:
    message = msgspec.msgpack.decode(encoder.encode(answer))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(places(message)))
        inner = message
        for key in way:
            inner = inner[key]
        match data.draw(st.sampled_from(["set", "remove", "copy"])):
            case "set":
                inner[last] = data.draw(values)
            case "remove":
                del inner[last]
            case "copy":
                *other, name = data.draw(st.sampled_from(places(message)))
                source = message
                for key in other:
                    source = source[key]
                inner[last] = deepcopy(source[name])
    changed = msgspec.msgpack.encode(message)
    asked = published()
    try:
        model = unpacked(unless_refused(decoded(changed, answers)), asked, 2, LIMITS)
    except (FrameError, ModelError):
        return
    check_believed(model)
    for event in events_of(asked, [model]):
        encoded = encode(event)
        assert encode(decode(encoded)) == encoded
        if isinstance(event, LayerSeen):
            assert event.fingerprint == fingerprint_of_canonical(event.layer)
        else:
            assert (event.name, event.zoo, event.sha256) == ("small", "", "0" * 64)
            assert event.batch == 2
