"""What the driver's management library (NVML) says of the GPU that this process measures on."""

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from benanza_runner import nvidia

GRAPHICS_CLOCK_OF_SM, MEMORY_CLOCK = 1, 2
GPU_SENSOR = 0
SLOWDOWN_THRESHOLD = 1
"""Numbers of NVML's `nvmlClockType_t`, `nvmlTemperatureSensors_t`, `nvmlTemperatureThresholds_t`.
"""


class GpuState(NamedTuple):
    """A GPU at one time; what the driver doesn't say is None, as the power of a virtual GPU.

    Clocks are in hertz, power in watts, temperatures in °C. `busy_ratio` is the share of the last
    moment (up to a second) in which the GPU ran something, from 0 to 1. `slowdown_celsius` is the
    temperature at which it slows itself down. `slowed_by` are names of `nvidia.SLOWED_BY`. `joules`
    is what it has taken since its driver was loaded, in steps of a tenth of a second.
    """

    uuid: str
    name: str
    driver: str
    busy_ratio: float | None = None
    sm_hertz: float | None = None
    memory_hertz: float | None = None
    watts: float | None = None
    limit_watts: float | None = None
    celsius: float | None = None
    slowdown_celsius: float | None = None
    slowed_by: tuple[str, ...] | None = None
    joules: float | None = None


ReadState = Callable[[], GpuState | None]
"""Reads the state now; None where there is no GPU."""


def gpu_state() -> GpuState | None:
    """The state of the visible GPU now; None where there is none, or no driver.

    It takes 20 to 30 ms on an H100. Timings beside it stay the same there (docs/results/gpu.md).
    """
    with nvidia.management_library() as (nvml, device):
        if nvml is None:
            return None

        def number(function: str, *arguments: int, unit: float = 1.0) -> float | None:
            # It writes four or eight bytes: on the little-endian hosts of GPUs the same number.
            reading = _read(nvml, function, device, *arguments, into=ctypes.c_ulonglong())
            return None if reading is None else reading.value * unit

        busy = _read(nvml, "GetUtilizationRates", device, into=(ctypes.c_uint * 2)())
        reasons = _read(nvml, "GetCurrentClocksThrottleReasons", device, into=ctypes.c_ulonglong())
        return GpuState(
            uuid=nvidia.uuid_of(nvml, device),
            name=nvidia.name_of(nvml, device),
            driver=nvidia.driver_of(nvml),
            busy_ratio=None if busy is None else busy[0] / 100,
            sm_hertz=number("GetClockInfo", GRAPHICS_CLOCK_OF_SM, unit=1e6),
            memory_hertz=number("GetClockInfo", MEMORY_CLOCK, unit=1e6),
            watts=number("GetPowerUsage", unit=1e-3),
            limit_watts=number("GetEnforcedPowerLimit", unit=1e-3),
            celsius=number("GetTemperature", GPU_SENSOR),
            slowdown_celsius=number("GetTemperatureThreshold", SLOWDOWN_THRESHOLD),
            slowed_by=None if reasons is None else nvidia.slowed_by(reasons.value),
            joules=number("GetTotalEnergyConsumption", unit=1e-3),
        )


def gpu_memory() -> tuple[int, int]:
    """The memory of the visible GPU and what is free of it now, in bytes; zeros where that can't
    be read.
    """
    with nvidia.management_library() as (nvml, device):
        if nvml is None:
            return 0, 0
        # NVML's nvmlMemory_t: total, free, used.
        read = _read(nvml, "GetMemoryInfo", device, into=(ctypes.c_ulonglong * 3)())
        return (read[0], read[1]) if read else (0, 0)


def _read(
    nvml: ctypes.CDLL, function: str, device: ctypes.c_void_p, *arguments: int, into: Any
) -> Any | None:
    """What a function of NVML writes into its last argument; None if it can't, or isn't there."""
    ask = getattr(nvml, f"nvmlDevice{function}", None)
    if ask is None or ask(device, *arguments, ctypes.byref(into)) != 0:
        return None
    return into
