"""What one GPU predicts of another, of small models."""

from collections.abc import Mapping

import pytest

from benanza.predicting.specification import known_sheets
from benanza_analyzer.limits.ceilings import SystemCeilings
from benanza_schemas.events import LayerMeasured
from benchmarks.predicted.recorded import (
    H100,
    H200,
    V100,
    Recorded,
    compared,
    compared_in_common,
)
from tests.analyzer.events import fingerprint, measured, model, summary

CONV, RELU = summary("Conv", flops=10**6, bytes_moved=10**4, least_flops=10**6), summary("Relu")
BOTH = model((CONV, RELU), name="both")
TWIN = known_sheets()[H200]._replace(name=H100)


def of(times: Mapping[str, float]) -> dict[str, list[LayerMeasured]]:
    return {fingerprint(name): [measured(name, us)] for name, us in times.items()}


def recorded(**layers: Mapping[str, float]) -> Recorded:
    gpus = {"h200": H200, "h100": H100, "v100": V100}
    return Recorded(
        [BOTH],
        {(gpus[name], "fp32"): of(times) for name, times in layers.items()},
        {gpu: SystemCeilings() for gpu in gpus.values()},
        {},
    )


def test_a_twin_is_predicted_to_take_as_long() -> None:
    known = recorded(h200={"Conv": 8.0, "Relu": 2.0}, h100={"Conv": 10.0, "Relu": 10.0})
    (found,) = compared(known, H200, TWIN, "fp32")
    assert found.predicted_us == pytest.approx(10.0)
    assert found.measured_us == 20.0
    assert found.ratio == found.unscaled == pytest.approx(0.5)


def test_models_that_lack_layers_are_left_out() -> None:
    known = recorded(h200={"Conv": 8.0, "Relu": 2.0}, h100={"Conv": 10.5})
    assert compared(known, H200, TWIN, "fp32") == []


def test_what_was_measured_on_both_is_compared() -> None:
    known = recorded(h200={"Conv": 8.5, "Relu": 2.0}, v100={"Conv": 34.0})
    (found,) = compared_in_common(known, H200, TWIN._replace(name=V100))
    assert found.predicted_us == pytest.approx(8.5)
    assert found.measured_us == 34.0
