"""The layouts of the calls of a plan, as its bound shows them."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.bound import lower_bound
from benanza_analyzer.measurements import Best, Measurements
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import cheapest_plans
from benanza_schemas.events import BoundUpdated, ModelIngested
from benanza_schemas.layer import Accounting
from tests.analyzer.events import NOW, figure, fingerprint, group, model, summary, system
from tests.analyzer.graphs import all_fingerprints, models, times
from tests.examples import examples

Bests = Mapping[str, Sequence[Best]]
Case = tuple[ModelIngested, Bests]


@st.composite
def measured_models(draw: st.DrawFn, *, conversion_is_known: bool = True) -> Case:
    """A model all of whose layers have times, and some of its groups. Most can do either layout."""
    event = draw(models(repeats=draw(st.booleans())))
    layers = {summary.fingerprint for summary in event.summaries}
    found = {}
    for of in all_fingerprints(event):
        if of in layers or draw(st.booleans()):
            only = draw(st.sampled_from(("", "", "", "first", "last", "alike")))
            first, last, around, after = (draw(times) for _ in range(4))
            first = math.inf if only == "last" else first
            last = math.inf if only == "first" else first if only == "alike" else last
            if not conversion_is_known and draw(st.booleans()):
                after = math.inf
            found[of] = [
                Best(us, 0.0, conversion_us=around, write_conversion_us=after)
                for us in (min(first, last), first, last, math.inf, min(first, last))
            ]
    return event, found


def test_the_layout_is_the_one_that_takes_less_in_all() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    # Channels first, channels last.
    found = {"Conv": (5.0, 2.0), "Relu": (3.0, 3.5), "TopK": (1.0, 1.0)}
    bound = laid_out(event, found)
    assert (bound.layout, bound.sequential_us) == ("NHWC", 6.5)
    assert laid_out(event, found | {"Conv": (5.0, 4.75)}).layout == "NCHW"
    assert laid_out(event, found | {"Conv": (5.0, 4.75)}).sequential_us == 9.0
    alike = laid_out(event, {"Conv": (2.0, 2.0), "Relu": (3.0, 3.0), "TopK": (1.0, 1.0)})
    assert (alike.layout, alike.sequential_us) == ("", 6.0)
    paper = laid_out(event, found, "paper")
    assert (paper.layout, paper.sequential_us) == ("", 5.0), "layout conversions are data movement"


def test_between_two_layouts_there_is_one_conversion() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    found = {"Conv": (5.0, 2.0), "Relu": (3.0, 9.0), "TopK": (1.0, 1.0)}
    assert laid_out(event, found).sequential_us == 2.0 + 1.0 + 3.0 + 1.0
    # Where conversions between two layers were not measured, those around one layer count.
    unknown = laid_out(event, found, write_conversion_us=math.inf)
    assert unknown.sequential_us == 2.0 + 2.0 + 3.0 + 1.0
    assert laid_out(event, found).parallel_us == 7.0


def test_a_missing_layer_needs_no_conversions() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    bound = laid_out(event, {"Conv": (5.0, 2.0), "Relu": (3.0, 9.0)})
    assert bound.sequential_us == 2.0 + 1.0 + 3.0
    assert [missing.layers for missing in bound.missing] == [(2,)]
    between = laid_out(event, {"Conv": (5.0, 2.0), "TopK": (3.0, 9.0)})
    assert between.sequential_us == 2.0 + 3.0


def test_a_path_waits_only_for_conversions_on_its_way() -> None:
    """The longer branch reads the feature map as it was written, the shorter one converts it."""
    layers = [summary("Conv", name) for name in ("made", "long", "short", "joined")]
    event = model(layers, [(0, 1), (0, 2), (1, 3), (2, 3)])
    found = {"made": (10.0, 90.0), "long": (9.0, 90.0), "short": (90.0, 5.0), "joined": (3.0, 90.0)}
    bound = laid_out(event, found, write_conversion_us=2.0)
    assert bound.sequential_us == 10.0 + 2.0 + 9.0 + 5.0 + 2.0 + 3.0
    assert (bound.parallel_us, bound.critical_path) == (10.0 + 9.0 + 3.0, (0, 1, 3))
    dearer = laid_out(event, found, write_conversion_us=3.0)
    assert (dearer.parallel_us, dearer.critical_path) == (10.0 + 3.0 + 5.0 + 3.0 + 3.0, (0, 2, 3))


def test_a_group_is_not_taken_where_conversions_for_it_take_longer_than_it_saves() -> None:
    layers = [
        summary("Conv", "a"),
        summary("Conv", "b"),
        summary("Relu", "c"),
        summary("Conv", "d"),
    ]
    event = model(layers, groups=[group("bc", (1, 2))])
    found = {"a": (1.0, 90.0), "b": (2.0, 90.0), "c": (1.0, 90.0), "d": (1.0, 90.0)}
    alone = laid_out(event, found)
    fused = laid_out(event, found | {"bc": (90.0, 0.5)}, write_conversion_us=1.5, fusion=True)
    assert alone.sequential_us == fused.sequential_us == 5.0


@given(st.data(), measured_models())
def test_a_bound_that_lacks_layers_never_exceeds_the_one_that_has_them(
    data: st.DataObject, case: Case
) -> None:
    """With fusion, of layers that are in no group: the others, and layers like them, decide which
    groups are taken.
    """
    event, found = case
    fusion = data.draw(st.booleans())
    prints = [event.summaries[use.summary].fingerprint for use in event.layers]
    grouped = {prints[at] for each in event.groups for at in each.layers if fusion}
    lacking = {of for of in prints if of not in grouped and data.draw(st.booleans())}
    less = {of: bests for of, bests in found.items() if of not in lacking}
    partial, whole = (bound_of(event, each, fusion=fusion) for each in (less, found))
    assert figure(partial.sequential_us) <= figure(whole.sequential_us)


@examples(times=3)
@given(measured_models(conversion_is_known=False))
def test_fusion_never_makes_a_whole_bound_larger(case: Case) -> None:
    fused, alone = (bound_of(*case, fusion=fusion) for fusion in (True, False))
    assert figure(fused.sequential_us) <= figure(alone.sequential_us)


@given(measured_models(conversion_is_known=False), st.booleans())
def test_parallel_never_exceeds_sequential(case: Case, fusion: bool) -> None:
    bound = bound_of(*case, fusion=fusion)
    assert figure(bound.parallel_us) <= figure(bound.sequential_us)


def test_what_stands_in_both_layouts_and_minds_neither_is_one_measurement() -> None:
    layers = [summary("Conv", "a"), summary("Relu"), summary("Conv", "b"), summary("Relu")]
    bound = laid_out(
        model([*layers]), {"a": (1.0, 9.0), "b": (9.0, 1.0), "Relu": (1.0, 1.0)}, iqr_us=1.0
    )
    assert bound.sequential_us == 1.0 + 1.0 + 1.0 + 1.0 + 1.0
    assert bound.sequential_spread_us == pytest.approx(math.sqrt(1 + 1 + 2**2))


def test_a_view_of_two_values_is_converted_as_the_larger_one() -> None:
    layers = [summary("Conv", "a"), summary("Conv", "s"), summary("CastLike"), summary("Conv", "b")]
    edges = [(0, 2), (1, 2), (2, 3)]
    found = {"a": (1.0, 90.0), "s": (1.0, 1.0), "b": (90.0, 1.0)}
    assert laid_out(model(layers, edges), found).sequential_us == 3.0 + 1.0


def test_a_view_of_another_shape_wants_channels_first() -> None:
    event = model([summary("Conv"), summary("Reshape"), summary("Relu")])
    found = {"Conv": (5.0, 2.0), "Relu": (1.0, 1.0)}
    assert laid_out(event, found).sequential_us == 2.0 + 1.0 + 1.0
    assert laid_out(event, found | {"Relu": (9.0, 1.0)}).sequential_us == 2.0 + 1.0 + 1.0 + 1.0


def test_what_makes_a_map_of_tokens_reads_them_as_they_are() -> None:
    event = model([summary("Conv", "made"), summary("Concat", "turned"), summary("Conv")])
    found = {"made": (1.0, 90.0), "turned": (4.0, 0.0), "Conv": (9.0, 2.0)}
    assert laid_out(event, found, apart=["turned"]).sequential_us == 1.0 + 0.0 + 2.0
    assert laid_out(event, found, apart=["turned"]).parallel_us == 1.0 + 0.0 + 2.0
    assert laid_out(event, found).sequential_us == 1.0 + 1.0 + 0.0 + 2.0
    back = found | {"Conv": (2.0, 9.0)}
    assert laid_out(event, back, apart=["turned"]).sequential_us == 1.0 + 0.0 + 1.0 + 2.0


def test_views_within_a_group_want_no_layout() -> None:
    layers = [summary(op) for op in ("Conv", "Reshape", "Concat", "Reshape", "Relu")]
    event = model(layers, groups=[group("shuffle", (1, 2, 3))])
    found = {"Conv": (9.0, 1.0), "Concat": (1.0, 9.0), "shuffle": (1.5, 1.5), "Relu": (9.0, 1.0)}
    assert laid_out(event, found).sequential_us == 1.0 + 1.0 + 1.0 + 1.0 + 1.0
    assert laid_out(event, found, fusion=True).sequential_us == 1.0 + 1.5 + 1.0


def test_an_unknown_conversion_takes_as_long_as_its_reader_takes_for_it() -> None:
    event = model([summary("Conv"), summary("Relu")])
    made = [Best(us, 0.0, conversion_us=8.0) for us in (1.0, 1.0, 9.0, math.inf, 1.0)]
    reads = [
        Best(us, 0.0, conversion_us=around, write_conversion_us=written)
        for us, around, written in (
            (1.0, 5.0, 3.0),
            (9.0, 0.0, math.inf),
            (1.0, 5.0, 3.0),
            (math.inf, 0.0, math.inf),
            (9.0, 0.0, math.inf),
        )
    ]
    found = {fingerprint("Conv"): made, fingerprint("Relu"): reads}
    assert bound_of(event, found, fusion=False).sequential_us == 1.0 + 2.0 + 1.0


def test_interleaved_conversions_take_longer() -> None:
    event = model([summary("Conv"), summary("Relu"), summary("TopK")])
    found = {"Conv": (5.0, 2.0), "Relu": (3.0, 9.0), "TopK": (1.0, 1.0)}
    bound = laid_out(event, found)
    assert bound.sequential_us == 7.0
    assert bound.attainable_us == 2.25 + 1.5 + 3.25 + 1.25


def laid_out(
    event: ModelIngested,
    found: Mapping[str, tuple[float, float]],
    accounting: Accounting = "full",
    write_conversion_us: float = 1.0,
    iqr_us: float = 0.0,
    *,
    fusion: bool = False,
    apart: Sequence[str] = (),
) -> BoundUpdated:
    """The bound of layers and groups with these times in either layout. A conversion takes
    `write_conversion_us`, interleaved half as long again; those around a layer take 1 more, or
    nothing more if it is in `apart`.
    """
    bests = {}
    for of, (first, last) in found.items():
        more_us = 0.0 if of in apart else 1.0
        around_us = more_us + (write_conversion_us if math.isfinite(write_conversion_us) else 1.0)
        conversions = (
            0.0 if first == last else around_us,
            1.5 * around_us,
            write_conversion_us,
            1.5 * write_conversion_us,
            float(of in apart),
        )
        bests[fingerprint(of)] = [
            Best(us, iqr_us, us + 0.25, us + 0.5, *conversions)
            for us in (min(first, last), first, last, math.inf, min(first, last))
        ]
    return bound_of(event, bests, accounting, fusion=fusion)


def bound_of(
    event: ModelIngested, found: Bests, accounting: Accounting = "full", *, fusion: bool
) -> BoundUpdated:
    """The bound of layers and groups that were measured so, by fingerprint."""
    catalogue = Catalogue()
    compiled = compile_architecture(event, catalogue)
    measurements = Measurements()
    for of, bests in found.items():
        measurements.add(catalogue.number(of), bests, NOW)
    measurements.reach(len(catalogue))
    plan = cheapest_plans(compiled, accounting, measurements)[fusion]
    return lower_bound(
        compiled,
        accounting,
        plan,
        measurements,
        catalogue,
        None,
        "fp32",
        system_id=system().system_id,
        fusion=fusion,
    )
