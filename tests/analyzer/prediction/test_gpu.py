"""A measured GPU beside one that isn't: by which figures they are compared."""

from msgspec.structs import replace

from benanza_analyzer.limits.ceilings import SystemCeilings
from benanza_analyzer.prediction.error_bars import (
    OTHER_CAPABILITY,
    SAME_CAPABILITY,
    error_bar,
)
from benanza_analyzer.prediction.gpu import GpuSpecification, attained_rates, rates_beside
from benanza_schemas.events import Ceiling
from tests.analyzer.events import ceilings

SHEET = GpuSpecification(
    "one", "data sheet", "9.0", 100, 2e9, 5e12, 60e6, {"fp32": 60e12, "fp16": 900e12}
)
TARGET = SHEET._replace(name="other", multiprocessors=50, clock=1e9, memory=1e12, cache_bytes=6e6)


def measured() -> SystemCeilings:
    known = SystemCeilings()
    event = ceilings(7e12, 800e12, "fp16", cache_bytes=60_000_000)
    rates = Ceiling("memory", "fp32", 4.5e12, 0.0), Ceiling("launches", "fp32", 1e6, 0.0)
    known.add(replace(event, ceilings=(*event.ceilings, *rates)))
    return known


def test_two_data_sheets_are_compared_with_each_other() -> None:
    found = rates_beside(measured(), SHEET, TARGET)
    assert not isinstance(found, str)
    source, target = found
    assert (source.memory, target.memory) == (5e12, 1e12)
    assert source.flops == target.flops == {"fp32": 60e12, "fp16": 900e12}
    assert (source.issue, target.issue) == (200e9, 50e9)


def test_what_a_data_sheet_lacks_follows_from_what_was_measured() -> None:
    found = rates_beside(measured(), SHEET, TARGET)
    assert not isinstance(found, str)
    source, target = found
    assert (source.launch_us, target.launch_us) == (1.0, 1.0)
    assert (source.cache, target.cache) == (7e12, 7e12 / 4)
    known = TARGET._replace(cache_bandwidth=3e12, launch_us=2.0)
    found = rates_beside(measured(), SHEET, known)
    assert not isinstance(found, str)
    assert (found[1].launch_us, found[1].cache) == (2.0, 3e12)


def test_measured_figures_are_compared_with_measured_ones() -> None:
    target = TARGET._replace(figures="measured")
    found = rates_beside(measured(), SHEET, target)
    assert not isinstance(found, str)
    assert found[0].memory == 4.5e12
    assert found[0].flops == {"fp16": 800e12}
    assert rates_beside(measured(), None, target) == (
        found[0]._replace(issue=target.issue),
        found[1]._replace(cache=7e12),
    )


def test_what_can_not_be_compared_says_why() -> None:
    by_sheet = rates_beside(measured(), None, TARGET)
    assert by_sheet == "its data sheet isn't known here; give figures that were measured"
    by_ceilings = rates_beside(SystemCeilings(), SHEET, TARGET._replace(figures="measured"))
    assert by_ceilings == "its ceilings were not measured; give figures of a data sheet"


def test_a_system_without_ceilings_is_compared_by_its_data_sheet() -> None:
    """The cache limits neither of them, as its bandwidth isn't known."""
    found = rates_beside(SystemCeilings(), SHEET, TARGET._replace(launch_us=2.0))
    assert not isinstance(found, str)
    assert [gpu.cache for gpu in found] == [0.0, 0.0]
    assert [gpu.launch_us for gpu in found] == [2.0, 2.0]


def test_the_rates_of_all_precisions() -> None:
    highest, rates = attained_rates(measured())
    assert (highest.bandwidth, highest.memory, highest.launches) == (7e12, 4.5e12, 1e6)
    assert rates == {"fp16": 800e12}


def test_the_bar_is_wider_for_another_capability() -> None:
    assert error_bar(SHEET, TARGET) == SAME_CAPABILITY
    other = TARGET._replace(compute_capability="8.0")
    assert error_bar(SHEET, other) == error_bar(None, TARGET) == OTHER_CAPABILITY
    assert 1 < SAME_CAPABILITY.factor < OTHER_CAPABILITY.factor
