"""What the device's management library (NVML) says while layers are timed. Nothing is set."""

from typing import NamedTuple

import cupy
import pynvml

from benanza_runner import nvidia
from benanza_runner.measuring.throttling import LOWER_CLOCK, HighestClock


class State(NamedTuple):
    """Clocks in MHz, power in watts, temperature in °C."""

    sm_mhz: int
    memory_mhz: int
    watts: float
    celsius: int


class Nvml:
    """CUDA's first GPU; `uuid` tells it from all others.

    Raises `pynvml.NVMLError` or CuPy's `CUDARuntimeError` if there is none.
    """

    def __init__(self) -> None:
        pynvml.nvmlInit()
        bus_id = cupy.cuda.runtime.deviceGetPCIBusId(0)
        self._device = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id)
        self.uuid: str = pynvml.nvmlDeviceGetUUID(self._device)
        self._clock = HighestClock()

    def slowed_by(self) -> tuple[str, ...]:
        """What makes the device run slower than it could, now."""
        reasons = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._device)
        return nvidia.slowed_by(reasons)

    def slowed_at_work_by(self) -> tuple[str, ...]:
        """The same of a device that has just worked; then a lower clock is a reason, too."""
        lower = self._clock.lower(self.state().sm_mhz)
        return self.slowed_by() or ((LOWER_CLOCK,) if lower else ())

    def state(self) -> State:
        """Clocks, power and temperature now."""
        device = self._device
        return State(
            pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM),
            pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_MEM),
            pynvml.nvmlDeviceGetPowerUsage(device) / 1_000,
            pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU),
        )
