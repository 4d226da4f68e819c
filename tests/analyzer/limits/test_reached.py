"""Whatever ceilings were measured, the speed of light is below the bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_analyzer.core import Analyzer
from benanza_analyzer.limits.speed_of_light import AT_OTHER_CLOCKS
from benanza_schemas.events import Ceiling, ModelIngested
from tests.analyzer.events import NOW, ceilings, measured, model, summary
from tests.analyzer.graphs import all_fingerprints
from tests.analyzer.limits.working_models import working_models

rates = st.floats(1e-3, 1e9)
times = st.floats(0.1, 100.0)


@given(working_models(), rates, rates, rates, rates, st.integers(0, 9), st.data())
def test_no_ceiling_is_below_what_products_reached(
    event: ModelIngested,
    bandwidth: float,
    flops: float,
    memory: float,
    launches: float,
    cache_bytes: int,
    data: st.DataObject,
) -> None:
    known = ceilings(bandwidth, flops)
    known = replace(
        known,
        ceilings=(
            *known.ceilings,
            Ceiling("memory", "fp32", memory, 0.0),
            Ceiling("launches", "fp32", launches, 0.0),
        ),
        cache_bytes=cache_bytes,
    )
    analyzer = Analyzer()
    analyzer.restore(known)
    for of in all_fingerprints(event):
        analyzer.restore(replace(measured("", data.draw(times)), fingerprint=of))
    for bound in analyzer.handle(event, NOW):
        if bound.missing:
            continue
        assert bound.roofline_us is not None
        assert bound.sequential_us is not None
        assert bound.roofline_us * AT_OTHER_CLOCKS <= bound.sequential_us * (1 + 1e-9)


def test_a_product_that_is_faster_than_the_ceiling_raises_it_for_its_model() -> None:
    event = model([summary("Conv", "a", least_flops=20), summary("Conv", "b", least_flops=20)])
    analyzer = Analyzer()
    for known in (ceilings(1e6, 1e6), measured("a", 5.0), measured("b", 40.0)):
        analyzer.restore(known)
    for bound in analyzer.handle(event, NOW):
        assert bound.roofline_us == pytest.approx(40 / 4 / AT_OTHER_CLOCKS)


def test_movement_raises_none() -> None:
    """What starts nothing moves nothing, and takes no time."""
    event = model([summary("Conv", "a", least_flops=20), summary("Concat", "b", bytes_moved=900)])
    analyzer = Analyzer()
    for known in (ceilings(1e6, 1e6), measured("a", 30.0), measured("b", 0.001)):
        analyzer.restore(known)
    for bound in analyzer.handle(event, NOW):
        assert bound.roofline_us == pytest.approx(20 / AT_OTHER_CLOCKS)


def test_what_another_model_was_told_of_a_layer_moves_no_limit() -> None:
    """Versions of ingest find other least operations for the same layer, and old ones none."""
    event = model([summary("Conv", "a", least_flops=40)])
    for least_flops in (0, 20):
        others = [summary("Conv", "a", least_flops=least_flops), summary("Concat", "b")]
        analyzer = Analyzer()
        for known in (ceilings(1e6, 1e6), event, model(others, name="older")):
            analyzer.restore(known)
        for bound in analyzer.handle(measured("a", 10.0), NOW):
            if bound.architecture_id == event.architecture_id:
                assert bound.roofline_us == pytest.approx(10.0 / AT_OTHER_CLOCKS)
