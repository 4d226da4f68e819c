"""Imports, own measurements and withdrawals in any order: of each layer what was measured here
counts, or else what was imported after the last withdrawal of its file; submitted kernels count,
too.
"""

from collections.abc import Iterable

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.measurements import NOT_MEASURED
from benanza_schemas.events import (
    MARK,
    BoundUpdated,
    LayerMeasured,
    RecordingWithdrawn,
    SystemMeasured,
    event_id,
    is_submitted,
    recording_of,
)
from benanza_schemas.vocabulary import SUBMITTED
from tests.analyzer.events import (
    NOW,
    ceilings,
    group,
    measured,
    model,
    summary,
    the,
    variant,
)
from tests.examples import examples

FILES = ("a" * 64, "b" * 64)
MODELS = [
    model([summary("Conv", "a"), summary("Relu", "b")], groups=[group("ab", (0, 1))], name="two"),
    model([summary("Conv", "a"), summary("Conv", "c")], name="other"),
]


def withdrawn(digest: str) -> RecordingWithdrawn:
    return RecordingWithdrawn(
        event_id=event_id("RecordingWithdrawn", digest), digest=digest, withdrawn_at=NOW
    )


def marked(event: LayerMeasured | SystemMeasured, recording: str) -> LayerMeasured | SystemMeasured:
    """The event as it is imported from a file; as it is where that is empty."""
    if isinstance(event, SystemMeasured):
        return msgspec.structs.replace(event, imported_from=recording)
    environment = {MARK: recording} if recording else {}
    return msgspec.structs.replace(event, environment=environment)


precisions = st.sampled_from(["fp32", "fp16"])
layers = st.builds(
    lambda of, outcome, precision: measured(
        of, *outcome, failure="" if outcome else "no memory", precision=precision
    ),
    st.sampled_from(["a", "b", "c", "ab"]),
    st.one_of(
        st.just(()),
        st.tuples(st.sampled_from([1.0, 2.0, 3.0])),
        st.just((variant(None, failure="no plan"),)),
        st.just((variant(2.0, layout="NHWC", change_us=1.5),)),
    ),
    precisions,
)
kernels = st.builds(
    lambda of, us, precision: measured(of, variant(us, library=SUBMITTED), precision=precision),
    st.sampled_from(["a", "b", "c", "ab"]),
    st.sampled_from([0.5, 2.5]),
    precisions,
)
systems = st.builds(ceilings, st.sampled_from([1e6, 2e6]), st.just(1e6), precisions)
events = st.one_of(
    st.builds(marked, st.one_of(layers, systems), st.sampled_from(["", *FILES, *FILES])),
    st.builds(marked, kernels, st.sampled_from(FILES)),
    st.builds(withdrawn, st.sampled_from(FILES)),
)


def counting(events: Iterable[AnalyzerEvent]) -> list[AnalyzerEvent]:
    """The events that count in the end, by the rule alone."""
    standing: list[LayerMeasured | SystemMeasured] = []
    for event in events:
        if isinstance(event, RecordingWithdrawn):
            standing = [each for each in standing if recording_of(each) != event.digest]
        elif isinstance(event, LayerMeasured | SystemMeasured):
            standing.append(event)
    own = {what for event in standing if not recording_of(event) for what in what_of(event)}
    return [e for e in standing if always_counts(e) or own.isdisjoint(what_of(e))]


def always_counts(event: LayerMeasured | SystemMeasured) -> bool:
    return not recording_of(event) or (isinstance(event, LayerMeasured) and is_submitted(event))


def what_of(event: LayerMeasured | SystemMeasured) -> set[tuple[str, ...]]:
    """A layer, or ceilings, which are all measured together here at one precision."""
    if isinstance(event, SystemMeasured):
        return {("system", event.system.system_id, each.precision) for each in event.ceilings}
    return {(event.fingerprint, event.system.system_id, event.precision)}


def key_of(bound: BoundUpdated) -> tuple[object, ...]:
    return (bound.architecture_id, bound.precision, bound.accounting, bound.fusion)


def last_of(updates: Iterable[BoundUpdated]) -> dict[tuple[object, ...], BoundUpdated]:
    """What each bound says in the end, whatever moved it."""
    blank = {"event_id": "", "cause": "", "computed_at": NOW}
    return {key_of(each): msgspec.structs.replace(each, **blank) for each in updates}


def handled(analyzer: Analyzer, events: Iterable[AnalyzerEvent]) -> list[BoundUpdated]:
    return [update for event in events for update in analyzer.handle(event, NOW)]


@given(st.lists(events, max_size=12), st.integers(0, 14))
@examples(times=2)
def test_bounds_are_those_of_what_counts(events: list[AnalyzerEvent], restart_at: int) -> None:
    """Whether the analyzer is started again in between or not. Where nothing counts any more, a
    bound has no figure.
    """
    everything = [*MODELS, *events]
    found = last_of(handled(Analyzer(), everything))
    expected = last_of(handled(Analyzer(), [*MODELS, *counting(events)]))
    both = found.keys() & expected.keys()
    assert {key: found[key] for key in both} == {key: expected[key] for key in both}
    # Ceilings that are told again as they were move no bound that has no figure.
    for key in found.keys() ^ expected.keys():
        bound = (found | expected)[key]
        assert (bound.sequential_us, bound.roofline_us, bound.measured) == (None, None, ())
        assert [missing.reason for missing in bound.missing] == [NOT_MEASURED]

    published = handled(Analyzer(), everything[:restart_at])
    restarted = Analyzer()
    for event in everything[:restart_at]:
        restarted.restore(event)
    published += handled(restarted, everything[restart_at:])
    assert last_of(published) == found


def test_a_layer_that_was_imported_is_missing_after_the_undo() -> None:
    analyzer = Analyzer()
    own = measured("a", 4.0)
    handled(analyzer, [MODELS[0], marked(measured("a", 1.0), FILES[0]), own])
    updates = analyzer.handle(marked(measured("b", 2.0), FILES[0]), NOW)
    assert the(updates).sequential_us == 6.0, "not the time of the import, though it is less"
    undone = the(analyzer.handle(withdrawn(FILES[0]), NOW))
    assert (undone.sequential_us, undone.measured) == (4.0, (0,))
    assert [(each.reason, each.layers) for each in undone.missing] == [(NOT_MEASURED, (1,))]
    assert analyzer.handle(withdrawn(FILES[0]), NOW) == []
    again = analyzer.handle(marked(measured("b", 2.0), FILES[0]), NOW)
    assert the(again).sequential_us == 6.0
