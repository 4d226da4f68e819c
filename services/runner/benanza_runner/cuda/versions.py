"""Versions of the libraries that run the layers, as loaded in this process."""

from importlib.metadata import version
from typing import NamedTuple

import cudnn
import cupy
from nvmath.bindings import cublasLt

PACKAGES = ("cupy-cuda13x", "nvidia-cudnn-frontend", "nvmath-python")


class Versions(NamedTuple):
    """CUDA's runtime, cuDNN, cuBLAS, and the packages that call them."""

    cuda: str
    cudnn: str
    cublas: str
    packages: dict[str, str]


def versions() -> Versions:
    """The versions, decoded: CUDA writes 13.1 as 13010, cuDNN 9.19.0 as 91900, cuBLASLt 13.1.0 as
    130100.
    """
    cuda = cupy.cuda.runtime.runtimeGetVersion()
    dnn, blas = int(cudnn.backend_version()), int(cublasLt.get_version())
    return Versions(
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}",
        cudnn=f"{dnn // 10_000}.{dnn % 10_000 // 100}.{dnn % 100}",
        cublas=f"{blas // 10_000}.{blas % 10_000 // 100}.{blas % 100}",
        packages={name: version(name) for name in PACKAGES},
    )
