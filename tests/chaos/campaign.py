"""One campaign: models are published while faults happen; then all must be as without them."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread

import msgspec

from benanza.publication import publications_of
from benanza.request import RunRequest
from benanza.steps import records
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import Message
from benanza_backbone.kafka_connection import KafkaConnection
from benanza_backbone.kafka_log import KafkaEventLog
from benanza_backbone.processor import as_message
from benanza_backbone.store import Store
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode
from benanza_schemas.events import DeadLetter, LayerMeasured, ModelPublished, event_id
from benanza_schemas.topics import DEAD_LETTERS, LAYERS, MODELS, RESULTS
from tests.chaos.cluster import Cluster
from tests.chaos.faults import Fault, schedule
from tests.chaos.models import write_models
from tests.chaos.oracle import Snapshot, differences, expected, snapshot

QUIET_S = 600.0
"""How long after the last fault all may take to be as it should."""

NO_MODEL = b"this is no model"
POISON = (
    Message(MODELS, b"poison", b"this is no event"),
    Message(LAYERS, b"poison", b"\x81\xa4type\xa4None"),
    as_message(
        ModelPublished(
            event_id=event_id("ModelPublished", "poison"),
            name="no model",
            sha256="0" * 64,
            content=NO_MODEL,
        )
    ),
)
"""What no service can process: each is to end in the dead letters, and nothing else is."""


class Report(msgspec.Struct, frozen=True):
    """What happened. `repeated` are benchmarks that were done again; `wrong` is what differs
    from a run without faults, and services that ended by themselves."""

    models: int
    layers: int
    faults: dict[str, int]
    seconds: float
    quiet_after_s: float
    repeated: int
    wrong: tuple[str, ...]


def campaign(folder: Path, models: int, faults: int, seed: int) -> Report:
    """Runs one, and says of each fault when it happens."""
    files = write_models(folder / "models", models, seed)
    wanted = expected(files, folder / "embedded")
    began = time.monotonic()
    with ExitStack() as held:
        cluster = held.enter_context(Cluster(folder))
        planned = schedule(cluster.services, faults, seed)
        pace_s = sum(fault.after_s + 3 for fault in planned) / len(files)
        publisher = Thread(target=_publish, args=(cluster.kafka, files, pace_s, seed), daemon=True)
        publisher.start()
        for number, fault in enumerate(planned, 1):
            cluster.apply(fault)
            print(f"{time.monotonic() - began:7.1f} s  {number:3}  {fault}", flush=True)
        publisher.join()
        last = time.monotonic()
        wrong = _wait_until_right(cluster, wanted)
        quiet_after_s = time.monotonic() - last
        with KafkaEventLog(cluster.kafka) as log:
            wrong += _wrong_dead_letters(log)
            repeated = _repeated(log)
        wrong += cluster.findings
    return Report(
        models=len(files),
        layers=len(wanted.tables["layers"]),
        faults=_counted(planned),
        seconds=time.monotonic() - began,
        quiet_after_s=quiet_after_s,
        repeated=repeated,
        wrong=tuple(wrong),
    )


def _publish(kafka: KafkaConnection, files: Sequence[Path], pace_s: float, seed: int) -> None:
    """Publishes the models one after the other, one in five twice, and poison between them."""
    rng = random.Random(seed)
    poison = list(POISON)
    for file in files:
        publications = publications_of(str(file), RunRequest(models=()), Limits())
        messages = [as_message(publication.event) for publication in publications]
        if rng.random() < 0.2:
            messages *= 2
        if poison:
            messages.append(poison.pop())
        _append(kafka, messages)
        time.sleep(pace_s)


def _append(kafka: KafkaConnection, messages: Sequence[Message]) -> None:
    """Until the broker has them: it may be away."""
    while True:
        with suppress(BenanzaError), KafkaEventLog(kafka) as log:
            log.append(messages)
            return
        time.sleep(0.5)


def _wait_until_right(cluster: Cluster, wanted: Snapshot) -> list[str]:
    """What still differs from what is wanted when nothing more is to be expected."""
    deadline = time.monotonic() + QUIET_S
    while True:
        cluster.bring_back()
        with Store.open(cluster.clickhouse) as store:
            wrong = differences(snapshot(store), wanted)
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(2)


def _wrong_dead_letters(log: KafkaEventLog) -> list[str]:
    letters = [decode(record.value) for record in records(log, DEAD_LETTERS)]
    found = {(e.service, e.value): e.reason for e in letters if isinstance(e, DeadLetter)}
    services = {MODELS: "ingest", LAYERS: "dedupe"}
    wanted = {(services[message.topic], message.value) for message in POISON}
    wrong = [f"no dead letter of {service} for {value!r}" for service, value in wanted - set(found)]
    wrong += [f"a dead letter of {key[0]}: {found[key]}" for key in set(found) - wanted]
    return wrong


def _repeated(log: KafkaEventLog) -> int:
    events = [decode(record.value) for record in records(log, RESULTS)]
    measured = [event.event_id for event in events if isinstance(event, LayerMeasured)]
    return len(measured) - len(set(measured))


def _counted(faults: Sequence[Fault]) -> dict[str, int]:
    return dict(sorted(Counter(f"{f.how} {f.target.partition('-')[0]}" for f in faults).items()))
