"""What a model holds in memory while the calls of its bound run."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benanza.looking.calls.dataflow import read_between
from benanza.looking.calls.forms import CallForm
from benanza_analyzer.answers.calls import Call
from benanza_schemas.layer import Precision


class Held(NamedTuple):
    """Bytes in memory while a call runs. `constants` are the weights and the like that it reads,
    which are there all the time; `values` are what calls gave and others are still to read: its own
    results are among them.
    """

    constants: int
    values: int


def held(
    calls: Sequence[Call],
    edges: Iterable[tuple[int, int]],
    forms: Mapping[str, CallForm],
    precision: Precision,
) -> list[Held] | None:
    """What is held call by call; None where what any of them reads and gives isn't known.

    `calls` are in the order in which they run, `edges` lead between positions of layers, `forms`
    are by fingerprint. A value lives from the call that gives it to the last one that reads it, and
    one that none reads, as a result of the model, to the end. Nothing is overwritten in place, and
    views take nothing. The model's own inputs, and what it keeps between steps, aren't counted; a
    weight that several calls read counts for each.
    """
    run = [call for call in calls if call.fingerprint]
    if not all(call.fingerprint in forms for call in run):
        return None
    readers: dict[int, int] = {}
    for source, reader in read_between(run, edges):
        readers[source] = max(reader, readers.get(source, source))
    changes = [0] * (len(run) + 1)
    for place, call in enumerate(run):
        size = sum(tensor.bytes(precision) for tensor in forms[call.fingerprint].gives)
        changes[place] += size
        changes[readers.get(place, len(run) - 1) + 1] -= size
    alive = itertools.accumulate(changes[:-1])
    found = []
    values = 0
    for call in calls:
        if not call.fingerprint:
            found.append(Held(0, values))
            continue
        values = next(alive)
        constants = forms[call.fingerprint].constants
        found.append(Held(sum(tensor.bytes(precision) for tensor in constants), values))
    return found
