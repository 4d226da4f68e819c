"""The bound against brute force: over all covers, and over all paths."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.bound import lower_bound
from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_analyzer.measurements import NOT_MEASURED, Best, Measurements
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import cheapest_plans
from benanza_schemas.events import BoundUpdated, Group, Missing, ModelIngested
from benanza_schemas.layer import Accounting
from tests.analyzer.events import (
    FIGURES,
    IN_PAPER,
    NOW,
    everywhere,
    figure,
    fingerprint,
    group,
    is_available,
    model,
    summary,
    system,
)
from tests.analyzer.graphs import all_fingerprints, contracted, graph_of, models, times
from tests.examples import examples

Outcomes = Mapping[str, Best | str]
CEILINGS = PlatformCeilings(bandwidth=2e6, flops=1e6)

accountings: st.SearchStrategy[Accounting] = st.sampled_from(("paper", "full"))


@st.composite
def outcomes(draw: st.DrawFn, event: ModelIngested, *, complete: bool = False) -> Outcomes:
    """What came of measuring the model's layers and groups, some of which were not.

    With `complete` every layer has a time; groups may still lack one.
    """
    groups = {group.fingerprint for group in event.groups}
    found: dict[str, Best | str] = {}
    for of in all_fingerprints(event):
        kind = draw(st.integers(0, 4))
        if kind > 1 or (complete and of not in groups):
            found[of] = Best(draw(times), draw(times))
        elif kind == 1:
            found[of] = "no memory"
    return found


@st.composite
def measured_models(
    draw: st.DrawFn, *, repeats: bool = False, complete: bool = False
) -> tuple[ModelIngested, Outcomes]:
    event = draw(models(repeats=repeats))
    return event, draw(outcomes(event, complete=complete))


def bound_of(
    event: ModelIngested, found: Outcomes, accounting: Accounting = "full", *, fusion: bool = False
) -> BoundUpdated:
    catalogue = Catalogue()
    compiled = compile_architecture(event, catalogue)
    measurements = Measurements()
    for of, outcome in found.items():
        measurements.add(catalogue.number(of), everywhere(outcome), NOW)
    measurements.reach(len(catalogue))
    plan = cheapest_plans(compiled, accounting, measurements)[fusion]
    return lower_bound(
        compiled,
        accounting,
        plan,
        measurements,
        catalogue,
        CEILINGS,
        "fp32",
        system_id=system().system_id,
        fusion=fusion,
    )


class Oracle:
    """What the definitions say of a model, found by trying everything."""

    def __init__(self, event: ModelIngested, found: Outcomes, accounting: Accounting) -> None:
        self.event = event
        self.graph = graph_of(event)
        self.layers = [event.summaries[use.summary] for use in event.layers]
        self.times = {of: t for of, t in found.items() if isinstance(t, Best)}
        self.counted = {
            position
            for position, layer in enumerate(self.layers)
            if layer.kind in ("compute", "movement")
            and (accounting == "full" or layer.op in IN_PAPER)
        }

    def covers(self, fusion: bool) -> Iterator[tuple[Group, ...]]:
        """All choices of groups that were measured, don't overlap, and don't need each other's
        results in a circle.
        """
        groups = [g for g in self.event.groups if fusion and g.fingerprint in self.times]
        for count in range(len(groups) + 1):
            for chosen in combinations(groups, count):
                members = [position for group in chosen for position in group.layers]
                if len(members) == len(set(members)) and networkx.is_directed_acyclic_graph(
                    contracted(self.graph, (group.layers for group in chosen))
                ):
                    yield chosen

    def blocks(self, cover: tuple[Group, ...]) -> dict[tuple[int, ...], str]:
        """The cover's groups and the counted layers that are alone and have a time."""
        grouped = {position for group in cover for position in group.layers}
        alone = {
            (position,): self.layers[position].fingerprint for position in self.counted - grouped
        }
        return {tuple(sorted(group.layers)): group.fingerprint for group in cover} | alone

    def cost(self, cover: tuple[Group, ...]) -> tuple[int, float]:
        """How many counted layers it leaves missing, and its time."""
        blocks = self.blocks(cover).values()
        return (
            sum(of not in self.times for of in blocks),
            sum(self.times[of].median_us for of in blocks if of in self.times),
        )

    def longest_path(self, blocks: Mapping[tuple[int, ...], str]) -> float:
        """The longest path through the model with these blocks contracted."""
        graph = contracted(self.graph, blocks)
        assert networkx.is_directed_acyclic_graph(graph)
        return max(
            sum(self.times[blocks[block]].median_us for block in path if self.known(blocks, block))
            for source in graph
            for target in graph
            for path in ([[source]] if source == target else [])
            + list(networkx.all_simple_paths(graph, source, target))
        )

    def known(self, blocks: Mapping[tuple[int, ...], str], block: tuple[int, ...]) -> bool:
        return blocks.get(block) in self.times


@examples(times=3)
@given(measured_models(), accountings, st.booleans())
def test_the_sequential_bound_is_the_cheapest_of_all_covers(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    event, found = case
    oracle = Oracle(event, found, accounting)
    missing, total = min(oracle.cost(cover) for cover in oracle.covers(fusion))
    bound = bound_of(event, found, accounting, fusion=fusion)
    skipped = sum(layer.kind == "skipped" for layer in oracle.layers)
    assert sum(len(m.layers) for m in bound.missing) == missing + skipped
    assert bound.sequential_us == (total if is_available(bound) else None)


@given(measured_models(repeats=True), accountings, st.booleans())
def test_layers_that_stand_several_times_count_each_time(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    event, found = case
    oracle = Oracle(event, found, accounting)
    _, total = min(oracle.cost(cover) for cover in oracle.covers(fusion))
    bound = bound_of(event, found, accounting, fusion=fusion)
    assert figure(bound.sequential_us) == total
    assert sum(oracle.times[of].median_us for of in bound.cover) == total
    assert figure(bound.sequential_spread_us) == pytest.approx(
        math.sqrt(sum((n * oracle.times[of].iqr_us) ** 2 for of, n in Counter(bound.cover).items()))
    )


@given(measured_models(), accountings, st.booleans())
def test_the_parallel_bound_is_the_longest_of_all_paths(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    event, found = case
    oracle = Oracle(event, found, accounting)
    bound = bound_of(event, found, accounting, fusion=fusion)
    taken = tuple(g for g in event.groups if g.fingerprint in bound.cover)
    blocks = oracle.blocks(taken)
    longest_us = oracle.longest_path(blocks)
    assert bound.parallel_us == (longest_us if is_available(bound) else None)
    on_path = {
        of
        for block, of in blocks.items()
        if of in oracle.times and set(block) <= set(bound.critical_path)
    }
    assert sum(oracle.times[of].median_us for of in on_path) == longest_us
    assert figure(bound.parallel_spread_us) == pytest.approx(
        math.sqrt(sum(oracle.times[of].iqr_us ** 2 for of in on_path))
    )


@given(measured_models(), accountings, st.booleans())
def test_the_cover_is_in_topological_order(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    event, found = case
    bound = bound_of(event, found, accounting, fusion=fusion)
    oracle = Oracle(event, found, accounting)
    blocks = oracle.blocks(tuple(g for g in event.groups if g.fingerprint in bound.cover))
    of_block = {of: block for block, of in blocks.items() if of in oracle.times}
    assert set(of_block) == set(bound.cover)
    graph = contracted(oracle.graph, blocks)
    for before, after in combinations(bound.cover, 2):
        assert not networkx.has_path(graph, of_block[after], of_block[before])


@given(measured_models(repeats=True), accountings, st.booleans())
def test_every_layer_stands_once_under_its_heading(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    event, found = case
    bound = bound_of(event, found, accounting, fusion=fusion)
    missing = [position for m in bound.missing for position in m.layers]
    headings = (*bound.measured, *bound.free, *bound.not_counted, *missing)
    assert sorted(headings) == list(range(len(event.layers)))
    kinds = [event.summaries[use.summary] for use in event.layers]
    assert {kinds[n].kind for n in bound.free} <= {"view"}
    assert all(kinds[n].op not in IN_PAPER for n in bound.not_counted)
    assert {n for n, layer in enumerate(kinds) if layer.kind == "skipped"} <= set(missing)


@given(measured_models(repeats=True), accountings, st.booleans())
def test_a_bound_has_no_figures_where_layers_are_missing_and_none_is_measured(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    bound = bound_of(*case, accounting, fusion=fusion)
    figures = [getattr(bound, name) for name in FIGURES]
    assert [us is None for us in figures] == [not is_available(bound)] * len(FIGURES)


@given(measured_models(), accountings, st.booleans())
def test_parallel_never_exceeds_sequential(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    bound = bound_of(*case, accounting, fusion=fusion)
    assert figure(bound.parallel_us) <= figure(bound.sequential_us)


@given(st.lists(st.floats(0.001, 1000), min_size=2, max_size=30))
def test_a_chain_has_the_same_bound_both_ways_to_the_last_digit(times_us: list[float]) -> None:
    layers = [summary("Conv", f"{n}") for n in range(len(times_us))]
    found = {fingerprint(f"{n}"): Best(time, 0.0) for n, time in enumerate(times_us)}
    bound = bound_of(model(layers), found)
    assert bound.parallel_us == bound.sequential_us


@given(st.data(), measured_models(repeats=True), accountings)
def test_a_groups_time_never_makes_the_bound_larger(
    data: st.DataObject, case: tuple[ModelIngested, Outcomes], accounting: Accounting
) -> None:
    """Nor leaves more layers missing. A bound that loses a missing layer may grow by it."""
    event, found = case
    groups = sorted({group.fingerprint for group in event.groups})
    if not groups:
        return
    of = data.draw(st.sampled_from(groups))
    known = found.get(of)
    faster = Best(data.draw(times), 0.0)
    if isinstance(known, Best):
        faster = min(known, faster)
    before = bound_of(event, found, accounting, fusion=True)
    after = bound_of(event, {**found, of: faster}, accounting, fusion=True)
    lacked, lacks = (sum(len(m.layers) for m in bound.missing) for bound in (before, after))
    assert (lacks, figure(after.sequential_us)) <= (lacked, figure(before.sequential_us))


@given(measured_models(complete=True), accountings)
def test_fusion_never_makes_a_whole_bound_larger(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting
) -> None:
    fused, alone = (bound_of(*case, accounting, fusion=fusion) for fusion in (True, False))
    assert figure(fused.sequential_us) <= figure(alone.sequential_us)


@given(measured_models(complete=True), st.booleans())
def test_paper_never_exceeds_full_where_all_layers_have_times(
    case: tuple[ModelIngested, Outcomes], fusion: bool
) -> None:
    """Any cover of what `full` counts, less its idle groups, covers what `paper` counts."""
    paper = bound_of(*case, "paper", fusion=fusion)
    full = bound_of(*case, "full", fusion=fusion)
    assert figure(paper.sequential_us) <= figure(full.sequential_us)
    if not fusion:
        assert figure(paper.parallel_us) <= figure(full.parallel_us)


def test_paper_may_exceed_full_where_both_are_partial_in_different_ways() -> None:
    """Fewest missing layers come first, and `paper` has none missing here: it pays for that."""
    layers = [
        summary("TopK", "a"),
        summary("TopK", "b"),
        summary("Conv", "c"),
        summary("Relu", "d"),
    ]
    event = model(layers, groups=[group("abc", (0, 1, 2)), group("cd", (2, 3))])
    found = {fingerprint("abc"): Best(1.0, 0.0), fingerprint("cd"): Best(100.0, 0.0)}
    paper = bound_of(event, found, "paper", fusion=True)
    full = bound_of(event, found, "full", fusion=True)
    assert (paper.sequential_us, paper.missing) == (100.0, ())
    assert (full.sequential_us, full.missing) == (1.0, (Missing(NOT_MEASURED, (3,)),))


def test_a_group_covers_what_paper_does_not_count_for_nothing() -> None:
    layers = [summary("Conv", "a"), summary("Concat", "b"), summary("Relu", "c")]
    event = model(layers, groups=[group("abc", (0, 1, 2)), group("bc", (1, 2))])
    found: dict[str, Best | str] = {fingerprint(of): Best(4.0, 0.0) for of in "abc"}
    assert bound_of(event, found, "paper", fusion=True).sequential_us == 8.0
    found[fingerprint("abc")] = Best(7.0, 0.0)
    bound = bound_of(event, found, "paper", fusion=True)
    assert bound.sequential_us == 7.0
    assert (bound.measured, bound.not_counted) == ((0, 2), (1,))
    assert bound.critical_path == (0, 1, 2)


@pytest.mark.parametrize("longest", [2, 3, 4])
def test_of_overlapping_groups_along_a_chain_each_layer_is_in_one(longest: int) -> None:
    """Every group costs the same, so the fewest blocks are the cheapest."""
    names = [f"{n}" for n in range(12)]
    intervals = {
        f"{first} to {first + size}": range(first, first + size)
        for size in range(2, longest + 1)
        for first in range(len(names) - size + 1)
    }
    groups = [group(name, layers) for name, layers in intervals.items()]
    event = model([summary("Conv", name) for name in names], groups=groups)
    found = {fingerprint(name): Best(1.0, 0.0) for name in (*names, *intervals)}
    bound = bound_of(event, found, fusion=True)
    assert bound.sequential_us == bound.parallel_us == len(bound.cover) == len(names) / longest


def test_free_and_missing_layers_connect_the_path() -> None:
    layers = [summary("Conv", "a"), summary("Reshape", "r"), summary("Loop"), summary("Conv", "b")]
    found = {fingerprint("a"): Best(1.0, 0.0), fingerprint("b"): Best(2.0, 0.0)}
    bound = bound_of(model(layers), found)
    assert bound.parallel_us == 3.0
    assert bound.critical_path == (0, 1, 2, 3)
    assert bound.free == (1,)
    assert bound.missing == (Missing("Loop is not supported", (2,)),)


def test_positions_are_missing_by_reason() -> None:
    layers = [*(summary("Conv", name) for name in "abacb"), summary("Loop")]
    bound = bound_of(model(layers), {fingerprint("b"): "no memory"})
    assert bound.missing == (
        Missing(NOT_MEASURED, (0, 2, 3)),
        Missing("no memory", (1, 4)),
        Missing("Loop is not supported", (5,)),
    )
    assert (bound.sequential_us, bound.measured, bound.cover) == (None, (), ())


def test_reasons_come_by_the_first_layer_that_has_them() -> None:
    layers = [summary("Loop"), summary("Conv", "a"), summary("Loop"), summary("Conv", "b")]
    bound = bound_of(model(layers), {fingerprint("b"): "Loop is not supported"})
    assert bound.missing == (
        Missing("Loop is not supported", (0, 2, 3)),
        Missing(NOT_MEASURED, (1,)),
    )


def test_the_speed_of_light_is_of_all_layers_that_count() -> None:
    """At 2 bytes and 1 operation a µs: of the product alone, measured or not, in every cover."""
    layers = [
        summary("Conv", "a", flops=40, bytes_moved=4, least_flops=21),
        summary("Relu", "b", flops=1, bytes_moved=8),
        summary("Concat", "c", bytes_moved=6),
    ]
    event = model(layers, groups=[group("ab", (0, 1), flops=41, bytes_moved=4, least_flops=21)])
    found: dict[str, Best | str] = {fingerprint("ab"): Best(30.0, 0.0)}
    for bound in (
        bound_of(event, {}),
        bound_of(event, {}, "paper"),
        bound_of(event, found, fusion=True),
    ):
        assert bound.roofline_us == pytest.approx(20.0)
        assert bound.limited_by == "compute"


def test_a_model_of_nothing_but_views_takes_no_time() -> None:
    bound = bound_of(model([summary("Reshape", "a"), summary("Reshape", "b")]), {})
    assert (bound.sequential_us, bound.parallel_us, bound.missing) == (0.0, 0.0, ())
    assert (bound.free, bound.critical_path) == ((0, 1), ())


@given(measured_models(), accountings, st.booleans())
def test_the_critical_path_follows_edges(
    case: tuple[ModelIngested, Outcomes], accounting: Accounting, fusion: bool
) -> None:
    """Of layers alone; a group on the path may hold branches."""
    event, found = case
    bound = bound_of(event, found, accounting, fusion=fusion)
    if not any(group.fingerprint in bound.cover for group in event.groups):
        assert set(pairwise(bound.critical_path)) <= set(event.edges)


def test_layers_beyond_the_first_hundreds_have_their_spread() -> None:
    """Layouts and numbers are counted together, which once left no room for more than 127."""
    layers = [summary("Conv", f"layer {n}") for n in range(1_000)]
    found: dict[str, Best | str] = {summary_.fingerprint: Best(1.0, 0.5) for summary_ in layers}
    bound = bound_of(model(layers), found)
    assert bound.sequential_us == 1_000
    assert bound.sequential_spread_us == pytest.approx(0.5 * math.sqrt(1_000))
