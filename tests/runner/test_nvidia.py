"""The GPU, where there is one."""

import ctypes
import math
import subprocess
from pathlib import Path

import pytest

from benanza_runner import nvidia
from benanza_runner.nvidia import NO_GPU, busy_ratio, gpu, visible, visible_gpus
from tests.skipping.programs import need_program


def test_nothing_is_known_without_a_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 42    /lib/libc.so.6\n7f02-7f03 rw-p 0 00:00 0\n"
    )
    monkeypatch.setattr(nvidia, "MAPS", maps)
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert gpu() == NO_GPU


def test_what_it_says_of_this_machine() -> None:
    found = gpu()
    assert bool(found.name) == bool(found.driver)
    assert all(text == text.strip() for text in found)


def test_how_busy_it_is() -> None:
    ratio = busy_ratio()
    assert 0 <= ratio <= 1 if gpu().name else math.isnan(ratio)


TWO_GPUS = """
#include <stdio.h>
#include <string.h>
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
  percent[0] = 50 * (unsigned)*device;
  return 0;
}
"""


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A management library that knows two GPUs."""
    need_program("cc")
    source, library = tmp_path / "nvml.c", tmp_path / "libnvidia-ml.so.1"
    source.write_text(TWO_GPUS, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    load = ctypes.CDLL
    named = {"libnvidia-ml.so.1": str(library)}
    monkeypatch.setattr(ctypes, "CDLL", lambda name: load(named.get(name, name)))


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("devices", "name", "busy"),
    [
        (None, "NVIDIA GPU 0", 0.0),
        ("0", "NVIDIA GPU 0", 0.0),
        ("1", "NVIDIA GPU 1", 0.5),
        ("1,0", "NVIDIA GPU 1", 0.5),
        ("GPU-2", "NVIDIA GPU 1", 0.5),
        ("GPU-10000000-0000", "NVIDIA GPU 0", 0.0),
        ("MIG-5/1/0", "NVIDIA GPU 1", 0.5),
        ("MIG-6", "", math.nan),
        ("2", "", math.nan),
        ("GPU-3", "", math.nan),
        ("-1", "", math.nan),
        ("", "", math.nan),
    ],
)
def test_it_is_the_gpu_that_cuda_counts_first(
    monkeypatch: pytest.MonkeyPatch, devices: str | None, name: str, busy: float
) -> None:
    if devices is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    assert gpu().name == name
    assert busy_ratio() == pytest.approx(busy, nan_ok=True)
    assert bool(visible()) == (devices not in ("", "-1"))


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("devices", "gpus"),
    [
        (None, ("0", "1")),
        ("1", ("1",)),
        ("1, 0,1", ("1", "0")),
        ("GPU-2,MIG-5/1/0", ("GPU-2", "MIG-5/1/0")),
        ("0,-1,1", ("0",)),
        ("", ()),
    ],
)
def test_every_gpu_that_cuda_sees_is_named(
    monkeypatch: pytest.MonkeyPatch, devices: str | None, gpus: tuple[str, ...]
) -> None:
    if devices is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    assert visible_gpus() == gpus
