"""The calls of a bound, one by one."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.answers.calls import Call
from benanza_analyzer.core import Analyzer, AnalyzerEvent, Kind
from benanza_analyzer.measurements import FIRST, LAST
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    LayerSummary,
    ModelIngested,
)
from benanza_schemas.vocabulary import GENERATED
from tests.analyzer.events import (
    NOW,
    fingerprint,
    in_layouts,
    measured,
    model,
    summary,
    system,
    variant,
)
from tests.analyzer.graphs import all_fingerprints, models, times

CHAIN = model(
    [summary("Conv", "a", flops=7, bytes_moved=5), summary("Reshape", "v"), summary("Relu", "c")],
    name="chain",
)


def calls(analyzer: Analyzer, of: ModelIngested, *, fusion: bool = True) -> list[Call]:
    cover = analyzer.cover(of.architecture_id, system().system_id, "fp32", "full", fusion=fusion)
    return cover.calls


@st.composite
def measurements(draw: st.DrawFn, of: ModelIngested) -> list[LayerMeasured]:
    """Each of its layers and groups, with a failure, one variant, or one in each layout."""
    found = []
    for each in all_fingerprints(of):
        which = draw(st.integers(0, 3))
        if which == 0:
            tried = measured("x", failure="no")
        elif which == 1:
            library = draw(st.sampled_from(["lib", GENERATED]))
            tried = measured("x", variant(draw(times), 0.25, library=library))
        else:
            tried = measured("x", *in_layouts(draw(times), draw(times), draw(times)))
        found.append(
            msgspec.structs.replace(tried, fingerprint=each, event_id=fingerprint(f"of {each}"))
        )
    return found


def kinds_of(of: ModelIngested) -> list[LayerSummary]:
    return [of.summaries[use.summary] for use in of.layers]


@given(st.data())
def test_calls_add_up_to_the_bound(data: st.DataObject) -> None:
    of = data.draw(models())
    analyzer = Analyzer()
    newest: dict[Kind, BoundUpdated] = {}
    events: list[AnalyzerEvent] = [of, *data.draw(measurements(of))]
    for event in events:
        newest |= {(u.accounting, u.fusion): u for u in analyzer.handle(event, NOW)}
    for (accounting, fusion), bound in newest.items():
        cover = analyzer.cover(
            of.architecture_id, system().system_id, "fp32", accounting, fusion=fusion
        )
        found = cover.calls
        assert cover.sequential_us == (bound.sequential_us or 0.0)
        skipped = sum(each.kind == "skipped" for each in kinds_of(of))
        assert cover.lacking + skipped == sum(len(missing.layers) for missing in bound.missing)
        assert [call.fingerprint for call in found if call.fingerprint] == [*bound.cover]
        positions = [at for call in found for at in call.positions]
        assert len(positions) == len(set(positions))
        critical = {at for call in found if call.critical for at in call.positions}
        assert critical <= set(bound.critical_path)
        timed = {at for call in found if call.us for at in call.positions}
        assert critical & timed == set(bound.critical_path) & timed


def test_a_call_has_its_time_its_spread_and_its_work() -> None:
    analyzer = Analyzer()
    for event in (CHAIN, measured("a", variant(3.0, 0.5)), measured("c", variant(1.0, 0.25))):
        analyzer.handle(event, NOW)
    conv, relu = calls(analyzer, CHAIN)
    assert (conv.positions, relu.positions) == ((0,), (2,))
    assert (conv.us, conv.iqr_us, conv.conversion_us) == (3.0, 0.5, 0.0)
    assert (conv.flops, conv.bytes, conv.critical) == (7, 5, True)


def test_a_layout_conversion_stands_with_the_call_that_causes_it() -> None:
    two = model([summary("Conv", "a"), summary("Relu", "c")], name="two")
    analyzer = Analyzer()
    for event in (
        two,
        measured("a", *in_layouts(20.0, 3.0, 1.0)),
        measured("c", *in_layouts(2.0, 30.0, 1.0)),
    ):
        analyzer.handle(event, NOW)
    cover = analyzer.cover(two.architecture_id, system().system_id, "fp32", "full", fusion=True)
    assert cover.layouts == {(0,): LAST, (1,): FIRST}
    assert [call.us for call in cover.calls] == [3.0, 2.0]
    assert cover.conversion_us > 0


def test_without_the_model_there_are_no_calls() -> None:
    with pytest.raises(KeyError):
        calls(Analyzer(), CHAIN)
