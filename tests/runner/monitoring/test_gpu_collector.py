"""The metrics of a GPU: their names, and that what isn't known is absent."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from benanza_backbone.telemetry import REGISTRY
from benanza_runner.monitoring.gpu_collector import GpuCollector, shown_gpu
from benanza_runner.monitoring.gpu_state import GpuState
from tests.runner.monitoring.test_gpu_state import WHOLE

ROOT = Path(__file__).parents[3]

OF_GPU = {"gpu", "kind"}

INTERFACE = {
    "gpu_info": ("gauge", {*OF_GPU, "driver"}),
    "gpu_busy_ratio": ("gauge", OF_GPU),
    "gpu_sm_clock_hertz": ("gauge", OF_GPU),
    "gpu_memory_clock_hertz": ("gauge", OF_GPU),
    "gpu_power_watts": ("gauge", OF_GPU),
    "gpu_power_limit_watts": ("gauge", OF_GPU),
    "gpu_temperature_celsius": ("gauge", OF_GPU),
    "gpu_slowdown_temperature_celsius": ("gauge", OF_GPU),
    "gpu_slowed": ("gauge", {*OF_GPU, "reason"}),
    "gpu_energy_joules": ("counter", OF_GPU),
}


def test_the_metrics_are_those_of_the_interface() -> None:
    described = GpuCollector(lambda: pytest.fail("it was read")).describe()
    found = {each.name: (each.type, set(each._labelnames)) for each in described}
    assert found == {f"benanza_{name}": of for name, of in INTERFACE.items()}
    assert all(each.documentation for each in described)


def _page() -> dict[str, dict[tuple[str, ...], float]]:
    """What `/metrics` says of GPUs: values by the names of metrics and the
    values of labels, which are in the order of their names."""
    families = text_string_to_metric_families(generate_latest(REGISTRY).decode())
    return {
        sample.name.removeprefix("benanza_gpu_"): {
            tuple(other.labels.values()): other.value
            for other in family.samples
            if other.name == sample.name
        }
        for family in families
        if family.name.startswith("benanza_gpu_") and "overhead" not in family.name
        for sample in family.samples
    }


def test_all_that_is_known_is_on_the_page_as_it_is_at_each_scrape() -> None:
    states = iter((WHOLE, WHOLE._replace(watts=690.0, slowed_by=())))
    gpu = WHOLE.uuid, WHOLE.name
    with shown_gpu(lambda: next(states)):
        page, later = _page(), _page()
    assert page == {
        "info": {("580.1", *gpu): 1},
        "busy_ratio": {gpu: 0.5},
        "sm_clock_hertz": {gpu: 1.98e9},
        "memory_clock_hertz": {gpu: 2.619e9},
        "power_watts": {gpu: 83.919},
        "power_limit_watts": {gpu: 700},
        "temperature_celsius": {gpu: 51},
        "slowdown_temperature_celsius": {gpu: 89},
        "slowed": {
            (*gpu, "power"): 1,
            (*gpu, "hardware"): 0,
            (*gpu, "heat"): 1,
            (*gpu, "heat by hardware"): 1,
            (*gpu, "power brake"): 0,
        },
        "energy_joules_total": {gpu: 5e9},
    }
    assert later["power_watts"] == {gpu: 690}
    assert set(later["slowed"].values()) == {0}
    assert _page() == {}


@pytest.fixture
def silent() -> Iterator[GpuState]:
    state = GpuState("GPU-2", "GRID H100-40C", "580.1")
    with shown_gpu(lambda: state):
        yield state


def test_what_a_gpu_does_not_say_is_absent(silent: GpuState) -> None:
    assert _page() == {"info": {(silent.driver, silent.uuid, silent.name): 1}}


def test_a_gpu_that_has_gone_is_absent_and_the_page_is_there() -> None:
    with shown_gpu(lambda: None):
        assert _page() == {}


@pytest.mark.parametrize("name", INTERFACE)
def test_a_metric_is_explained_in_the_documentation(name: str) -> None:
    text = (ROOT / "docs" / "operating.md").read_text("utf-8")
    suffix = "_total" if INTERFACE[name][0] == "counter" else ""
    assert f"`benanza_{name}{suffix}`" in text
