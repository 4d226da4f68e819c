"""The NVIDIA GPU that this process measures on, its driver, and the CUDA libraries it has loaded.

It is the GPU that `CUDA_VISIBLE_DEVICES` names first, which is CUDA's first GPU. A machine with
several GPUs has a runner for each.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

MAPS = Path("/proc/self/maps")
NAME_BYTES = 96

SLOWED_BY = {
    0x04: "power",
    0x08: "hardware",
    0x20: "heat",
    0x40: "heat by hardware",
    0x80: "power brake",
}
"""What makes a GPU run slower than it could, by NVML's bits (`nvmlClocksThrottleReason…`)."""


class Gpu(NamedTuple):
    """The GPU's name, and versions. What isn't known is an empty string."""

    name: str = ""
    driver: str = ""
    cuda: str = ""
    cudnn: str = ""
    cublas: str = ""


NO_GPU = Gpu()


def gpu() -> Gpu:
    """The GPU, as the driver's management library (NVML) names it.

    Versions are those of the libraries that this process has loaded. ONNX Runtime loads CUDA's when
    it makes its first session on the GPU.
    """
    name = driver = ""
    with management_library() as (nvml, device):
        if nvml is not None:
            name, driver = name_of(nvml, device), driver_of(nvml)
    return Gpu(name, driver, _cuda_version(), _cudnn_version(), _cublas_version())


def visible() -> str:
    """What names CUDA's first GPU; empty if CUDA is to see none.

    It is a number in the order of the PCI bus, the beginning of a UUID, or the UUID of a part of a
    GPU (`MIG-…`).

    Source: CUDA Programming Guide, environment variables.
    """
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    return "" if first.startswith("-") else first


def visible_gpus() -> tuple[str, ...]:
    """What names each GPU that CUDA is to see, as `visible` does; empty where there is no GPU.

    CUDA ignores what comes after a number that names none. Parts of a GPU are known only where
    `CUDA_VISIBLE_DEVICES` names them.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        names = (name.strip() for name in named.split(","))
        known = takewhile(lambda name: name and not name.startswith("-"), names)
        return tuple(dict.fromkeys(known))
    count = ctypes.c_uint()
    with management_library() as (nvml, _):
        if nvml is not None:
            nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    return tuple(map(str, range(count.value)))


def slowed_by(bits: int) -> tuple[str, ...]:
    """What NVML's bits say makes a GPU run slower than it could."""
    return tuple(name for bit, name in SLOWED_BY.items() if bits & bit)


@contextmanager
def management_library() -> Iterator[tuple[ctypes.CDLL | None, ctypes.c_void_p]]:
    """The management library, and its handle of the GPU. The library is None if there is no GPU."""
    device = ctypes.c_void_p()
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        yield None, device
        return
    if nvml.nvmlInit_v2() != 0:
        yield None, device
        return
    try:
        yield (nvml if _found(nvml, device) else None), device
    finally:
        nvml.nvmlShutdown()


def _found(nvml: ctypes.CDLL, device: ctypes.c_void_p) -> bool:
    """Makes `device` the handle of the visible GPU. Returns whether there is one."""
    wanted = visible()
    if wanted.isdecimal():
        return bool(nvml.nvmlDeviceGetHandleByIndex_v2(int(wanted), ctypes.byref(device)) == 0)
    if wanted.startswith("MIG-"):
        return bool(nvml.nvmlDeviceGetHandleByUUID(wanted.encode(), ctypes.byref(device)) == 0)
    count = ctypes.c_uint()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value if wanted else 0):
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device))
        if uuid_of(nvml, device).startswith(wanted):
            return True
    return False


def uuid_of(nvml: ctypes.CDLL, device: ctypes.c_void_p) -> str:
    """What tells the GPU, or the part of one, from all others."""
    uuid = ctypes.create_string_buffer(NAME_BYTES)
    nvml.nvmlDeviceGetUUID(device, uuid, NAME_BYTES)
    return uuid.value.decode()


def name_of(nvml: ctypes.CDLL, device: ctypes.c_void_p) -> str:
    """What GPUs of its kind are called."""
    name = ctypes.create_string_buffer(NAME_BYTES)
    nvml.nvmlDeviceGetName(device, name, NAME_BYTES)
    return name.value.decode()


def driver_of(nvml: ctypes.CDLL) -> str:
    """The driver's version."""
    driver = ctypes.create_string_buffer(NAME_BYTES)
    nvml.nvmlSystemGetDriverVersion(driver, NAME_BYTES)
    return driver.value.decode()


def loaded_library(prefix: str) -> ctypes.CDLL | None:
    """The library of this process whose file name starts with `prefix`, or None."""
    paths = _loaded_paths(prefix)
    return ctypes.CDLL(str(paths[0])) if paths else None


def mixed_cudnn() -> str:
    """What is wrong if cuDNN's libraries, which load each other by name as they are needed, come
    from several installations; empty if they don't. One refuses another of another version
    (`CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH`).

    Source: https://docs.nvidia.com/deeplearning/cudnn/latest/api/overview.html.
    """
    folders = dict.fromkeys(path.parent for path in _loaded_paths("libcudnn"))
    if len(folders) < 2:
        return ""
    listed = " and ".join(map(str, folders))
    return f"cuDNN is loaded from {listed}: leave one, and take the others out of LD_LIBRARY_PATH"


def _loaded_paths(prefix: str) -> list[Path]:
    lines = MAPS.read_text(encoding="utf-8").splitlines()
    paths = dict.fromkeys(Path(line.split(maxsplit=5)[-1]) for line in lines)
    return [path for path in paths if path.name.startswith(prefix)]


def _cuda_version() -> str:
    """CUDA writes 13.1 as 13010."""
    library = loaded_library("libcudart.so")
    number = ctypes.c_int()
    if library is None or library.cudaRuntimeGetVersion(ctypes.byref(number)) != 0:
        return ""
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def _cudnn_version() -> str:
    """cuDNN 9 writes 9.19.0 as 91900."""
    library = loaded_library("libcudnn.so")
    if library is None:
        return ""
    library.cudnnGetVersion.restype = ctypes.c_size_t
    number = int(library.cudnnGetVersion())
    return f"{number // 10_000}.{number % 10_000 // 100}.{number % 100}"


def _cublas_version() -> str:
    library = loaded_library("libcublas.so")
    if library is None:
        return ""
    parts = []
    for property_type in range(3):
        number = ctypes.c_int()
        library.cublasGetProperty(property_type, ctypes.byref(number))
        parts.append(str(number.value))
    return ".".join(parts)
