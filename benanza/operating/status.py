"""`status`: how far an installation is, and who is at work."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property

import msgspec

from benanza.installation.beside import is_at_work, log_beside
from benanza.installation.configured import known_store
from benanza.operating.dead_letters import open_dead_letters
from benanza.operating.progress_in_log import Progress, progress_in_log
from benanza.operating.progress_in_store import dead_letters_in_store, progress_in_store
from benanza.results.operating import OpenDeadLetters, RunnerStatus, ServiceStatus, Status
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.settings import Settings
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_schemas.consumer_groups import (
    CONSUMER_GROUPS,
    OF_SYSTEMS,
    RUNNER,
    ConsumerGroup,
    is_of,
    service_of,
)


class NamedModel:
    """A model as somebody names it: by its name, its id, or itself, which then is fetched once."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.name = name
        self._limits = limits

    @cached_property
    def sha256(self) -> str:
        """The checksum of the file, which nobody knows by its name. Raises `BenanzaError` if it
        can't be had.
        """
        # Here, since it takes a while to import.
        from benanza_ingest.reading.source import fetch

        try:
            return fetch(self.name, self._limits).sha256
        except ModelError as error:
            raise BenanzaError(f"no model {self.name} is known, and {error}") from error


def status(settings: Settings, model: NamedModel | None = None) -> Status:
    """How far the installation is with all models, or with MODEL; nothing is changed.

    The embedded log says it even while another process is at work on it. Over Kafka, the store
    says what is measured, as far as the sink is, and the brokers what waits and who is there.
    MODEL may also be a name or an id. Raises `BenanzaError` if log or store can't be had, or for
    a MODEL that is neither known nor to be had.
    """
    if settings.kafka is None:
        return _embedded(settings, model)
    return _over_kafka(settings, settings.kafka, model)


def _embedded(settings: Settings, model: NamedModel | None) -> Status:
    with log_beside(settings) as log:
        progress = _with(model, lambda name: progress_in_log(log, name))
        letters = Counter((letter.service, letter.topic) for letter in open_dead_letters(log))
        groups = [group for name, group in CONSUMER_GROUPS.items() if name not in OF_SYSTEMS]
        return Status(
            log=str(settings.event_log),
            at_work=is_at_work(settings),
            model=model.name if model else "",
            ingested=progress.ingested,
            layers=progress.layers,
            runners=progress.runners,
            services=tuple(_service(log, group, None) for group in groups),
            dead_letters=tuple(
                OpenDeadLetters(service=service_of(group), topic=topic, letters=number)
                for (group, topic), number in sorted(letters.items())
            ),
        )


def _over_kafka(
    settings: Settings, connection: KafkaConnection, model: NamedModel | None
) -> Status:
    # kafka-python takes a while to import, and the embedded mode does without it.
    from benanza_backbone.kafka.log import KafkaEventLog
    from benanza_backbone.kafka.members import members_of_groups

    with known_store(settings) as store:
        progress = _with(model, lambda name: progress_in_store(store, name))
        letters = dead_letters_in_store(store)
    members = members_of_groups(connection)
    groups = [
        each
        for service, group in CONSUMER_GROUPS.items()
        for each in (_of_systems(service, members) if service in OF_SYSTEMS else [group])
    ]
    with KafkaEventLog(connection) as log:
        return Status(
            log=connection.shown(),
            at_work=None,
            model=model.name if model else "",
            ingested=progress.ingested,
            layers=progress.layers,
            runners=_with_members(progress, members),
            services=tuple(_service(log, group, members.get(group.name, 0)) for group in groups),
            dead_letters=letters,
        )


def _of_systems(service: str, members: Mapping[str, int]) -> list[ConsumerGroup]:
    topics = CONSUMER_GROUPS[service].topics
    return [ConsumerGroup(name, topics) for name in sorted(members) if is_of(name, service)]


def _with(model: NamedModel | None, progress_of: Callable[[str], Progress]) -> Progress:
    """The progress of all models, or of one by its name, else by its file's checksum."""
    progress = progress_of(model.name if model else "")
    return progress if model is None or progress.ingested else progress_of(model.sha256)


def _service(log: EventLog, group: ConsumerGroup, members: int | None) -> ServiceStatus:
    return ServiceStatus(
        service=service_of(group.name),
        group=group.name,
        waiting=sum(log.waiting(*group).values()),
        members=members,
    )


def _with_members(progress: Progress, members: Mapping[str, int]) -> tuple[RunnerStatus, ...]:
    """The runners with who is at work: those too that have measured none of the layers yet."""
    known = {(runner.system_id, runner.precision): runner for runner in progress.runners}
    for group, number in members.items():
        if number and is_of(group, RUNNER):
            _, system_id, precision = group.split(".")
            unseen = _unseen(system_id, precision, progress.layers)
            known.setdefault((system_id, precision), unseen)
    name = CONSUMER_GROUPS[RUNNER].name
    return tuple(
        msgspec.structs.replace(runner, members=members.get(f"{name}.{system_id}.{precision}", 0))
        for (system_id, precision), runner in sorted(known.items())
    )


def _unseen(system_id: str, precision: str, layers: int) -> RunnerStatus:
    return RunnerStatus(
        system_id=system_id,
        system="",
        runtime="",
        precision=precision,
        members=None,
        done=0,
        failed=0,
        waiting=layers,
        last_layer="",
        last_measured_at=None,
    )
