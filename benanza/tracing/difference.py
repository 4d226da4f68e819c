"""Two traces, operator by operator."""

from collections import defaultdict
from collections.abc import Hashable

from benanza.tracing.results import TraceAnswer, TraceComparison, TracedCalls, TraceDifference


def comparison(trace: TraceAnswer, other: TraceAnswer) -> TraceComparison:
    """The operators of both, those whose times differ most first."""
    of_both: dict[Hashable, tuple[list[TracedCalls], list[TracedCalls]]] = defaultdict(
        lambda: ([], [])
    )
    for place, answer in enumerate((trace, other)):
        for call in answer.calls:
            of_both[_same(call)][place].append(call)
    differences = (_difference(*sides) for sides in of_both.values())
    most_first = sorted(differences, key=lambda each: -abs(each.us - each.other_us))
    return TraceComparison(trace=trace, other=other, differences=tuple(most_first))


def _same(call: TracedCalls) -> Hashable:
    """What two operators have in common that are the same: their layers, or else their names."""
    return (call.fingerprints, call.precision) if call.fingerprints else call.name


def _difference(calls: list[TracedCalls], others: list[TracedCalls]) -> TraceDifference:
    first = (calls or others)[0]
    return TraceDifference(
        name=first.name,
        inputs=first.inputs,
        calls=sum(call.calls for call in calls),
        other_calls=sum(call.calls for call in others),
        us=sum(call.us for call in calls),
        other_us=sum(call.us for call in others),
    )
