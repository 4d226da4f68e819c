"""A published model in, events out: the same ones each time."""

import hashlib

import pytest

from benanza_ingest.core import INGEST_VERSION, MAX_BATCH_SIZES, batch_sizes, ingest, model_id
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import (
    MAX_NAME_LENGTH,
    LayerSeen,
    ModelIngested,
    ModelPublished,
    event_id,
)
from benanza_schemas.events.derivation import Derivation
from benanza_schemas.identity import fingerprint
from tests.ingest.deriving.small_models import mlp
from tests.ingest.onnx_text import content, proto
from tests.ingest.real_models import ALL
from tests.ingest.real_models import content as file_of
from tests.ingest.real_models import extracted as real

TEXT = (
    "g (float[N,4,8,8] x, float[1,W] z) => (y, v, q) <float[4,4,3,3] w = [\"location\": \"w\"],"
    " int64[2] s = {-1, 256}> { [first] c = Conv<pads=[1,1,1,1]>(x, w) r = Relu(c)"
    " [second] d = Conv<pads=[1,1,1,1]>(r, w) y = Relu(d) f = Reshape(y, s)"
    " v = Concat<axis=1>(f, f) q = Exp(z) }"
)  # fmt: skip


def published(encoded: bytes, name: str = "net", zoo: str = "", **more: object) -> ModelPublished:
    sha256 = hashlib.sha256(encoded).hexdigest()
    identity = event_id("ModelPublished", name, zoo, sha256)
    fields = {"event_id": identity, "name": name, "zoo": zoo, "sha256": sha256, **more}
    return ModelPublished(**fields)  # type: ignore[arg-type]  # fields vary with the test


def events_of(encoded: bytes, **more: object) -> tuple[list[ModelIngested], list[LayerSeen]]:
    events = ingest(published(encoded, **more), encoded, Limits())  # type: ignore[arg-type]
    return (
        [event for event in events if isinstance(event, ModelIngested)],
        [event for event in events if isinstance(event, LayerSeen)],
    )


def test_a_model_is_told_with_its_layers_summarised() -> None:
    encoded = content(TEXT)
    (model,), _ = events_of(encoded, zoo="tests")
    assert (model.name, model.zoo, model.opset) == ("net", "tests", 21)
    assert model.sha256 == hashlib.sha256(encoded).hexdigest()
    assert (model.batch, model.dims) == (1, {})
    names = [use.name for use in model.layers]
    assert names == ["first", "r", "second", "y", "f", "v", "q"]
    ops = [model.summaries[use.summary].op for use in model.layers]
    assert ops == ["Conv", "Relu", "Conv", "Relu", "Reshape", "Concat", "Exp"]
    assert len(model.summaries) == 5, "each distinct layer once"
    assert model.edges == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5))
    assert [(g.rule, g.layers) for g in model.groups] == [
        ("epilogue", (0, 1)),
        ("epilogue", (2, 3)),
        ("region", (3, 4, 5)),
    ]
    conv = model.summaries[model.layers[0].summary]
    assert (conv.kind, conv.flops, conv.parameters) == ("compute", 2 * 256 * 36, 144)
    skipped = model.summaries[model.layers[6].summary]
    assert (skipped.kind, skipped.fingerprint) == ("skipped", "")
    assert skipped.reason.endswith("; give --dim W=N")


def test_each_distinct_layer_and_group_that_can_be_benchmarked_is_seen_once() -> None:
    """Not views, of which there is nothing to measure, and not what was skipped."""
    (model,), seen = events_of(content(TEXT))
    assert [(event.layer.title(), event.rule) for event in seen] == [
        ("Conv", ""),
        ("Relu", ""),
        ("Concat", ""),
        ("Conv+Relu", "epilogue"),
        ("Relu+Reshape+Concat", "region"),
    ]
    for event in seen:
        assert event.model_id == model.model_id
        assert fingerprint(event.layer) == event.fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_events_of_real_models_agree_with_what_was_extracted(name: str) -> None:
    (model,), seen = events_of(file_of(name))
    found = real(name)
    kinds = {layer.fingerprint: layer.kind for layer in found.layers}
    groups = {group.fingerprint for group in found.groups}
    benchmarked = {f for f, kind in kinds.items() if kind in ("compute", "movement")} | groups
    assert [event.fingerprint for event in seen] == list(dict.fromkeys(e.fingerprint for e in seen))
    assert {event.fingerprint for event in seen} == benchmarked
    assert len(model.layers) == len(found.layers)
    for use, layer in zip(model.layers, found.layers, strict=True):
        summary = model.summaries[use.summary]
        assert (summary.op, summary.kind, summary.fingerprint) == (
            layer.op, layer.kind, layer.fingerprint,
        )  # fmt: skip
        assert (summary.flops, summary.bytes, summary.parameters) == (
            layer.flops, layer.bytes, layer.parameters,
        )  # fmt: skip
    for event in (model, *seen):
        assert decode(encode(event)) == event


def test_ids_follow_from_their_causes() -> None:
    encoded = content(TEXT)
    (model,), seen = events_of(encoded, name="net", zoo="tests")
    identity = model_id(model.sha256, 1, {})
    assert model.model_id == identity
    assert model.event_id == event_id("ModelIngested", "net", "tests", identity, INGEST_VERSION)
    for event in seen:
        assert event.event_id == event_id("LayerSeen", model.event_id, event.fingerprint)


def test_the_same_content_twice_gives_identical_events() -> None:
    encoded = content(TEXT)
    one, other = (ingest(published(encoded), encoded, Limits()) for _ in range(2))
    assert one == other
    assert [encode(event) for event in one] == [encode(event) for event in other]


def test_other_files_batches_and_dimensions_are_other_models() -> None:
    renamed = content(TEXT.replace("[first]", "[erste]"))
    ids = [
        model.model_id
        for models, _ in (
            events_of(content(TEXT)),
            events_of(renamed),
            events_of(content(TEXT), batch_sizes=(2, 3)),
            events_of(content(TEXT), dims={"W": 5}),
            events_of(content(TEXT), dims={"W": 6}),
        )
        for model in models
    ]
    assert len(set(ids)) == len(ids) == 6
    assert model_id("0" * 64, 1, {"a": 1, "b": 2}) == model_id("0" * 64, 1, {"b": 2, "a": 1})


def test_what_is_derived_of_a_model_is_another_model_with_layers_of_its_own() -> None:
    encoded = mlp().made("y").SerializeToString()
    (written,), of_written = events_of(encoded)
    (int4,), of_int4 = events_of(encoded, name="net int4", quantised="int4")
    assert int4.model_id == model_id(written.sha256, 3, {}, Derivation("int4"))
    assert len({written.model_id, int4.model_id}) == 2
    assert written.architecture_id != int4.architecture_id
    assert (int4.quantised, int4.tensor_parallel) == ("int4", 1)
    products, others = (
        {event.fingerprint for event in of if "Mat" in event.layer.title()}
        for of in (of_written, of_int4)
    )
    assert products
    assert others
    assert not products & others


def test_a_model_under_another_name_is_the_same_model_told_again() -> None:
    (one,), _ = events_of(content(TEXT), name="one")
    (other,), _ = events_of(content(TEXT), name="other")
    assert one.model_id == other.model_id
    assert one.event_id != other.event_id


def test_several_batch_sizes_are_several_models() -> None:
    models, seen = events_of(content(TEXT), batch_sizes=(1, 2, 8))
    assert [model.batch for model in models] == [1, 2, 8]
    assert len({model.model_id for model in models}) == 3
    assert len(seen) == 3 * 5
    assert len({event.fingerprint for event in seen}) == 3 * 5
    for model in models:
        conv = model.summaries[model.layers[0].summary]
        assert conv.flops == model.batch * 2 * 256 * 36


def test_the_batch_that_the_model_has_is_taken_where_none_is_given() -> None:
    fixed = content(TEXT.replace("N,4,8,8", "5,4,8,8"))
    (model,), _ = events_of(fixed)
    assert model.batch == 5


def test_dimensions_are_bound() -> None:
    (model,), _ = events_of(content(TEXT), dims={"W": 7})
    assert model.dims == {"W": 7}
    assert "skipped" not in {summary.kind for summary in model.summaries}


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"dims": {"V": 1}}, "no open dimension 'V'; it has 'N', 'W'"),
        ({"batch_sizes": tuple(range(1, 66))}, "asks for 65 batch sizes, more than 64; publish"),
        ({"batch_sizes": (2**50,)}, "BENANZA_MAX_TENSOR_ELEMENTS"),
    ],
)
def test_what_cannot_be_ingested_is_an_error_and_no_event(
    more: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ModelError, match=complaint):
        events_of(content(TEXT), **more)
    with pytest.raises(ModelError, match="not an ONNX model"):
        events_of(b"nothing")


def test_names_longer_than_an_event_allows_are_cut() -> None:
    """What is too long for the contract would be an event that nobody can read."""
    model = proto("g (float[2,3] x) => (y) { t = Odd.Op(x) y = Relu(x) }".replace("(y)", "(t, y)"))
    model.graph.node[0].name = "n" * 10_000
    model.graph.node[0].op_type = "o" * 10_000
    model.graph.node[0].domain = "d" * 10_000
    model.graph.node[1].name = "m" * 10_000
    (ingested,), _ = events_of(model.SerializeToString())
    assert decode(encode(ingested)) == ingested
    assert [len(use.name) for use in ingested.layers] == [MAX_NAME_LENGTH] * 2


def test_the_networks_of_a_granularity_are_seen_too() -> None:
    encoded = content(TEXT)
    _, plain = events_of(encoded)
    (model,), seen = events_of(encoded, granularity=2)
    networks = {each.fingerprint for each in extract(encoded, granularity=2).sequences}
    assert networks
    assert {each.fingerprint for each in seen} == {each.fingerprint for each in plain} | networks
    assert {each.layer.execution for each in seen if each.fingerprint in networks} == {"network"}
    assert all(each.model_id == model.model_id for each in seen)


def test_so_many_batch_sizes_and_no_more() -> None:
    most = published(b"", batch_sizes=tuple(range(1, MAX_BATCH_SIZES + 1)))
    assert batch_sizes(most) == most.batch_sizes
    with pytest.raises(ModelError, match=f"{MAX_BATCH_SIZES + 1} batch sizes, more than"):
        batch_sizes(published(b"", batch_sizes=tuple(range(1, MAX_BATCH_SIZES + 2))))
