"""Two traces, operator by operator."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from benanza.tracing.results import TraceAnswer, TraceComparison, TracedCalls, TraceDifference


class _Ran(NamedTuple):
    """What a trace has under a key, which is the same for what is the same in another one."""

    key: Hashable
    name: str
    inputs: tuple[tuple[int, ...], ...]
    calls: int
    us: float


def comparison(trace: TraceAnswer, other: TraceAnswer) -> TraceComparison:
    """The operators of both, and what ran outside of any, those whose times differ most first."""
    of_both: dict[Hashable, tuple[list[_Ran], list[_Ran]]] = {}
    for place, answer in enumerate((trace, other)):
        for ran in _all(answer):
            of_both.setdefault(ran.key, ([], []))[place].append(ran)
    differences = (_difference(*sides) for sides in of_both.values())
    most_first = sorted(differences, key=lambda each: -abs(each.us - each.other_us))
    return TraceComparison(trace=trace, other=other, differences=tuple(most_first))


def _all(answer: TraceAnswer) -> Iterator[_Ran]:
    for call in answer.calls:
        yield _Ran(_same(call), call.name, call.inputs, call.calls, call.us)
    for total in answer.unattributed:
        yield _Ran((total.kind, total.name), total.name, (), total.count, total.us)


def _same(call: TracedCalls) -> Hashable:
    """What two operators have in common that are the same: their layers, or else their names."""
    return (call.fingerprints, call.precision) if call.fingerprints else call.name


def _difference(ran: list[_Ran], others: list[_Ran]) -> TraceDifference:
    first = (ran or others)[0]
    return TraceDifference(
        name=first.name,
        inputs=first.inputs,
        calls=sum(each.calls for each in ran),
        other_calls=sum(each.calls for each in others),
        us=sum(each.us for each in ran),
        other_us=sum(each.us for each in others),
    )
