"""The calls that bounds add up by given measurements, which are of one system and precision."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.core import Analyzer
from benanza_analyzer.measurements import Best, fastest
from benanza_schemas.events import LayerMeasured, Variant


def analyzer_of(measured: Iterable[LayerMeasured]) -> Analyzer:
    """An analyzer that knows these measurements, and no model yet."""
    analyzer = Analyzer()
    for event in measured:
        analyzer.restore(event)
    return analyzer


def by_layer(measured: Iterable[LayerMeasured]) -> dict[str, list[LayerMeasured]]:
    """The measurements of each layer, by fingerprint."""
    events: dict[str, list[LayerMeasured]] = defaultdict(list)
    for event in measured:
        events[event.fingerprint].append(event)
    return events


def chosen(
    cover: Cover, measured: Mapping[str, Sequence[LayerMeasured]]
) -> list[tuple[Best, Variant]]:
    """The variant that runs each call, with its times. `measured` has those of each layer."""
    choices = []
    for call in cover.calls:
        if call.fingerprint:
            best = fastest(measured[call.fingerprint], cover.layouts[call.positions])
            assert best is not None, "every call that a bound adds up has a time"
            choices.append(best)
    return choices
