"""A process for `test_sqlite_log_crash` to kill: `crash_worker.py write|consume LOG JOURNAL`.

The journal says what this process knows to be done: a line before and after each commit of a
consumer, a line after each append of a writer. What is written to a file outlives its writer.
"""

import os
import sys
from itertools import count
from pathlib import Path

from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog

TOPICS = ("even", "odd")
BATCH = 4


def write(log: SqliteEventLog, run: bytes, journal: int) -> None:
    for batch in count():
        numbers = range(batch * BATCH, (batch + 1) * BATCH)
        log.append([Message(TOPICS[n % 2], run, str(n).encode()) for n in numbers])
        os.write(journal, b"appended %d\n" % numbers.stop)


def consume(log: SqliteEventLog, journal: int) -> None:
    with log.consumer("group", TOPICS) as consumer:
        while True:
            if not (records := consumer.poll(limit=7, timeout=1)):
                continue
            os.write(journal, b"polled %s\n" % " ".join(str(r.offset) for r in records).encode())
            consumer.commit()
            os.write(journal, b"committed\n")


if __name__ == "__main__":
    role, path, journal_path = sys.argv[1:]
    journal = os.open(journal_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with SqliteEventLog(Path(path)) as log:
        if role == "write":
            write(log, Path(journal_path).name.encode(), journal)
        else:
            consume(log, journal)
