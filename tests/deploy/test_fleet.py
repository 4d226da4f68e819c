"""The dashboard of GPUs, over a day of five of them: every query finds something, and the right.

One of the H200s takes longer for everything in the last two hours.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from benanza_runner.monitoring.gpu_collector import GpuCollector
from benanza_runner.monitoring.gpu_state import GpuState
from tests.deploy.dashboards import DASHBOARDS, promql_of
from tests.deploy.metrics import known
from tests.deploy.prometheus_server import ask, prometheus_over

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("promtool", "prometheus")]

STEP_S = 300
STEPS = 26 * 12
SLOW_STEPS = 2 * 12
KINDS = {"a": "H200", "b": "H200", "c": "H200", "d": "H100", "e": "H100"}
SLOW = "c"

HOUR_S = 3600.0
WATTS = 200.0


class Sample(NamedTuple):
    """A value of a metric with these labels."""

    name: str
    labels: Mapping[str, str]
    value: float


def _samples(step: int) -> Iterator[Sample]:
    """All that Prometheus has of the fleet at a step, from 0."""
    yield Sample("ALERTS", {"alertname": "BenanzaGpuHot", "alertstate": "firing"}, 1)
    for runner, kind in KINDS.items():
        slow = runner == SLOW and step >= STEPS - SLOW_STEPS
        gpu = {"gpu": f"GPU-{runner}", "kind": kind}
        of = {"job": "runner-gpu", "instance": f"{runner}:9464"}
        state = GpuState(
            uuid=gpu["gpu"],
            name=kind,
            driver="580.1",
            busy_ratio=0.6,
            sm_hertz=1.4e9 if slow else 1.98e9,
            memory_hertz=2.6e9,
            watts=WATTS,
            limit_watts=700,
            celsius=51,
            slowdown_celsius=89,
            slowed_by=("heat",) if slow else (),
            joules=1e6 + WATTS * STEP_S * step,
        )
        for family in GpuCollector(lambda state=state: state).collect():  # type: ignore[misc]
            for sample in family.samples:
                yield Sample(sample.name, {**sample.labels, **of}, sample.value)
        jobs = step * 10
        for name, labels, value in (
            ("gpu_launch_overhead_seconds", gpu, 0.78e-6 if slow else 0.6e-6),
            ("jobs_total", {"outcome": "measured"}, jobs),
            ("jobs_slowed_total", {"reason": "heat"}, step if slow else 0),
            ("records_consumed_total", {"topic": "jobs"}, jobs),
            ("consumer_lag_records", {"topic": "jobs", "partition": "1", "group": "x"}, 600),
            # All runners of a kind have it at a second precision.
            ("consumer_lag_records", {"topic": "jobs", "partition": "1", "group": "y"}, 0),
        ):
            yield Sample(f"benanza_{name}", {**labels, **of}, value)


def _line(sample: Sample, at: float) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{labels}}} {sample.value} {at}\n"


class Fleet(NamedTuple):
    """A Prometheus, and the time of its last samples."""

    address: str
    at: int

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The series that a query finds."""
        found = ask(self.address, "query", query=promql_of(query), time=self.at)
        assert found is not None, query
        series: list[dict[str, Any]] = found["result"]
        return series

    def values(self, panel: str, by: str, number: int = 0) -> dict[str, float]:
        """What a panel's query shows, by a label."""
        (wanted,) = (each for each in PANELS if each["title"] == panel)
        found = self.ask(wanted["targets"][number]["expr"])
        return {series["metric"][by]: float(series["value"][1]) for series in found}


PANELS = [panel for panel in DASHBOARDS["fleet"]["panels"] if panel["type"] != "row"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("prometheus")
    last = int(time.time()) - 60
    names = {*known(), "ALERTS"}
    with (folder / "fleet.txt").open("w") as file:
        for step in range(STEPS):
            for sample in _samples(step):
                assert sample.name in names
                file.write(_line(sample, last - STEP_S * (STEPS - 1 - step)))
        file.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "fleet.txt", "data"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with prometheus_over(folder, {"scrape_configs": []}) as address:
        deadline = time.monotonic() + 30
        while ask(address, "query", query="up") is None:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield Fleet(address, last)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: str(panel["title"]))
def test_every_query_finds_something(fleet: Fleet, panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        assert fleet.ask(target["expr"]), target["expr"]


@pytest.mark.parametrize("variable", ["kind", "gpu"])
def test_what_can_be_chosen_is_a_label(fleet: Fleet, variable: str) -> None:
    (info,) = {sample.name for sample in _samples(0) if sample.name.endswith("_info")}
    (found,) = (
        each for each in DASHBOARDS["fleet"]["templating"]["list"] if each["name"] == variable
    )
    assert found["definition"].startswith(f"label_values({info}")
    assert found["definition"].endswith(f", {variable})")
    assert all(variable in series["metric"] for series in fleet.ask(info))


def test_a_gpu_that_drifts_is_told_from_its_history_and_from_its_kind(fleet: Fleet) -> None:
    slow = f"GPU-{SLOW}"
    history = fleet.values("Beside its own history", "gpu")
    kind = fleet.values("Beside its kind", "gpu")
    assert history[slow] == pytest.approx(1.3)
    assert kind[slow] == pytest.approx(1.3)
    assert {v for gpu, v in (*history.items(), *kind.items()) if gpu != slow} == {1.0}
    assert fleet.values("Slowed down", "gpu") == {slow: 1.0}
    assert fleet.values("Doubtful measurements", "gpu")[slow] == pytest.approx(0.1)


def test_what_is_left_and_how_long_it_takes_is_that_of_a_kind(fleet: Fleet) -> None:
    a_second = 10 / STEP_S
    assert fleet.values("Jobs left", "kind") == {"H200": 1800, "H100": 1200}
    assert fleet.values("GPUs", "kind") == {"H200": 3, "H100": 2}
    for number, panel in enumerate(("Time to completion", "Jobs left and time to completion")):
        assert fleet.values(panel, "kind", number) == {
            "H200": pytest.approx(600 / a_second),
            "H100": pytest.approx(600 / a_second),
        }


def test_a_layer_takes_what_the_gpu_took_for_each(fleet: Fleet) -> None:
    joules = fleet.values("Energy of a layer", "gpu")
    assert set(joules) == {f"GPU-{runner}" for runner in KINDS}
    assert all(each == pytest.approx(WATTS * STEP_S / 10) for each in joules.values())
    done = fleet.values("Jobs done", "gpu")
    assert all(each == pytest.approx(10 * HOUR_S / STEP_S) for each in done.values())
