"""How many layers a second does dedupe take, against an empty Faust agent and bare loops?

The same events lie on one real broker for each of the four. Once every fifth is of a layer never
seen before, and once every two hundredth, as when most of a zoo is known. Each runs in a process
of its own, one after the other, in turns.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import msgspec
from rich.console import Console
from rich.table import Table

from benanza_backbone.event_log.event_log import Message
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import LayerSeen, event_id
from benanza_schemas.identity import fingerprint_of_canonical
from benanza_schemas.layer import Layer, Operator, Tensor
from benanza_schemas.topics import LAYERS
from tests.benanza.processes import Installation, ServiceProcess
from tests.kafka_broker import KafkaBroker, lacking

EVENTS = 20_000
NEW_EVERY = (5, 200)
ROUNDS = 3
WANTED = 0.7
"""Of the rate of an empty Faust agent."""

NAMES = {
    "dedupe": "dedupe",
    "faust": "an empty Faust agent",
    "aiokafka": "bare aiokafka",
    "confluent": "bare confluent-kafka",
}


def main() -> None:
    """Prints the rates, and their ratios to that of dedupe."""
    console = Console()
    if reason := lacking():
        raise SystemExit(reason)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="benanza-bench-")))
        broker = KafkaBroker(folder)
        broker.start()
        held.callback(broker.stop)
        for new_every in NEW_EVERY:
            console.print(_compared(folder, broker.bootstrap, new_every))


def _compared(folder: Path, bootstrap: str, new_every: int) -> Table:
    events = layer_events(EVENTS, new_every)
    seconds: dict[str, list[float]] = {peer: [] for peer in NAMES}
    for round_ in range(ROUNDS):
        for peer in seconds:
            kafka = _with_events(bootstrap, events)
            own = folder / f"{peer}-{new_every}-{round_}"
            own.mkdir()
            took = _dedupe(kafka, own) if peer == "dedupe" else _peer(peer, kafka)
            seconds[peer].append(took)
    table = Table(title=f"{EVENTS:,} layer events, every {new_every}th new, {ROUNDS} rounds")
    for column in ("", "events a second", "dedupe / this", "rounds"):
        table.add_column(column, justify="right")
    ratios = {}
    for peer, name in NAMES.items():
        pairs = zip(seconds[peer], seconds["dedupe"], strict=True)
        rounds = [theirs / ours for theirs, ours in pairs]
        ratios[peer] = statistics.median(rounds)
        rate = EVENTS / statistics.median(seconds[peer])
        spread = f"{min(rounds):.2f} to {max(rounds):.2f}"
        table.add_row(name, f"{rate:,.0f}", f"{ratios[peer]:.2f}", spread)
    met = "met" if ratios["faust"] >= WANTED else "not met"
    table.caption = f"wanted: {WANTED} of an empty Faust agent; {met}"
    return table


def layer_events(count: int, new_every: int) -> list[Message]:
    """That many events, of which every so-manieth is of a layer that comes for the first time."""
    messages = []
    for number in range(count):
        distinct = number // new_every
        layer = _layer(distinct if number % new_every == 0 else number % (distinct + 1))
        fingerprint = fingerprint_of_canonical(layer)
        event = LayerSeen(
            event_id=event_id("LayerSeen", str(number)),
            fingerprint=fingerprint,
            layer=layer,
            model_id=event_id("Model", str(number // 50)),
        )
        messages.append(as_message(event))
    return messages


def _layer(number: int) -> Layer:
    tensors = (Tensor("float32", (1, number + 1)), Tensor("float32", (1, number + 1)))
    return Layer(tensors, (Operator("Relu", "", 14, (), (0,), (1,)),), (1,))


def _with_events(bootstrap: str, events: list[Message]) -> KafkaConnection:
    """Topics of their own, with the events in them."""
    kafka = KafkaConnection(bootstrap=(bootstrap,), prefix=f"{uuid4().hex}-")
    create_topics(kafka)
    with KafkaEventLog(kafka) as log:
        for start in range(0, len(events), 1000):
            log.append(events[start : start + 1000])
    return kafka


def _dedupe(kafka: KafkaConnection, folder: Path) -> float:
    """Seconds that the service takes, from its first event to its last."""
    with Installation(kafka, folder).start("dedupe") as service:
        began = _when(service, 1)
        first = _consumed(service)
        ended = _when(service, EVENTS)
    return (ended - began) * EVENTS / (EVENTS - first)


def _when(service: ServiceProcess, events: int) -> float:
    while _consumed(service) < events:
        time.sleep(0.2)  # Each look costs the service some milliseconds.
    return time.perf_counter()


def _consumed(service: ServiceProcess) -> float:
    return service.metric(f'records_consumed_total{{topic="{LAYERS}"}}')


def _peer(peer: str, kafka: KafkaConnection) -> float:
    (bootstrap,) = kafka.bootstrap
    command = [sys.executable, "-m", "benchmarks.dedupe_peers", peer, bootstrap, kafka.prefix]
    done = subprocess.run([*command, str(EVENTS)], capture_output=True, text=True, check=True)
    return msgspec.json.decode(done.stdout, type=float)


if __name__ == "__main__":
    main()
