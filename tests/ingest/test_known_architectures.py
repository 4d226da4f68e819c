"""A checkpoint of a known architecture adds itself alone."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from benanza.installation.embedded import drain
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_ingest.core import Ingested, ingest
from benanza_ingest.known_architectures import KnownArchitectures
from benanza_ingest.step import ingest_step
from benanza_schemas import codec
from benanza_schemas.codec import encode
from benanza_schemas.events import (
    CheckpointIngested,
    LayerSeen,
    ModelIngested,
    ModelPublished,
    event_id,
)
from benanza_schemas.topics import CHECKPOINTS, GRAPHS, LAYERS
from tests.ingest.onnx_text import content
from tests.steps import LIMITS, append, clock, written

GRAPH = "g (float[N,4] x) => (float[N,4] z) {{ [{0}] y = Relu(x) [{0}_too] z = Exp(y) }}"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


def published(name: str, *batch_sizes: int, text: str = GRAPH) -> ModelPublished:
    """A model whose layers are named after it."""
    encoded = content(text.format(name))
    sha256 = hashlib.sha256(encoded).hexdigest()
    return ModelPublished(
        event_id=event_id("ModelPublished", name, str(batch_sizes)),
        name=name,
        sha256=sha256,
        content=encoded,
        batch_sizes=batch_sizes,
    )


def events_of(name: str, *batch_sizes: int, text: str = GRAPH) -> list[Ingested]:
    event = published(name, *batch_sizes, text=text)
    assert event.content is not None
    return ingest(event, event.content, LIMITS)


def test_the_first_model_is_passed_on_whole_also_when_it_comes_again() -> None:
    """A crash may have come between the graph and its layers."""
    known, first = KnownArchitectures(), events_of("first")
    assert {type(event) for event in first} > {ModelIngested, CheckpointIngested}
    for _ in range(2):
        assert known.pass_on(first) == first


def test_another_checkpoint_is_passed_on_alone() -> None:
    known = KnownArchitectures()
    known.pass_on(events_of("first"))
    (checkpoint,) = known.pass_on(events_of("second"))
    assert isinstance(checkpoint, CheckpointIngested)
    assert checkpoint.layer_names == ("second", "second_too")


def test_networks_of_a_known_architecture_are_passed_on() -> None:
    """Only who publishes a model says whether it is to be split."""
    known = KnownArchitectures()
    known.pass_on(events_of("a"))
    event = replace(published("b"), granularity=2)
    assert event.content is not None
    checkpoint, network = known.pass_on(ingest(event, event.content, LIMITS))
    assert isinstance(checkpoint, CheckpointIngested)
    assert isinstance(network, LayerSeen)
    assert network.layer.execution == "network"
    assert network.layer.title() == "Relu+Exp"


def test_what_differs_in_more_than_names_is_passed_on_whole() -> None:
    known = KnownArchitectures()
    known.pass_on(events_of("first"))
    other = events_of("other", text=GRAPH.replace("Exp", "Tanh"))
    assert known.pass_on(other) == other


def test_each_batch_size_is_an_architecture() -> None:
    known = KnownArchitectures()
    known.pass_on(events_of("first", 1))
    passed = known.pass_on(events_of("second", 1, 8))
    graphs = [event.batch for event in passed if isinstance(event, ModelIngested)]
    checkpoints = [event.batch for event in passed if isinstance(event, CheckpointIngested)]
    assert (graphs, checkpoints) == ([8], [1, 8])


def test_another_process_knows_what_the_log_holds(log: EventLog) -> None:
    for name in ("first", "second"):
        append(log, published(name))
        with ingest_step(log, LIMITS, clock) as step:
            drain(step)
    checkpoints = written(log, CHECKPOINTS)
    assert [event.name for event in checkpoints if isinstance(event, CheckpointIngested)] == [
        "first",
        "second",
    ]
    (graph,) = written(log, GRAPHS)
    assert isinstance(graph, ModelIngested)
    assert graph.name == "first"
    layers = written(log, LAYERS)
    assert len({event.event_id for event in layers}) == len(layers) == 3


def test_a_graph_that_cannot_be_read_is_not_known() -> None:
    first = events_of("first")
    graph = next(event for event in first if isinstance(event, ModelIngested))
    key = graph.architecture_id.encode()
    nested = b"\x81\xa5other" + b"\x91" * 5000
    known = KnownArchitectures([(key, b"\xc1"), (key, nested), (b"\xff", encode(graph))])
    assert known.pass_on(first) == first


def test_a_graph_that_is_too_large_to_be_published_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the checkpoints after it would have no bounds, and nothing would say why."""
    known, first = KnownArchitectures(), events_of("first")
    with monkeypatch.context() as patch:
        patch.setattr(codec, "MAX_EVENT_BYTES", 10)
        with pytest.raises(ValueError, match="can't be published"):
            known.pass_on(first)
    second = events_of("second")
    assert known.pass_on(second) == second
