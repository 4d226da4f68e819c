"""The core: which event moves which bounds."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import permutations
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benanza_analyzer import blocks, core
from benanza_analyzer.bound import lower_bound
from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.measurements import NO_LIBRARY_RUNS_IT, NOT_MEASURED
from benanza_analyzer.models.cover import ComponentCover
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_schemas import codec
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    LayerUse,
    Missing,
    ModelIngested,
    event_id,
    identified,
)
from benanza_schemas.vocabulary import GENERATED
from tests.analyzer.events import (
    KINDS,
    NOW,
    ceilings,
    fingerprint,
    group,
    in_layouts,
    measured,
    model,
    summary,
    system,
    the,
    variant,
    with_its_id,
)
from tests.analyzer.graphs import all_fingerprints, models, times

CHAIN = model(
    [summary("Conv", "a"), summary("Concat", "b"), summary("Relu", "c")],
    groups=[group("bc", (1, 2))],
    name="chain",
)


def handle_all(analyzer: Analyzer, events: Iterable[AnalyzerEvent]) -> list[BoundUpdated]:
    return [update for event in events for update in analyzer.handle(event, NOW)]


def content(update: BoundUpdated) -> BoundUpdated:
    """What a bound says, whatever moved it and when."""
    return msgspec.structs.replace(update, event_id="", cause="", computed_at=NOW)


def latest(updates: Iterable[BoundUpdated]) -> dict[tuple[object, ...], BoundUpdated]:
    """The last version of each bound."""
    return {
        (u.architecture_id, u.system_id, u.precision, u.accounting, u.fusion): content(u)
        for u in updates
    }


def test_a_measurement_moves_each_bound_that_counts_its_layer() -> None:
    analyzer = Analyzer()
    assert analyzer.handle(CHAIN, NOW) == []
    event = measured("a", variant(3.0, 0.5))
    updates = analyzer.handle(event, NOW)
    kinds = [(u.accounting, u.fusion) for u in updates]
    assert kinds == [("paper", False), ("paper", True), ("full", False), ("full", True)]
    bound = the(updates)
    assert bound == BoundUpdated(
        event_id=event_id(
            "BoundUpdated",
            CHAIN.architecture_id,
            system().system_id,
            "fp32",
            "full",
            "False",
            event.event_id,
        ),
        architecture_id=CHAIN.architecture_id,
        system_id=system().system_id,
        batch=1,
        precision="fp32",
        accounting="full",
        fusion=False,
        cause=event.event_id,
        computed_at=NOW,
        sequential_us=3.0,
        sequential_spread_us=0.5,
        parallel_us=3.0,
        parallel_spread_us=0.5,
        roofline_us=None,
        attainable_us=None,
        measured=(0,),
        free=(),
        not_counted=(),
        missing=(Missing(NOT_MEASURED, (1, 2)),),
        cover=(fingerprint("a"),),
        critical_path=(0,),
    )
    assert codec.decode(codec.encode(bound)) == bound


def test_only_bounds_that_changed_are_told() -> None:
    analyzer = Analyzer()
    handle_all(analyzer, [CHAIN, measured("a", 1.0), measured("c", 1.0)])
    movement = analyzer.handle(measured("b", 2.0), NOW)
    assert {u.accounting for u in movement} == {"full"}
    fused = analyzer.handle(measured("bc", 2.5), NOW)
    assert [(u.accounting, u.fusion) for u in fused] == [("full", True)]
    assert fused[0].sequential_us == 3.5
    assert analyzer.handle(measured("bc", 2.75), NOW) == []


def test_a_failure_is_told_as_the_reason_and_a_later_success_mends_it() -> None:
    analyzer = Analyzer()
    updates = handle_all(analyzer, [CHAIN, measured("a", failure="no memory")])
    assert the(updates).missing == (Missing("no memory", (0,)), Missing(NOT_MEASURED, (1, 2)))
    mended = analyzer.handle(measured("a", 2.0), NOW)
    assert the(mended).missing == (Missing(NOT_MEASURED, (1, 2)),)
    assert analyzer.handle(measured("a", failure="no memory"), NOW) == []


def test_a_layer_that_no_model_has_yet_is_remembered() -> None:
    analyzer = Analyzer()
    assert handle_all(analyzer, [measured(of, 1.0) for of in "abc"]) == []
    bound = the(analyzer.handle(CHAIN, NOW))
    assert (bound.sequential_us, bound.missing, bound.cause) == (3.0, (), CHAIN.event_id)


def test_a_model_of_unknown_layers_has_a_partial_bound_on_each_known_platform() -> None:
    analyzer = Analyzer()
    handle_all(analyzer, [measured("x", 1.0), measured("x", 1.0, precision="fp16")])
    handle_all(analyzer, [ceilings(1e9, 1e9, "tf32")])
    updates = analyzer.handle(CHAIN, NOW)
    assert {u.precision for u in updates} == {"fp32", "fp16", "tf32"}
    assert len(updates) == 12
    assert all(u.sequential_us is None and u.missing for u in updates)


def renamed(event: ModelIngested, name: str) -> ModelIngested:
    """Another model of the same architecture."""
    return msgspec.structs.replace(
        event,
        event_id=event_id("ModelIngested", name),
        model_id=event_id("model", name),
        name=name,
        layers=tuple(LayerUse(use.summary, f"{name}/{n}") for n, use in enumerate(event.layers)),
    )


def test_only_the_models_that_contain_the_layer_are_recomputed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    analyzer = Analyzer()
    others = [model([summary("Conv", f"{n}")], name=f"other {n}") for n in range(50)]
    handle_all(analyzer, [*others, CHAIN, measured("a", 2.0), measured("0", 1.0)])
    watched = Mock(wraps=lower_bound)
    monkeypatch.setattr(core, "lower_bound", watched)
    updates = analyzer.handle(measured("a", 1.0), NOW)
    assert {u.architecture_id for u in updates} == {CHAIN.architecture_id}
    assert watched.call_count == 4


def test_an_architecture_is_recomputed_once_for_all_its_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    analyzer = Analyzer()
    copies = [renamed(CHAIN, f"copy {n}") for n in range(50)]
    handle_all(analyzer, [*copies, measured("a", 2.0)])
    watched = Mock(wraps=lower_bound)
    monkeypatch.setattr(core, "lower_bound", watched)
    updates = analyzer.handle(measured("a", 1.0), NOW)
    assert watched.call_count == 4
    assert {u.architecture_id for u in updates} == {CHAIN.architecture_id}
    assert len(updates) == 4


def test_a_model_of_a_known_architecture_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzer = Analyzer()
    handle_all(analyzer, [CHAIN, *(measured(of, 1.0) for of in "abc")])
    watched = Mock(wraps=lower_bound)
    monkeypatch.setattr(core, "lower_bound", watched)
    assert analyzer.handle(renamed(CHAIN, "copy"), NOW) == []
    assert watched.call_count == 0


@given(st.data())
def test_copies_have_the_bounds_that_the_first_would_have_alone(data: st.DataObject) -> None:
    """Whatever comes first, and whatever was handled before a restart."""
    graph = data.draw(models(repeats=True))
    copies = [renamed(graph, f"copy {n}") for n in range(3)]
    titles = [f"{op} {n}" for op in KINDS for n in range(2)]
    layers = data.draw(st.lists(st.tuples(st.sampled_from(titles), times), max_size=8))
    made: list[AnalyzerEvent] = [*copies, *(measured(of, us) for of, us in layers)]
    events = data.draw(st.permutations(made))
    restored = data.draw(st.integers(0, len(events)))

    def updates(of: Sequence[ModelIngested]) -> list[BoundUpdated]:
        analyzer = Analyzer()
        for event in events[:restored]:
            if event not in copies or event in of:
                analyzer.restore(event)
        left = (event for event in events[restored:] if event not in copies or event in of)
        return handle_all(analyzer, left)

    first = next(event for event in events if event in copies)
    assert isinstance(first, ModelIngested)
    assert updates(copies) == updates([first])


def test_systems_and_precisions_are_apart() -> None:
    analyzer = Analyzer()
    analyzer.handle(CHAIN, NOW)
    here = analyzer.handle(measured("a", 1.0), NOW)
    there = analyzer.handle(measured("a", 2.0, runtime="other"), NOW)
    half = analyzer.handle(measured("a", 3.0, precision="fp16"), NOW)
    assert [the(updates).sequential_us for updates in (here, there, half)] == [1.0, 2.0, 3.0]
    assert the(here).system_id == the(half).system_id != the(there).system_id
    assert {u.precision for u in half} == {"fp16"}


def test_each_version_names_the_measurement_that_moved_it() -> None:
    analyzer = Analyzer()
    analyzer.handle(CHAIN, NOW)
    events = [*(measured(of, 1.0) for of in "abc"), measured("a", 0.5)]
    versions = [
        (u.cause, u.sequential_us)
        for u in handle_all(analyzer, events)
        if u.accounting == "full" and not u.fusion
    ]
    totals = (1.0, 2.0, 3.0, 2.5)
    assert versions == [(e.event_id, total) for e, total in zip(events, totals, strict=True)]


def test_the_time_of_computing_is_the_one_given() -> None:
    later = datetime(2027, 2, 3, tzinfo=UTC)
    analyzer = Analyzer()
    analyzer.handle(CHAIN, NOW)
    assert {u.computed_at for u in analyzer.handle(measured("a", 1.0), later)} == {later}


def test_ceilings_give_every_model_a_speed_of_light() -> None:
    analyzer = Analyzer()
    event = model([summary("Conv", "a", flops=40, bytes_moved=4, least_flops=21)])
    analyzer.handle(event, NOW)
    updates = analyzer.handle(ceilings(bandwidth=2e6, flops=1e6), NOW)
    assert [u.roofline_us for u in updates] == [pytest.approx(20.0)] * 4
    assert {u.limited_by for u in updates} == {"compute"}
    assert the(updates).missing == (Missing(NOT_MEASURED, (0,)),)
    assert the(analyzer.handle(measured("a", 30.0), NOW)).roofline_us == pytest.approx(20.0)
    fp16 = the(analyzer.handle(measured("a", 30.0, precision="fp16"), NOW))
    assert (fp16.roofline_us, fp16.limited_by) == (None, "")


def test_what_is_attainable_is_estimated_where_the_system_has_an_accelerator() -> None:
    known, conv = ceilings(1e6, 1e6, cache_bytes=100), measured("a", 30.0)
    event = model([summary("Conv", "a", least_flops=21)])
    for accelerator, attainable_us in (("", None), ("GPU", pytest.approx(30.15))):
        of = identified(msgspec.structs.replace(known.system, accelerator=accelerator))
        for conv_first in (True, False):
            analyzer = Analyzer()
            if conv_first:
                analyzer.restore(msgspec.structs.replace(conv, system=of))
            analyzer.restore(msgspec.structs.replace(known, system=of))
            if not conv_first:
                analyzer.restore(msgspec.structs.replace(conv, system=of))
            assert the(analyzer.handle(event, NOW)).attainable_us == attainable_us


def test_the_highest_ceiling_counts() -> None:
    analyzer = Analyzer()
    event = model([summary("Conv", "a", least_flops=21)])
    analyzer.handle(event, NOW)
    analyzer.handle(ceilings(1e6, 1e6), NOW)
    assert analyzer.handle(ceilings(1e6, 0.5e6), NOW) == []
    assert the(analyzer.handle(ceilings(1e6, 2e6), NOW)).roofline_us == pytest.approx(10.0)


def test_a_group_that_is_faster_than_the_ceilings_raises_them_without_fusion_too() -> None:
    layers = [summary("Conv", "a", least_flops=20), summary("Conv", "b", least_flops=20)]
    event = model(layers, groups=[group("ab", (0, 1), least_flops=40)])
    analyzer = Analyzer()
    analyzer.handle(event, NOW)
    first = analyzer.handle(ceilings(1e6, 1e6), NOW)
    updates = [*first, *analyzer.handle(measured("ab", 10.0), NOW)]
    fused, alone = the(updates, fusion=True), the(updates)
    assert alone.roofline_us == fused.roofline_us
    assert alone.roofline_us is not None
    assert alone.roofline_us < 10.0


def test_a_model_ingested_before_there_were_least_operations_gets_them() -> None:
    older = model([summary("Conv", "a", flops=40)])
    newer = model([summary("Conv", "a", flops=40, least_flops=21)])
    assert older.architecture_id == newer.architecture_id
    for order in ((older, newer, older), (newer, older)):
        analyzer = Analyzer()
        analyzer.handle(ceilings(1e6, 1e6), NOW)
        updates = [update for event in order for update in analyzer.handle(event, NOW)]
        assert updates[-1].roofline_us == pytest.approx(20.0)


def test_half_of_the_ceilings_gives_no_speed_of_light() -> None:
    analyzer = Analyzer()
    whole = ceilings(1e6, 1e6)
    half = msgspec.structs.replace(whole, ceilings=whole.ceilings[:1])
    analyzer.handle(CHAIN, NOW)
    updates = analyzer.handle(half, NOW)
    assert len(updates) == 4
    assert {u.roofline_us for u in updates} == {None}


def test_a_model_with_its_own_architecture_takes_the_place_of_the_former() -> None:
    """Before version 10 of the schema, every model had one."""
    analyzer = Analyzer()
    chain = msgspec.structs.replace(CHAIN, architecture_id=CHAIN.model_id)
    handle_all(analyzer, [chain, measured("a", 1.0), measured("d", 8.0)])
    changed = msgspec.structs.replace(
        model([summary("Conv", "d"), summary("Relu", "c")], name="chain"),
        event_id=event_id("ModelIngested", "changed"),
        architecture_id=CHAIN.model_id,
    )
    bound = the(analyzer.handle(changed, NOW))
    assert (bound.sequential_us, bound.cause) == (8.0, changed.event_id)
    assert analyzer.handle(measured("a", 0.5), NOW) == []
    assert the(analyzer.handle(measured("c", 2.0), NOW)).sequential_us == 10.0


def test_a_bad_model_changes_nothing() -> None:
    analyzer = Analyzer()
    handle_all(analyzer, [CHAIN, measured("a", 2.0)])
    bad = with_its_id(msgspec.structs.replace(CHAIN, edges=((1, 0),)))
    with pytest.raises(InvalidModelError):
        analyzer.handle(bad, NOW)
    assert the(analyzer.handle(measured("a", 1.0), NOW)).sequential_us == 1.0


@st.composite
def histories(draw: st.DrawFn) -> list[AnalyzerEvent]:
    """Two models that share layers, two systems with their ceilings, and many measurements."""
    ingested: list[ModelIngested] = [
        draw(models(name=name, max_layers=5, repeats=True)) for name in ("one", "two")
    ]
    runtimes = ("test", "other")
    found: list[LayerMeasured] = []
    for of in sorted({of for event in ingested for of in all_fingerprints(event)}):
        for _ in range(draw(st.integers(0, 2))):
            runtime = draw(st.sampled_from(runtimes))
            match draw(st.sampled_from(("failure", "one layout", "both layouts"))):
                case "failure":
                    failure = draw(st.sampled_from(("no memory", "crashed")))
                    event = measured("", failure=failure, runtime=runtime)
                case "one layout":
                    event = measured("", variant(draw(times)), runtime=runtime)
                case _:
                    both = in_layouts(draw(times), draw(times), draw(times))
                    event = measured("", *both, runtime=runtime)
            cause = event_id("LayerMeasured", of, str(len(found)))
            found.append(msgspec.structs.replace(event, fingerprint=of, event_id=cause))
    systems = [ceilings(1e6, 1e6, runtime=runtime) for runtime in runtimes]
    return draw(st.permutations([*ingested, *found, *systems]))


@given(st.data(), histories())
def test_the_order_of_arrival_does_not_change_the_final_bounds(
    data: st.DataObject, history: Sequence[AnalyzerEvent]
) -> None:
    shuffled = data.draw(st.permutations(history))
    assert latest(handle_all(Analyzer(), history)) == latest(handle_all(Analyzer(), shuffled))


def test_what_is_known_of_a_group_changes_no_bound_without_fusion() -> None:
    """Where the group was measured first, which has no conversions, another plan was taken."""
    of = model(
        [summary("Conv", "a"), summary("Relu", "b"), summary("Concat", "c"), summary("Reshape")],
        groups=[group("ab", (0, 1))],
    )
    events = (measured("ab", variant(1.0)), measured("c", *in_layouts(0.25, 0.0, 0.25)))
    once, again = (latest(handle_all(Analyzer(), [of, *o])) for o in permutations(events))
    assert once == again


@given(st.data(), histories())
def test_an_event_that_comes_again_moves_nothing(
    data: st.DataObject, history: Sequence[AnalyzerEvent]
) -> None:
    analyzer = Analyzer()
    once = handle_all(analyzer, history)
    assert handle_all(analyzer, data.draw(st.permutations(history))) == []
    assert len({update.event_id for update in once}) == len(once)


@given(st.data(), histories())
def test_a_restored_analyzer_goes_on_as_if_it_had_never_stopped(
    data: st.DataObject, history: Sequence[AnalyzerEvent]
) -> None:
    handled = data.draw(st.integers(0, len(history)))
    steady = Analyzer()
    handle_all(steady, history[:handled])
    restarted = Analyzer()
    for event in history[:handled]:
        restarted.restore(event)
    # What was handled last may come again: its offset may not have been committed.
    again = history[max(handled - 1, 0) :]
    assert handle_all(restarted, again) == handle_all(steady, again)


@given(st.data(), histories())
def test_what_an_architecture_knew_before_a_restart_moves_the_others_alone(
    data: st.DataObject, history: Sequence[AnalyzerEvent]
) -> None:
    """Each is moved as by an analyzer that was as far as its own was."""
    graphs = [event for event in history if isinstance(event, ModelIngested)]
    others = [event for event in history if not isinstance(event, ModelIngested)]
    near, far = sorted(data.draw(st.integers(0, len(others))) for _ in range(2))
    ahead, behind = (event.architecture_id for event in graphs)
    assume(ahead != behind)

    def restored(until: int) -> Analyzer:
        analyzer = Analyzer()
        for event in (*graphs, *others[:until]):
            analyzer.restore(event)
        return analyzer

    def of(architecture_id: str, updates: Sequence[BoundUpdated]) -> list[BoundUpdated]:
        return [update for update in updates if update.architecture_id == architecture_id]

    both = restored(near)
    updates = [u for event in others[near:far] for u in both.handle(event, NOW, {ahead})]
    updates += handle_all(both, others[far:])
    assert of(ahead, updates) == of(ahead, handle_all(restored(far), others[far:]))
    assert of(behind, updates) == of(behind, handle_all(restored(near), others[near:]))


@given(histories())
def test_the_last_version_is_what_the_model_would_have_been_given_at_once(
    history: Sequence[AnalyzerEvent],
) -> None:
    models_last = sorted(history, key=lambda event: isinstance(event, ModelIngested))
    at_once = handle_all(Analyzer(), models_last)
    assert latest(at_once) == latest(handle_all(Analyzer(), history))
    assert len(at_once) == len(latest(at_once))


def test_restoring_computes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Mock(wraps=lower_bound)
    monkeypatch.setattr(core, "lower_bound", watched)
    analyzer = Analyzer()
    analyzer.restore(CHAIN)
    analyzer.restore(ceilings(1e6, 1e6))
    for of in "abc":
        analyzer.restore(measured(of, 1.0))
    assert watched.call_count == 0
    (moved,) = analyzer.handle(measured("bc", 0.5), NOW)[-1:]
    assert (moved.sequential_us, moved.accounting, moved.fusion) == (1.5, "full", True)


def test_layout_conversions_count_as_data_movement_in_all_models() -> None:
    """Those whose layers count under both accountings are computed once, where that's the same."""
    analyzer = Analyzer()
    analyzer.handle(model([summary("Conv"), summary("Relu")]), NOW)
    first = variant(3.0, algorithm="a", layout="NCHW", change_us=2.0)
    last = variant(5.0, algorithm="b", layout="NHWC", change_us=2.0)
    analyzer.handle(measured("Conv", first), NOW)
    updates = analyzer.handle(measured("Relu", last), NOW)
    assert the(updates, "paper").sequential_us == 8.0
    assert the(updates, "full").sequential_us == 10.0
    assert the(updates, "full").layout in ("NCHW", "NHWC")


def test_the_layouts_of_a_group_move_nothing_without_fusion() -> None:
    """Of two layouts with the same median, that with less spread stays chosen."""
    layers = [summary("Conv", "a"), summary("Relu", "b")]

    def laid_out(
        layer: str, first: tuple[float, float], last: tuple[float, float]
    ) -> LayerMeasured:
        variants = [
            variant(*times, layout=layout, algorithm=layout, change_us=1.0, write_conversion_us=0.5)
            for layout, times in (("NCHW", first), ("NHWC", last))
        ]
        return measured(layer, *variants)

    events = [
        laid_out("a", (3.0, 0.2), (3.0, 0.1)),
        measured("b", 1.0),
        laid_out("ab", (9.0, 0.0), (8.0, 0.0)),
    ]
    for order in permutations(events):
        found = handle_all(Analyzer(), [model(layers, groups=[group("ab", (0, 1))]), *order])
        without = the(found)
        assert (without.sequential_us, without.sequential_spread_us) == (4.0, 0.1)


def test_the_paper_s_bound_takes_no_generated_kernel() -> None:
    """Neither for a layer nor for a group, where the libraries take longer or run none."""
    analyzer = Analyzer()
    layers = [summary("Conv", "a"), summary("Relu", "b")]
    generated = [variant(us, library=GENERATED) for us in (1.0, 2.0, 2.5)]
    events: list[AnalyzerEvent] = [
        model(layers, groups=[group("ab", (0, 1))]),
        measured("a", generated[0], variant(4.0)),
        measured("b", generated[1]),
        measured("ab", generated[2]),
    ]
    updates = handle_all(analyzer, events)
    paper, full = (the(updates, accounting, fusion=True) for accounting in ("paper", "full"))
    assert (paper.sequential_us, paper.missing) == (4.0, (Missing(NO_LIBRARY_RUNS_IT, (1,)),))
    assert (full.sequential_us, full.missing) == (2.5, ())
    updates = analyzer.handle(measured("b", 3.0), NOW)
    assert the(updates, "paper", fusion=True).sequential_us == 7.0
    assert {update.accounting for update in updates} == {"paper"}


def test_a_cover_that_is_not_proven_to_be_the_cheapest_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    analyzer = Analyzer()
    handle_all(analyzer, [CHAIN, measured("b", variant(2.0))])
    assert caplog.messages == []
    monkeypatch.setattr(blocks, "cheapest_groups", lambda shape, times_us: ComponentCover((), 2.5))
    handle_all(analyzer, [measured("a", variant(3.0)), measured("c", variant(1.0))])
    assert [message.split(" is not proven")[0] for message in caplog.messages] == [
        f"the bound of architecture {CHAIN.architecture_id} at fp32 under {accounting}, with "
        "fusion,"
        for accounting in ("paper", "full")
    ]
    assert caplog.messages[0].endswith("of the cheapest cover, which may take up to 2.500 µs less")
