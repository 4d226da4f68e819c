"""A process that has a store open, for the tests to kill: `store_worker.py FOLDER FIRST`.

It prints `open`; then it stores measurement number FIRST, FIRST + 1 and so on, a few at once,
and prints the next number whenever they are acknowledged. Without FIRST it just waits.
"""

import sys
from itertools import count

from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import LayerMeasured, event_id
from tests.backbone.sample_events import measured, variant

BATCH = 5


def numbered(number: int) -> LayerMeasured:
    """A measurement of a layer that no other number has."""
    fingerprint = event_id("layer", str(number))
    return measured(fingerprint, variant("a", number + 1.0), variant("b", 2.0), at=number)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    folder, *first = sys.argv[1:]
    with Store.open(f"chdb://{folder}") as store:
        say("open")
        if not first:
            sys.stdin.read()
        for number in count(int(first[0]), BATCH):
            store.insert([numbered(n) for n in range(number, number + BATCH)])
            say(str(number + BATCH))


if __name__ == "__main__":
    main()
