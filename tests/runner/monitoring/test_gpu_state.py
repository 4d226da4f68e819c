"""What is read of a GPU, from a management library that was made up, and from a real one."""

import pytest

from benanza_runner.monitoring.gpu_state import GpuState, gpu_state
from benanza_runner.nvidia import gpu

WHOLE = GpuState(
    uuid="GPU-10000000-0000",
    name="NVIDIA GPU 0",
    driver="580.1",
    busy_ratio=0.5,
    sm_hertz=1.98e9,
    memory_hertz=2.619e9,
    watts=83.919,
    limit_watts=700.0,
    celsius=51.0,
    slowdown_celsius=89.0,
    slowed_by=("power", "heat", "heat by hardware"),
    joules=5e9,
)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("devices", "state"),
    [
        ("0", WHOLE),
        ("GPU-1", WHOLE),
        ("1", GpuState("GPU-20000000-0000", "NVIDIA GPU 1", "580.1")),
        ("2", None),
        ("", None),
    ],
)
def test_it_is_the_gpu_that_is_measured_on_and_what_it_does_not_say_is_nothing(
    monkeypatch: pytest.MonkeyPatch, devices: str, state: GpuState | None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    found = gpu_state()
    if found is None or state is None:
        assert found == state
    else:
        for one, other in zip(found, state, strict=True):
            assert one == (pytest.approx(other) if isinstance(other, float) else other)


def test_an_older_library_lacks_functions(
    monkeypatch: pytest.MonkeyPatch, older_library: None
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    found = gpu_state()
    assert found is not None
    assert (found.joules, found.celsius) == (None, 51.0)


def test_what_is_said_of_this_machine() -> None:
    found = gpu_state()
    assert (found is not None) == bool(gpu().name)
    if found is not None:
        assert found.uuid
        assert found.joules is None or found.joules > 0
        assert found.busy_ratio is None or 0 <= found.busy_ratio <= 1
        assert found.celsius is None or 0 < found.celsius < 120
