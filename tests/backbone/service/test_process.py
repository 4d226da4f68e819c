"""A service's process, as an operator handles it: signals, exit statuses, status pages."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.circuit_breaker import MAX_IN_A_ROW
from benanza_backbone.service.processor import as_message
from benanza_schemas.topics import DEAD_LETTERS, JOBS, LAYERS
from tests.backbone.service.test_step import job, relu, written

pytestmark = pytest.mark.integration

PATIENCE_S = 30.0


class Running:
    """The service in a process of its own, and the log that it works on."""

    def __init__(self, folder: Path, log: EventLog, drain_timeout_s: float) -> None:
        self.folder = folder
        self.log = log
        environment = {"BENANZA_METRICS_PORT": "0", "BENANZA_DRAIN_TIMEOUT_S": f"{drain_timeout_s}"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.backbone.service.service_worker", folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()

    def publish(self, *sizes: int) -> None:
        self.log.append([as_message(relu(size)) for size in sizes])

    def jobs(self) -> int:
        return len(written(self.log, JOBS))

    def page(self, page: str) -> tuple[int, Any]:
        response = urllib3.request(
            "GET", f"{self.address}{page}", timeout=PATIENCE_S, retries=False
        )
        return response.status, json.loads(response.data)

    def ends(self, signals: int = 0) -> tuple[int, list[dict[str, Any]]]:
        """The exit status, and the lines that were logged."""
        for _ in range(signals):
            self.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, [json.loads(line) for line in errors.splitlines()]


def until(so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        yield log


@pytest.fixture
def start(tmp_path: Path, log: EventLog) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def run(drain_timeout_s: float = 20) -> Running:
        started.append(Running(tmp_path, log, drain_timeout_s))
        return started[-1]

    yield run
    for running in started:
        running.process.kill()
        running.process.communicate()


def test_a_service_works_until_it_is_told_to_stop(start: Callable[..., Running]) -> None:
    service = start()
    service.publish(1, 2, 3)
    until(lambda: service.jobs() == 3)
    assert service.page("/readyz") == (
        200,
        {"ok": True, "checks": [{"name": "service", "ok": True, "detail": "holds 1 partitions"}]},
    )
    assert service.page("/healthz")[0] == 200
    status, lines = service.ends(signals=1)
    assert status == 0
    assert [line["message"] for line in lines] == ["service: SIGTERM, ending"]


def test_the_first_signal_lets_the_turn_end_and_leaves_the_rest(
    start: Callable[..., Running],
) -> None:
    service = start()
    service.publish(1500, 1)
    until((service.folder / "busy").exists)
    assert service.ends(signals=1)[0] == 0
    assert written(service.log, JOBS) == job(relu(1500))
    after = start()
    until(lambda: after.jobs() == 2)
    assert written(service.log, JOBS) == [*job(relu(1500)), *job(relu(1))]


def test_a_second_signal_ends_it_at_once_and_nothing_is_lost(
    start: Callable[..., Running],
) -> None:
    service = start()
    service.publish(6000)
    until((service.folder / "busy").exists)
    began = time.monotonic()
    assert service.ends(signals=2)[0] == 1
    assert time.monotonic() - began < 5
    assert service.jobs() == 0
    again = start()
    until(lambda: again.jobs() == 1)


def test_what_takes_longer_than_the_deadline_is_given_up(start: Callable[..., Running]) -> None:
    service = start(drain_timeout_s=0.5)
    service.publish(20_000)
    until((service.folder / "busy").exists)
    began = time.monotonic()
    status, lines = service.ends(signals=1)
    assert status == 1
    assert time.monotonic() - began < 15
    assert "did not end within 0.5 s" in lines[-1]["message"]
    assert service.jobs() == 0


def test_what_hangs_is_ended_and_done_again(start: Callable[..., Running], tmp_path: Path) -> None:
    """Whoever started the process starts another one, as Docker does."""
    (tmp_path / "impatient").touch()
    running = start()
    running.publish(10, 900_000)
    until(lambda: (tmp_path / "busy").exists())
    status, lines = running.ends()
    assert status == 1
    assert lines[-1]["level"] == "CRITICAL"
    assert lines[-1]["message"].startswith("the process hangs (service turns: turned ")
    (tmp_path / "impatient").unlink()
    (tmp_path / "busy").unlink()
    again = start()
    until(lambda: (tmp_path / "busy").exists())
    assert again.jobs() == 1


def test_what_is_away_is_waited_for(start: Callable[..., Running]) -> None:
    """It is not the event's fault: nothing goes to the dead letters, nothing is lost."""
    service = start()
    until(lambda: service.page("/readyz")[0] == 200)
    away = service.folder / "away"
    away.touch()
    service.publish(1, 2, 3)
    until(lambda: service.page("/readyz")[0] == 503)
    (check,) = service.page("/readyz")[1]["checks"]
    assert check["detail"] == "the store is away"
    assert service.page("/healthz")[0] == 200
    away.unlink()
    until(lambda: service.page("/readyz")[0] == 200)
    until(lambda: {event.event_id for event in written(service.log, JOBS)} == ids(1, 2, 3))
    assert written(service.log, DEAD_LETTERS) == []
    status, lines = service.ends(signals=1)
    assert status == 0
    assert lines[0]["message"] == "service tries again in 0.5 s: the store is away"


def ids(*sizes: int) -> set[str]:
    return {event.event_id for size in sizes for event in job(relu(size))}


def test_who_has_nothing_to_do_notices_too_that_the_store_is_away(
    start: Callable[..., Running],
) -> None:
    service = start()
    until(lambda: service.page("/readyz")[0] == 200)
    (service.folder / "away").touch()
    until(lambda: service.page("/readyz")[0] == 503)


def test_a_stop_does_not_wait_for_what_is_away(start: Callable[..., Running]) -> None:
    service = start()
    (service.folder / "away").touch()
    until(lambda: service.page("/readyz")[0] == 503)
    began = time.monotonic()
    assert service.ends(signals=1)[0] == 0
    assert time.monotonic() - began < 5


def test_who_stands_by_takes_over(start: Callable[..., Running]) -> None:
    first = start()
    until(lambda: first.page("/readyz")[0] == 200)
    second = start()
    time.sleep(1)
    first.publish(1)
    until(lambda: first.jobs() == 1)
    first.process.kill()
    first.publish(2)
    # The first may have died before it committed; then its job is there a second time.
    until(lambda: len({job.event_id for job in written(second.log, JOBS)}) == 2)
    assert second.jobs() in (2, 3)
    until(lambda: second.page("/readyz")[0] == 200)


def test_a_defect_ends_the_process_with_its_trace(start: Callable[..., Running]) -> None:
    service = start()
    (service.folder / "defect").touch()
    service.publish(1)
    status, lines = service.ends()
    assert status == 1
    assert lines[-1]["level"] == "CRITICAL"
    assert "AssertionError: this can't be" in lines[-1]["exception"]


def test_after_poison_the_process_stays_and_takes_no_more(start: Callable[..., Running]) -> None:
    """It would be started again at once, and send the next hundred to the dead letters."""
    service = start()
    service.log.append([Message(LAYERS, b"", b"no event")] * (MAX_IN_A_ROW + 50))
    reason = "could process none of the last 101 events"
    until(lambda: reason in service.page("/readyz")[1]["checks"][0]["detail"])
    service.publish(1)
    time.sleep(2)
    assert service.page("/readyz")[0] == 503
    assert service.page("/healthz")[0] == 200
    assert len(written(service.log, DEAD_LETTERS)) == MAX_IN_A_ROW + 1
    assert service.jobs() == 0
    status, lines = service.ends(signals=1)
    assert status == 1
    (told,) = [line for line in lines if line["level"] == "CRITICAL"]
    assert reason in told["message"]


def test_a_failure_is_logged_with_the_id_of_the_event(start: Callable[..., Running]) -> None:
    service = start()
    service.log.append([Message(LAYERS, b"", as_message(job(relu(1))[0]).value)])
    until(lambda: len(written(service.log, DEAD_LETTERS)) == 1)
    _, lines = service.ends(signals=1)
    line = lines[0]
    assert line["event_id"] == job(relu(1))[0].event_id
    assert (line["topic"], line["partition"]) == (LAYERS, 0)
