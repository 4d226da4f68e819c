"""Defects of the analyzer that was published with the 2020 paper, each shown not to be here."""

from benanza_analyzer.core import Analyzer
from benanza_analyzer.measurements import NOT_MEASURED
from benanza_schemas.events import LayerUse, Missing
from benanza_schemas.vocabulary import CacheState
from tests.analyzer.events import NOW, measured, model, summary, the, variant


def test_a_missing_layer_makes_the_bound_partial_and_not_zero_in_silence() -> None:
    analyzer = Analyzer()
    analyzer.handle(model([summary("Conv", "a"), summary("Conv", "b")]), NOW)
    bound = the(analyzer.handle(measured("a", 2.0), NOW))
    assert bound.missing == (Missing(NOT_MEASURED, (1,)),)
    assert bound.measured == (0,)


def test_a_layer_that_failed_is_missing_and_not_dropped_from_the_total() -> None:
    analyzer = Analyzer()
    analyzer.handle(model([summary("Conv", "a"), summary("Conv", "b")]), NOW)
    analyzer.handle(measured("a", 2.0), NOW)
    failed = variant(None, failure="no memory")
    bound = the(analyzer.handle(measured("b", failed), NOW), fusion=True)
    assert bound.missing == (Missing("lib algo: no memory", (1,)),)


def test_layers_without_names_or_with_equal_ones_do_not_collide() -> None:
    layers = [summary("Conv", "a"), summary("Conv", "b"), summary("Conv", "c")]
    event = model(layers, edges=[(0, 2), (1, 2)])
    assert event.layers == (LayerUse(0, ""), LayerUse(1, ""), LayerUse(2, ""))
    analyzer = Analyzer()
    analyzer.handle(event, NOW)
    for of, time in (("a", 1.0), ("b", 20.0)):
        analyzer.handle(measured(of, time), NOW)
    bound = the(analyzer.handle(measured("c", 300.0), NOW))
    assert (bound.sequential_us, bound.parallel_us) == (321.0, 320.0)
    assert bound.critical_path == (1, 2)


def test_a_layer_is_looked_up_by_identity_without_wild_cards() -> None:
    """A convolution with padding 1 was given the time of a faster one with padding 0."""
    analyzer = Analyzer()
    analyzer.handle(model([summary("Conv", "3x3, padding 1")]), NOW)
    assert analyzer.handle(measured("3x3, padding 0", 1.0), NOW) == []
    bound = the(analyzer.handle(measured("3x3, padding 1", 5.0), NOW))
    assert bound.sequential_us == 5.0


def test_the_bound_is_of_medians_with_a_spread_and_not_of_means_without() -> None:
    analyzer = Analyzer()
    analyzer.handle(model([summary("Conv", "a"), summary("Conv", "a")]), NOW)
    bound = the(analyzer.handle(measured("a", variant(2.0, 0.5)), NOW))
    assert (bound.sequential_us, bound.sequential_spread_us) == (4.0, 1.0)


def test_a_cold_time_does_not_raise_or_enter_the_bound() -> None:
    analyzer = Analyzer()
    analyzer.handle(model([summary("Conv", "a")]), NOW)
    cold_only = analyzer.handle(measured("a", variant(1.0, cache=CacheState.COLD)), NOW)
    assert the(cold_only).missing == (Missing("lib algo: no warm time", (0,)),)
    both = measured("a", variant(1.0, cache=CacheState.COLD), variant(3.0))
    assert the(analyzer.handle(both, NOW)).sequential_us == 3.0
