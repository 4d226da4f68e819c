"""What the best algorithms save against those that heuristics choose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_analyzer.answers.algorithms import Algorithms, best_algorithms
from benanza_analyzer.answers.differences import differences
from benanza_analyzer.answers.policies import HEURISTIC, UNFUSED
from benanza_analyzer.answers.under_policy import under
from benanza_schemas.events import LayerMeasured, ModelIngested, SystemMeasured, Variant
from tests.analyzer.answers.test_calls import measurements
from tests.analyzer.events import ceilings, measured, model, summary, system, variant
from tests.analyzer.graphs import models

NET = model([summary("Conv", "a"), summary("Relu", "c"), summary("Conv", "a")])
ROOF: SystemMeasured = ceilings(1.0, 1.0)


def chosen(us: float, **more: str) -> Variant:
    return replace(variant(us, **more), chosen_by_heuristic=True)  # type: ignore[arg-type]


def by_covers(of: ModelIngested, events: list[LayerMeasured]) -> Algorithms:
    """The same by the covers of the policies."""
    before, after = (
        under(policy, of, ROOF, events).cover(
            of.architecture_id, system().system_id, "fp32", "full", fusion=False
        )
        for policy in (HEURISTIC, UNFUSED)
    )
    found = differences(before.calls, after.calls)
    layers = sum(len(each.positions) for each in found if each.saved_us > 0)
    return Algorithms(before.sequential_us - after.sequential_us, layers)


def test_they_save_where_the_choice_was_not_the_fastest() -> None:
    events = [measured("a", chosen(3.0), 1.0), measured("c", 5.0, 4.0)]
    assert best_algorithms([NET], events) == {NET.architecture_id: Algorithms(4.0, 2)}


def test_where_no_heuristic_was_asked_there_is_no_answer() -> None:
    other = model([summary("Conv", "b")], name="other")
    events = [measured("a", 3.0, 1.0), measured("c", 5.0), measured("b", chosen(2.0))]
    assert best_algorithms([NET, other], events) == {other.architecture_id: Algorithms(0.0, 0)}


def test_a_layer_without_a_time_is_in_neither_sum() -> None:
    events = [measured("a", chosen(3.0), 1.0), measured("c", failure="no")]
    assert best_algorithms([NET], events) == {NET.architecture_id: Algorithms(4.0, 2)}


@given(st.data())
def test_they_save_what_the_covers_differ_by(data: st.DataObject) -> None:
    net = replace(data.draw(models()), groups=())
    net = replace(net, architecture_id=net.model_id)
    events = []
    for each in data.draw(measurements(net)):
        picks = data.draw(st.lists(st.booleans(), min_size=2, max_size=2))
        variants = (
            replace(v, chosen_by_heuristic=pick)
            for v, pick in zip(each.variants, picks, strict=False)
        )
        events.append(replace(each, variants=tuple(variants)))
    found = best_algorithms([net], events)
    counted = {each.fingerprint for each in net.summaries if each.kind in ("compute", "movement")}
    asked = any(
        v.chosen_by_heuristic for e in events if e.fingerprint in counted for v in e.variants
    )
    assert (net.architecture_id in found) == asked
    if asked:
        wanted = by_covers(net, events)
        assert found[net.architecture_id].saved_us == pytest.approx(wanted.saved_us, abs=1e-9)
        assert found[net.architecture_id].layers == wanted.layers
