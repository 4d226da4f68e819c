"""`kill -9` at any moment loses no acknowledged event and repeats none that was committed.

Writers and consumers are killed at random moments, over and over, on one log; their journals
say what they had been promised.
"""

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from tests.backbone.event_log.crash_worker import BATCH, TOPICS

pytestmark = pytest.mark.integration

WORKER = str(Path(__file__).with_name("crash_worker.py"))

ROUNDS = 8
LONGEST_LIFE_S = 0.3


def start_and_kill(role: str, name: str, seed: int, path: Path, journals: Path) -> None:
    """Processes one after another, each killed at a random moment from opening the log on."""
    rng = random.Random(f"{name} {seed}")
    for n in range(ROUNDS):
        journal = journals / f"{name}-{n}"
        process = subprocess.Popen([sys.executable, WORKER, role, str(path), str(journal)])
        deadline = time.monotonic() + 30
        while not journal.exists():
            assert time.monotonic() < deadline, f"{journal.name} did not start"
            time.sleep(0.001)
        time.sleep(rng.uniform(0, LONGEST_LIFE_S))
        assert process.poll() is None, f"{journal.name} ended by itself"
        process.kill()
        process.wait()


def journal_lines(journal: Path) -> list[list[str]]:
    """The lines of a journal; one cut off by the kill doesn't count."""
    lines = journal.read_text().splitlines(keepends=True)
    return [line.split() for line in lines if line.endswith("\n")]


def check_writer(journal: Path, records: list[Record]) -> int:
    """Every batch acknowledged is there, whole, in order and once; returns how many."""
    numbers = [int(r.value) for r in records if r.key == journal.name.encode()]
    acknowledged = [int(line[1]) for line in journal_lines(journal)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) % BATCH == 0
    # One more batch may be there, whose append had not returned yet.
    assert len(numbers) - max(acknowledged, default=0) in (0, BATCH)
    return len(acknowledged)


def check_consumers(journals: list[Path], offsets: list[int]) -> tuple[set[int], int]:
    """Each consumer goes on where the one before it had committed.

    Returns where the next one may begin, as positions in `offsets`, and the count of commits.
    """
    position = {offset: n for n, offset in enumerate(offsets)}
    begins, commits = {0}, 0
    for journal in journals:
        end = 0
        for word, *polled in journal_lines(journal):
            if word == "polled":
                begin = position[int(polled[0])]
                assert begin in begins
                end = begin + len(polled)
                assert [int(offset) for offset in polled] == offsets[begin:end]
                # Until the commit is acknowledged, it may have been made or not.
                begins = {begin, end}
            else:
                begins = {end}
                commits += 1
    return begins, commits


@pytest.mark.parametrize("seed", range(2))
def test_kill_9_loses_nothing_acknowledged_and_repeats_nothing_committed(
    tmp_path: Path, seed: int
) -> None:
    path, journals = tmp_path / "events.sqlite", tmp_path / "journals"
    journals.mkdir()
    with ThreadPoolExecutor(3) as threads:
        lives = [
            threads.submit(start_and_kill, role, name, seed, path, journals)
            for role, name in (("write", "writer-a"), ("write", "writer-b"), ("consume", "reader"))
        ]
    for life in lives:
        life.result()

    with SqliteEventLog(path) as log, log.consumer("group", TOPICS) as consumer:
        of_topic = [log.read(Partition(topic, 0), 0, limit=1_000_000) for topic in TOPICS]
        records = sorted((r for rs in of_topic for r in rs), key=lambda record: record.offset)
        remaining: list[Record] = []
        while polled := consumer.poll(limit=1000, timeout=0):
            remaining += polled
    assert len({record.offset for record in records}) == len(records)

    appends = sum(check_writer(journal, records) for journal in journals.glob("writer-*"))
    offsets = [record.offset for record in records]
    begins, commits = check_consumers(sorted(journals.glob("reader-*")), offsets)
    assert len(records) - len(remaining) in begins
    assert remaining == records[len(records) - len(remaining) :]
    # The kills came while there was work: otherwise this would show nothing.
    assert appends > 100
    assert commits > 10
