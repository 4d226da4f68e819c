"""A machine's GPUs, as the driver's management library describes them."""

import ctypes
import subprocess
from pathlib import Path

import pytest

from tests.skipping.programs import need_program

TWO_GPUS = """
#include <stdio.h>
#include <string.h>
enum { NOT_SUPPORTED = 3 };
static long gpus[] = {0, 1};
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return 2;
  *device = &gpus[index];
  return 0;
}
int nvmlDeviceGetUUID(long* device, char* uuid, unsigned size) {
  return snprintf(uuid, size, "GPU-%ld0000000-0000", *device + 1) < 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &gpus[1];
  return strcmp(uuid, "MIG-5/1/0") ? 6 : 0;
}
int nvmlDeviceGetName(long* device, char* name, unsigned size) {
  return snprintf(name, size, "NVIDIA GPU %ld", *device) < 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  return snprintf(version, size, "580.1") < 0;
}
int nvmlDeviceGetUtilizationRates(long* device, unsigned* percent) {
  percent[0] = 50;
  percent[1] = 7;
  return *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetClockInfo(long* device, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : 2619;
  return *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetPowerUsage(long* device, unsigned* milliwatts) {
  *milliwatts = 83919;
  return *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetEnforcedPowerLimit(long* device, unsigned* milliwatts) {
  *milliwatts = 700000;
  return *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetTemperature(long* device, unsigned sensor, unsigned* celsius) {
  *celsius = 51;
  return sensor || *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetTemperatureThreshold(long* device, unsigned threshold, unsigned* celsius) {
  *celsius = 89;
  return threshold != 1 || *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetTotalEnergyConsumption(long* device, unsigned long long* millijoules) {
  *millijoules = 5000000000000ull;
  return *device ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(long* device, unsigned long long* bits) {
  *bits = 0x64 | 0x1;
  return *device ? NOT_SUPPORTED : 0;
}
"""


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A management library that knows two GPUs, of which the second says little of itself."""
    _load(monkeypatch, tmp_path, TWO_GPUS)


@pytest.fixture
def older_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that knows no counter of energy."""
    _load(monkeypatch, tmp_path, TWO_GPUS.replace("TotalEnergyConsumption", "NoSuchThing"))


def _load(monkeypatch: pytest.MonkeyPatch, folder: Path, code: str) -> None:
    need_program("cc")
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(code, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    load = ctypes.CDLL
    named = {"libnvidia-ml.so.1": str(library)}
    monkeypatch.setattr(ctypes, "CDLL", lambda name: load(named.get(name, name)))
