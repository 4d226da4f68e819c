"""The estimate of what running a model takes."""

import msgspec
import pytest

from benanza_analyzer.bound import lower_bound
from benanza_analyzer.measurements import Best, Measurements
from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import cheapest_plans
from benanza_schemas.events import BoundUpdated, ModelIngested
from tests.analyzer.events import NOW, everywhere, fingerprint, model, summary, system


@pytest.mark.parametrize(
    ("parameters", "cache_bytes", "attainable_us"),
    [(100, 0, 7.0), (100, 9_000, 7.0), (100, 1_600, 7.0), (100, 1_280, 7.5), (100, 800, 9.0)],
)
def test_weights_are_warm_in_a_quarter_of_the_cache_and_cold_where_they_need_half(
    parameters: int, cache_bytes: int, attainable_us: float
) -> None:
    conv = msgspec.structs.replace(summary("Conv"), parameters=parameters)
    bound = attained(model([conv, summary("Relu")]), Best(4.0, 0.0, 5.0, 7.0), cache_bytes)
    assert bound.attainable_us == attainable_us
    assert bound.sequential_us == 5.0


@pytest.mark.parametrize(
    ("interleaved_us", "cold_us", "attainable_us"),
    [(2.5, 2.25, 5.0), (2.5, 2.75, 5.0), (5.0, 4.5, 7.0)],
)
def test_nothing_below_the_bound_is_attainable(
    interleaved_us: float, cold_us: float, attainable_us: float
) -> None:
    """Interleaved times and times with cold weights are differences, and may be too small."""
    conv = msgspec.structs.replace(summary("Conv"), parameters=100)
    event = model([conv, summary("Relu")])
    bound = attained(event, Best(4.0, 0.0, interleaved_us, cold_us), 800)
    assert (bound.sequential_us, bound.attainable_us) == (5.0, attainable_us)


def test_nothing_is_attainable_where_a_layer_was_not_timed_interleaved() -> None:
    event = model([summary("Conv"), summary("Relu")])
    assert attained(event, Best(4.0, 0.0), 0).attainable_us is None
    assert attained(event, Best(4.0, 0.0, 5.0), 0).attainable_us is None


@pytest.mark.parametrize(
    ("conv", "attainable_us"),
    [(Best(40.0, 0.0), 2.0 + 40.15 + 2.0), (Best(40.0, 0.0, 41.0), 2.0 + 41.0 + 2.0)],
)
def test_on_a_gpu_times_that_lack_are_estimated_from_the_warm_time(
    conv: Best, attainable_us: float
) -> None:
    """In fp32, a product with cold weights takes 2 µs longer."""
    product = msgspec.structs.replace(summary("Conv", least_flops=1), parameters=100)
    event = model([product, summary("Relu")])
    bound = attained(event, conv, 800, on_gpu=True)
    assert bound.attainable_us == pytest.approx(attainable_us)
    assert bound.attainable_error_us == pytest.approx(0.2 * 40.0)
    whole = attained(event, Best(40.0, 0.0, 41.0, 42.0), 800, on_gpu=True)
    assert (whole.attainable_us, whole.attainable_error_us) == (44.0, 0.0)
    assert attained(event, conv, 0, on_gpu=True).attainable_us is None


def test_what_starts_nothing_takes_no_longer_in_company() -> None:
    event = model([summary("Conv"), summary("Relu")])
    bound = attained(event, Best(0.05, 0.0), 800, on_gpu=True)
    assert bound.attainable_us == pytest.approx(2.05)


def attained(
    event: ModelIngested, conv: Best, cache_bytes: int, *, on_gpu: bool = False
) -> BoundUpdated:
    catalogue = Catalogue()
    compiled = compile_architecture(event, catalogue)
    measurements = Measurements()
    for of, best in {"Conv": conv, "Relu": Best(1.0, 0.0, 2.0, 2.0)}.items():
        measurements.add(catalogue.number(fingerprint(of)), everywhere(best), NOW)
    plan, _ = cheapest_plans(compiled, "full", measurements)
    return lower_bound(
        compiled,
        "full",
        plan,
        measurements,
        catalogue,
        None,
        "fp32",
        cache_bytes,
        system_id=system().system_id,
        fusion=False,
        on_gpu=on_gpu,
    )
