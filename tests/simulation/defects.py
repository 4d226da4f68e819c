"""Defects of the services that the simulation must find, each put into their own code."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from itertools import count
from typing import Any
from unittest.mock import patch

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.versions.times import VersionTimes
from benanza_backbone.event_log.event_log import Message, Record
from benanza_backbone.service import dead_letter
from benanza_backbone.service.processor import Processor
from benanza_backbone.service.step import Step
from benanza_dedupe.core import Dedupe
from benanza_runner.step import Benchmarks
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, SINK
from benanza_schemas.events import LayerMeasured, ModelIngested
from benanza_schemas.events import event_id as right_id
from tests.simulation.log import SimulatedConsumer

Defect = Callable[[], AbstractContextManager[object]]


@contextmanager
def committed_before_it_is_written() -> Iterator[None]:
    """A step commits what it has polled before it appends what follows."""
    turn = Step.turn

    def early(step: Step, limit: int, timeout: float = 0.0) -> int:
        append = step._log.append

        def commit_first(messages: Sequence[Message]) -> None:
            step._consumer.commit()
            append(messages)

        with patch.object(step._log, "append", commit_first):
            return turn(step, limit, timeout)

    with patch.object(Step, "turn", early):
        yield


def id_by_chance() -> AbstractContextManager[object]:
    """A dead letter gets a new id each time."""
    number = count()
    return patch.object(dead_letter, "event_id", lambda *of: right_id(*of, str(next(number))))


def versions_have_the_time_of_the_clock() -> AbstractContextManager[object]:
    """A clock that is set back makes the former version of a bound count."""
    return patch.object(VersionTimes, "now", lambda times: times._clock())


def claims_are_all_alike() -> AbstractContextManager[object]:
    """Of two analyzers the one whose clock is ahead is believed, though it was taken for dead."""
    claim = SimulatedConsumer.claim
    return patch.object(SimulatedConsumer, "claim", lambda *of: claim(*of) and 1)


def graph_is_appended_with_its_layers() -> AbstractContextManager[object]:
    """A crash may leave a graph in the log whose layers only the same model brings."""

    def together(self: Step, messages: Sequence[Message]) -> None:
        if messages:
            self._log.append(messages)

    return patch.object(Step, "_append", together)


def repeated_job_is_done_again() -> AbstractContextManager[object]:
    """A runner doesn't see that a job was done before."""
    return patch.object(Benchmarks, "wait", lambda *_: True)


@contextmanager
def owners_are_forgotten() -> Iterator[None]:
    """Dedupe knows no owners but those of its own memory, which a restart empties."""
    made = Dedupe.__init__

    class Forgetful(dict[str, str]):
        """Writes the owners, and reads none that it has not written."""

        def __init__(self, table: Any) -> None:
            self._table = table

        def __setitem__(self, key: str, value: str) -> None:
            super().__setitem__(key, value)
            self._table[key] = value

    with patch.object(Dedupe, "__init__", lambda self, owners: made(self, Forgetful(owners))):
        yield


@contextmanager
def failure_is_noted_before_its_dead_letter_is_written() -> Iterator[None]:
    """What failed once is passed over when it comes again."""
    noted: set[object] = set()
    process = Processor.process

    def noting(self: Processor, record: Record, *rest: Any) -> list[Message]:
        key = self._group, record.partition, record.offset
        if key in noted:
            return []
        following = process(self, record, *rest)
        if any(message.topic == "dead-letters" for message in following):
            noted.add(key)
        return following

    with patch.object(Processor, "process", noting):
        yield


@contextmanager
def measurements_are_not_restored() -> Iterator[None]:
    """An analyzer that takes over computes without what was measured before."""
    restore = Analyzer.restore

    def graphs_only(self: Analyzer, event: AnalyzerEvent) -> None:
        if isinstance(event, ModelIngested):
            restore(self, event)

    with patch.object(Analyzer, "restore", graphs_only):
        yield


@contextmanager
def graphs_are_expected_before_results() -> Iterator[None]:
    """The analyzer drops a measurement of a layer that no graph has brought yet."""
    handle = Analyzer.handle

    def trusting(self: Analyzer, event: AnalyzerEvent, now: datetime) -> Sequence[object]:
        if isinstance(event, LayerMeasured):
            number = self._catalogue.number(event.fingerprint)
            if not self._architectures.with_layer(number):
                return []
        return handle(self, event, now)

    with patch.object(Analyzer, "handle", trusting):
        yield


@contextmanager
def store_is_believed_to_keep_all() -> Iterator[None]:
    """The sink goes on from what it has committed, whatever the store has lost."""
    made = Step.__init__

    def forgetful(self: Step, log: Any, group: Any, *rest: Any, **options: Any) -> None:
        if group == CONSUMER_GROUPS[SINK]:
            del options["recover"]
        made(self, log, group, *rest, **options)

    with patch.object(Step, "__init__", forgetful):
        yield


DEFECTS: tuple[Defect, ...] = (
    committed_before_it_is_written,
    id_by_chance,
    versions_have_the_time_of_the_clock,
    claims_are_all_alike,
    graph_is_appended_with_its_layers,
    repeated_job_is_done_again,
    owners_are_forgotten,
    failure_is_noted_before_its_dead_letter_is_written,
    measurements_are_not_restored,
    graphs_are_expected_before_results,
    store_is_believed_to_keep_all,
)
