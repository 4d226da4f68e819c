"""What a report says of a bound, beside what is known of it."""

import math
import re
from collections.abc import Sequence
from math import prod

import pytest
from msgspec.structs import replace

from benanza import inspect
from benanza.looking.calls.memory import held
from benanza.report.answer import answer, cost_text, overall, rate_text, slower, time_text
from benanza.report.content import ReportedBound, reported_bounds
from benanza.report.difference import by, choices, said
from benanza.report.figures.flame import flame_nodes
from benanza.report.graph import graph
from benanza.report.kinds import kind_of_call
from benanza.report.ladder import ladder
from benanza.report.nodes import nodes_of
from benanza.report.page import page
from benanza.report.remedies import about, of_choices
from benanza.report.tables import calls_of
from benanza.results.what_if import WhatIf
from benanza_backbone.clickhouse.bounds import MissingLayer
from tests.benanza.recorded import recorded_models

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def bounds(tmp_path_factory: pytest.TempPathFactory) -> Sequence[ReportedBound]:
    """By the recording of an H200; no framework ran the models."""
    settings = recorded_models(tmp_path_factory.mktemp("answer") / "data")
    return reported_bounds(settings, ["squeezenet", "alexnet"], ["fp16"], {})


def test_times_and_rates_say_that_they_are_not_known() -> None:
    assert time_text(None) == rate_text(1, None) == "not known"
    assert [time_text(us) for us in (260.2, 34.6, 3.456, 1139.4)] == [
        *("260 µs", "34.6 µs", "3.46 µs", "1.14 ms"),
    ]
    assert rate_text(32, 1e6) == "32 a second"
    assert cost_text(1, 36.0, 0.01).startswith("0.0001 for a million")
    assert cost_text(1, 36.0, 200.0, partial=True).startswith("at least 2.00 for a million")


def test_the_answer_says_what_is_not_known(bounds: Sequence[ReportedBound]) -> None:
    reported = bounds[0]
    text = " ".join(answer(reported))
    assert text.startswith("squeezenet on NVIDIA H200, fp16, batch 1: at least 98.0 µs (10,2")
    assert "What a framework takes for it isn't known." in text
    none = replace(reported.bound, sequential_us=None, roofline_us=None)
    text = " ".join(answer(reported._replace(bound=none)))
    assert "how fast it could run isn't known" in text
    assert "Its speed of light isn't known." in text
    assert " 0" not in text


def test_a_partial_bound_is_said_to_be_one(bounds: Sequence[ReportedBound]) -> None:
    bound = bounds[0].bound
    missing = (MissingLayer(name="n", op="Conv", reason="nobody measured it"),)
    coverage = replace(bound.coverage, missing=missing)
    partial = bounds[0]._replace(bound=replace(bound, coverage=coverage, partial=True))
    assert re.search(r"\(at most [\d,]+ a second\) without 1 of ", answer(partial)[0])
    assert "the bound (partial)" in [step.what for step in ladder(partial)]
    assert slower(partial) is None
    assert "isn't known" in said(partial, bounds[1])


def test_choices_are_advice_where_there_is_no_run(bounds: Sequence[ReportedBound]) -> None:
    reported = bounds[0]
    assert "No framework's run" in about(reported)
    todo = of_choices(reported)
    assert [each.saves_us for each in todo] == sorted((t.saves_us for t in todo), reverse=True)
    assert "without fusion" in {each.where for each in todo}
    assert "No framework's run of them is known." in overall(bounds)


def test_a_faster_precision_is_a_choice(bounds: Sequence[ReportedBound]) -> None:
    us = bounds[0].bound.sequential_us or 0.0
    reported = bounds[0]._replace(at_precisions={"bf16": us / 2, "fp32": us * 2})
    (todo,) = (todo for todo in of_choices(reported) if todo.where == "in fp16")
    assert todo.saves_us == pytest.approx(us / 2)
    assert todo.share == pytest.approx(0.5)
    assert todo.do.endswith("to bf16")


def test_what_heuristics_cost_is_told_without_what_fusion_is_worth(
    bounds: Sequence[ReportedBound],
) -> None:
    reported = bounds[0]
    unfused = what_if(reported, "without fusion", 20.0)
    heuristic = what_if(reported, "without fusion, as heuristics choose", 50.0)
    todos = of_choices(reported._replace(what_ifs=(unfused, heuristic)))
    assert [(todo.where, todo.saves_us) for todo in todos] == [
        ("without fusion, as heuristics choose", 30.0),
        ("without fusion", 20.0),
    ]


def what_if(reported: ReportedBound, name: str, more_us: float | None) -> WhatIf:
    """The bound under a policy by which it takes so much longer."""
    us = (reported.bound.sequential_us or 0.0) + (more_us or 0.0)
    return replace(reported.what_ifs[0], name=name, more_us=more_us, sequential_us=us)


def test_savings_are_those_of_the_whole_batch(bounds: Sequence[ReportedBound]) -> None:
    bound = replace(bounds[0].bound, batch=32)
    unfused = what_if(bounds[0], "without fusion", 709.0)
    reported = bounds[0]._replace(bound=bound, what_ifs=(unfused,))
    assert [todo.saves_us for todo in of_choices(reported)] == [709.0]
    assert "Fusion is worth 709 µs." in answer(reported)


def test_the_worth_of_layouts_is_beside_the_cheaper_one(bounds: Sequence[ReportedBound]) -> None:
    first = what_if(bounds[0], "channels first wherever possible", 60.0)
    last = what_if(bounds[0], "channels last wherever possible", 40.0)
    both = bounds[0]._replace(what_ifs=(first, last))
    assert "Choosing the layout for each layer is worth 40.0 µs." in answer(both)
    assert [todo.saves_us for todo in of_choices(both)] == [40.0]
    one = bounds[0]._replace(what_ifs=(first,))
    assert "Channels last is worth 60.0 µs." in answer(one)
    assert [todo.do for todo in of_choices(one)] == ["keep feature maps in channels last"]


def test_what_is_not_known_of_choices_is_no_zero(bounds: Sequence[ReportedBound]) -> None:
    unknown = bounds[0]._replace(what_ifs=(what_if(bounds[0], "without fusion", None),))
    assert "What fusion is worth isn't known." in answer(unknown)
    same = bounds[1]._replace(what_ifs=())
    assert choices(unknown, same).rows == (("without fusion", None, 0.0),)


def test_a_bound_of_which_nothing_is_known_has_one_sentence(
    bounds: Sequence[ReportedBound],
) -> None:
    bound = replace(bounds[1].bound, sequential_us=None, partial=True)
    both = (bounds[0], bounds[1]._replace(bound=bound))
    assert overall(both).startswith("1 bound of 1 model on 1 system. Of 1 more no layer was meas")
    assert overall(both[1:]) == "None of these bounds is known: no layer was measured."
    assert "None of its layers was measured" in page(both[1:], None)
    text = page(both, None)
    assert "None of its layers was measured, so its bound isn't known." in text
    anchors = set(re.findall('id="([^"]+)"', text))
    assert set(re.findall('href="#([^"]+)"', text)) - anchors == set()


def test_a_model_of_four_blocks_is_said_to_be_one(bounds: Sequence[ReportedBound]) -> None:
    bound = replace(bounds[0].bound, model="decoder:llama-3.1-8b-step")
    assert any(
        "four of the decoder's blocks" in said for said in answer(bounds[0]._replace(bound=bound))
    )
    assert not any("four" in said for said in answer(bounds[0]))


def test_the_steps_of_the_ladder_add_up(bounds: Sequence[ReportedBound]) -> None:
    for reported in bounds:
        steps = ladder(reported)
        assert [step.kind for step in steps].count("bound") == 1
        us = steps[0].us
        for step in steps[1:]:
            if step.kind == "change":
                assert step.before_us == pytest.approx(us, abs=0.2)
                us += step.us
            else:
                assert step.us == pytest.approx(us, abs=0.2)
    none = replace(bounds[0].bound, sequential_us=None)
    assert ladder(bounds[0]._replace(bound=none)) == []


def test_the_graph_has_every_call_and_tells_ways_around(bounds: Sequence[ReportedBound]) -> None:
    drawn = graph(bounds[0])
    assert [box.call for box in drawn.boxes] == list(range(len(bounds[0].calls)))
    assert max(drawn.boxes, key=lambda box: box.us).heat == 1
    arrows, skips = drawn.arrows.arrows, drawn.arrows.skips
    assert not set(arrows) & set(skips)
    assert {number for edge in (*arrows, *skips) for number in edge} == set(range(len(drawn.boxes)))


def test_every_node_is_there_with_what_it_reads_and_gives(bounds: Sequence[ReportedBound]) -> None:
    found = nodes_of(bounds[0])
    layers = inspect("zoo:squeezenet").layers
    assert [(op, name) for op, name, _ in found.nodes] == [(of.op, of.name) for of in layers]
    positions = [position for box in graph(bounds[0]).boxes for position in box.positions]
    assert len(positions) == len(set(positions)) > 50
    place = found.nodes[0][2]
    assert place is not None
    attributes, reads, constants, gives = found.forms[place]
    assert "kernel_shape [3, 3]" in attributes
    assert not attributes.startswith("Conv")
    assert reads == "float32 1×3×224×224"
    assert constants == "float32 64×3×3×3, float32 64"
    assert gives == "float32 1×64×111×111"


@pytest.mark.parametrize(
    ("op", "label"),
    [
        ("Conv+BatchNormalization+Sum+Relu", "Conv+BatchNorm+Sum+Relu"),
        ("Mul+Add+Sigmoid+Mul+Add+Softmax+Mul", "Mul+Add+Sigmoid+4 more"),
        ("A" * 40 + "+Relu", "AAAAAA…AAAAAAAAAAA+1 more"),
        ("B" * 40, "BBBBBBBB…BBBBBBBBBBBBBBBB"),
    ],
)
def test_boxes_have_room_for_their_labels(
    bounds: Sequence[ReportedBound], op: str, label: str
) -> None:
    first, *others = bounds[0].calls
    box = graph(bounds[0]._replace(calls=(replace(first, op=op), *others))).boxes[0]
    assert box.label == label


def test_memory_holds_what_is_still_to_be_read(bounds: Sequence[ReportedBound]) -> None:
    reported = bounds[0]
    calls = graph(reported)
    weights = inspect("zoo:squeezenet").layers
    known = sum(call.constant_bytes or 0 for call in reported.calls)
    assert known == 2 * sum(layer.parameters for layer in weights)
    arrows = {*calls.arrows.arrows, *calls.arrows.skips}
    gives = [
        sum(2 * prod(tensor.shape) for tensor in reported.forms[call.fingerprint].gives)
        for call in reported.calls
    ]
    for now, call in enumerate(reported.calls):
        alive = {source for source, target in arrows if source <= now <= target} | {now}
        assert call.order == now
        assert call.alive_bytes == sum(gives[each] for each in alive)
    assert max(call.alive_bytes or 0 for call in reported.calls) > 2 * 64 * 55 * 55


def test_a_view_between_calls_keeps_what_it_shows_alive(bounds: Sequence[ReportedBound]) -> None:
    """What is converted for a view's readers lives in the call before it."""
    reported = bounds[0]
    first, second, *others = reported.calls
    view = replace(second, fingerprint="")
    precision = reported.bound.precision
    found = held((first, view, *others), reported.edges, reported.forms, precision)
    assert found is not None
    gives = [
        sum(tensor.bytes(precision) for tensor in reported.forms[call.fingerprint].gives)
        for call in (first, *others)
    ]
    assert [each.values for each in found[:3]] == [gives[0], gives[0], gives[0] + gives[1]]
    assert found[1].constants == 0


def test_the_flame_graph_has_every_call_in_order_within_its_block(
    bounds: Sequence[ReportedBound],
) -> None:
    named = [
        replace(call, layers=(f"/block.{number // 5}/call", *call.layers))
        for number, call in enumerate(bounds[0].calls)
    ]
    nodes = flame_nodes(bounds[0]._replace(calls=tuple(named)))
    seen = {""}
    for node in nodes:
        assert node.parent in seen
        seen.add(node.id)
    calls = [node for node in nodes if node.number is not None]
    assert [node.number for node in calls] == sorted(node.number or 0 for node in calls)
    assert {node.parent for node in calls if (node.number or 0) < 10} == {
        *("model/block.0", "model/block.1"),
    }
    assert math.fsum(node.us for node in nodes) == pytest.approx(bounds[0].bound.sequential_us)


def test_the_differences_of_two_add_up(bounds: Sequence[ReportedBound]) -> None:
    one, other = bounds
    table = by("kind", one, other, lambda call: kind_of_call(call.op, call.rule))
    sums = [math.fsum(float(row[at] or 0) for row in table.rows) for at in (2, 4, 5)]
    assert sums[:2] == pytest.approx([one.bound.sequential_us, other.bound.sequential_us])
    assert sums[2] == pytest.approx(sums[1] - sums[0])
    assert "most by matrix product (+" in said(one, other)
    assert "most by matrix product (−" in said(other, one)
    assert ", most of it by calls of the kind" in said(one, doubled(one))
    assert said(one, one) == (
        "Both take as long, within the hundredth by which measurements differ."
    )


def doubled(reported: ReportedBound) -> ReportedBound:
    """The bound if its slowest call took as long as all together do."""
    us = reported.bound.sequential_us or 0.0
    slowest = max(reported.calls, key=lambda call: call.us)
    calls = [replace(c, us=c.us + us) if c is slowest else c for c in reported.calls]
    bound = replace(reported.bound, sequential_us=2 * us)
    return reported._replace(bound=bound, calls=tuple(calls))


def test_unknown_cells_of_a_table_are_none(bounds: Sequence[ReportedBound]) -> None:
    nothing = dict.fromkeys(("roofline_us", "limited_by", "constant_bytes", "alive_bytes"))
    unlit = [replace(call, **nothing) for call in bounds[0].calls]
    unknown = bounds[0]._replace(calls=tuple(unlit), forms={})
    assert held(unknown.calls, unknown.edges, {}, "fp16") is None
    assert not unknown.knows_memory
    table = calls_of(unknown)
    titles = [column.title for column in table.columns]
    for title in ("% of its speed of light", "limited by", "reads", "MB of values alive"):
        assert {row[titles.index(title)] for row in table.rows} == {None}
