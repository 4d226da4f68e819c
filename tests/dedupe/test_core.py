"""Each layer becomes a job once, in whatever order, and however often, events arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_dedupe.core import Dedupe
from benanza_schemas.events import BenchmarkRequested, LayerKnown, LayerSeen, event_id
from benanza_schemas.identity import LayerError, canonical, fingerprint
from benanza_schemas.layer import Layer, Operator, Tensor

OPERATORS = ("Relu", "Sigmoid", "Tanh")


def chain(op_types: tuple[str, ...], size: int) -> Layer:
    """Element-wise operators one after another: a single operator, or a group."""
    operators = tuple(
        Operator(op_type=op, domain="", version=13, attributes=(), inputs=(i,), outputs=(i + 1,))
        for i, op in enumerate(op_types)
    )
    tensors = tuple(Tensor(dtype="float32", shape=(1, size)) for _ in range(len(op_types) + 1))
    return canonical(Layer(tensors=tensors, operators=operators, outputs=(len(op_types),)))


def seen(layer: Layer, model: str) -> LayerSeen:
    ingested = event_id("ModelIngested", model)
    return LayerSeen(
        event_id=event_id("LayerSeen", ingested, fingerprint(layer)),
        fingerprint=fingerprint(layer),
        layer=layer,
        model_id=event_id("model", model),
    )


layers = st.builds(
    chain,
    st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=3).map(tuple),
    st.integers(1, 3),
)
streams = st.lists(st.builds(seen, layers, st.sampled_from(("a", "b", "c"))), max_size=30)


def jobs_of(events: list[LayerSeen], owners: dict[str, str]) -> list[BenchmarkRequested]:
    dedupe = Dedupe(owners)
    return [job for event in events for job in dedupe.handle(event)]


def test_a_layer_becomes_a_job_with_its_specification() -> None:
    event = seen(chain(("Relu",), 1000), "alexnet")
    (job,) = Dedupe({}).handle(event)
    assert job.fingerprint == event.fingerprint
    assert job.layer == event.layer
    assert job.event_id == event_id("BenchmarkRequested", event.fingerprint)


def test_a_network_has_a_job_beside_that_of_the_same_operators_as_one_call() -> None:
    call = chain(("Relu", "Tanh"), 1000)
    network = replace(call, execution="network")
    jobs = jobs_of([seen(call, "a"), seen(network, "a"), seen(network, "b")], {})
    assert [job.layer for job in jobs] == [call, network]


def test_the_same_layer_of_another_model_is_dropped() -> None:
    relu = chain(("Relu",), 1000)
    assert len(jobs_of([seen(relu, "alexnet"), seen(relu, "vgg19")], {})) == 1


def known(event: LayerSeen) -> LayerKnown:
    return LayerKnown(
        event_id=event_id("LayerKnown", event.fingerprint), fingerprint=event.fingerprint
    )


@given(st.data(), streams)
def test_what_is_known_gets_no_job_and_the_rest_does(
    data: st.DataObject, events: list[LayerSeen]
) -> None:
    elsewhere = data.draw(st.lists(st.sampled_from(events), unique_by=id)) if events else []
    dedupe = Dedupe({})
    assert not [job for event in elsewhere for job in dedupe.handle(known(event))]
    jobs = [job for event in events for job in dedupe.handle(event)]
    expected = {e.fingerprint for e in events} - {e.fingerprint for e in elsewhere}
    assert {job.fingerprint for job in jobs} == expected


def test_a_layer_is_not_taken_from_the_event_that_owns_it() -> None:
    """Its job may not be written yet, and is when the event comes again."""
    event, dedupe = seen(chain(("Relu",), 1000), "alexnet"), Dedupe({})
    first = dedupe.handle(event)
    assert dedupe.handle(known(event)) == []
    assert dedupe.handle(event) == first


def test_a_group_is_a_layer_of_its_own() -> None:
    events = [seen(chain(ops, 8), "m") for ops in (("Relu",), ("Tanh",), ("Relu", "Tanh"))]
    assert [job.layer.title() for job in jobs_of(events, {})] == ["Relu", "Tanh", "Relu+Tanh"]


@given(streams)
def test_each_layer_has_exactly_one_job(events: list[LayerSeen]) -> None:
    distinct = list({event.event_id: event for event in events}.values())
    jobs = jobs_of(distinct, {})
    assert [job.fingerprint for job in jobs] == list(dict.fromkeys(e.fingerprint for e in events))


@given(streams)
def test_the_same_event_again_gives_the_same_job_again(events: list[LayerSeen]) -> None:
    dedupe = Dedupe({})
    first = {event.event_id: dedupe.handle(event) for event in events}
    assert all(dedupe.handle(event) == first[event.event_id] for event in events)


@given(st.data(), streams)
def test_the_order_of_arrival_does_not_change_the_jobs(
    data: st.DataObject, events: list[LayerSeen]
) -> None:
    shuffled = data.draw(st.permutations(events))
    in_order, out_of_order = jobs_of(events, {}), jobs_of(shuffled, {})
    assert {job.event_id: job for job in in_order} == {job.event_id: job for job in out_of_order}


@given(st.data(), streams)
def test_a_crash_between_the_owner_and_its_job_loses_no_job(
    data: st.DataObject, events: list[LayerSeen]
) -> None:
    """The owners outlive the crash, jobs since the last commit don't, and the reader goes back
    to that commit."""
    committed = data.draw(st.integers(0, len(events)))
    crashed_at = data.draw(st.integers(committed, len(events)))
    owners: dict[str, str] = {}
    written = jobs_of(events[:committed], owners)
    jobs_of(events[committed:crashed_at], owners)
    written += jobs_of(events[committed:], owners)
    assert {job.fingerprint for job in written} == {event.fingerprint for event in events}


@pytest.mark.parametrize(("own", "others"), [("Tanh", "Relu"), ("Relu", "Tanh")])
def test_a_fingerprint_that_is_not_the_layers_is_refused(own: str, others: str) -> None:
    """Or it would keep the layer which it does name from ever being benchmarked."""
    mine, other = (seen(chain((op_type,), 8), "m") for op_type in (own, others))
    forged = LayerSeen(
        event_id=event_id("LayerSeen", "forged"),
        fingerprint=other.fingerprint,
        layer=mine.layer,
        model_id=mine.model_id,
    )
    dedupe = Dedupe({})
    with pytest.raises(LayerError, match=f"{own} has the fingerprint {mine.fingerprint}"):
        dedupe.handle(forged)
    assert [job.layer for job in dedupe.handle(other)] == [other.layer]
