"""Libraries offer candidates as the search expects: one made up, and all of those of a GPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benanza_runner.cuda.available import why_unavailable
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.search.instruments import Timer
from tests.runner.cuda.candidate_source_contract import CandidateSourceContract
from tests.runner.cuda.in_numpy.library import NumpyLibrary
from tests.runner.cuda.made_up_device import MadeUpDevice

LIBRARIES = (
    "CudnnGraph",
    "CudnnConvolution",
    "CudnnTransposed",
    "CudnnWindows",
    "CudnnElementwise",
    "CudnnReductions",
    "CudnnRecurrent",
    "CublasLt",
    "CublasLtIntegers",
    "CublasLtWindows",
    "CublasLtPacked",
    "CublasLtQuantised",
    "RowProducts",
    "IntegerProducts",
    "EightBitsOnTensorCores",
    "FewRowsOfEightBits",
    "PackedProducts",
    "PackedOnTensorCores",
    "PackedInFragments",
    "PackedByWarpgroups",
    "PoolingKernels",
    "ChannelNormalisationKernels",
    "MovementKernels",
    "ScatteringKernels",
    "RankingKernels",
    "RegionKernels",
    "TransposedKernels",
    "AttentionKernels",
    "SplitAttention",
    "LatentAttention",
    "LinearAttentionKernels",
    "ProjectedAttentions",
    "ExpertKernels",
)
"""The classes of the GPU's libraries, in the order in which they are asked."""


class TestNumpyLibrary(CandidateSourceContract):
    @pytest.fixture
    def library(self, tmp_path: Path) -> CandidateSource:
        return NumpyLibrary(tmp_path)

    @pytest.fixture
    def memory(self) -> DeviceMemory:
        return DeviceMemory(np)

    @pytest.fixture
    def timer(self) -> Timer:
        return MadeUpDevice()


class LibrariesOfGpu:
    """A runtime's libraries, and the stream on which they start their work."""

    def __init__(self) -> None:
        import cupy

        from benanza_runner.cuda.runtime import CudaRuntime

        runtime = CudaRuntime(plans=4, algorithms=4, interleaved=False)
        self.libraries = {type(each).__name__: each for each in runtime.candidate_sources()}
        self.stream: Any = cupy.cuda.get_current_stream()  # A runtime begins with making its own.
        self.memory = DeviceMemory(cupy)


@pytest.fixture(scope="module")
def gpu() -> LibrariesOfGpu:
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(f"the GPU runtime {reason}")
    return LibrariesOfGpu()


@pytest.mark.gpu
class TestGpuLibraries(CandidateSourceContract):
    @pytest.fixture(params=LIBRARIES)
    def library(self, gpu: LibrariesOfGpu, request: pytest.FixtureRequest) -> CandidateSource:
        gpu.stream.use()
        found: CandidateSource = gpu.libraries[request.param]
        return found

    @pytest.fixture
    def memory(self, gpu: LibrariesOfGpu) -> DeviceMemory:
        return gpu.memory

    @pytest.fixture
    def timer(self, gpu: LibrariesOfGpu) -> Timer:
        from benanza_runner.cuda.timing.graph_timer import GraphTimer

        return GraphTimer(gpu.stream)


@pytest.mark.gpu
def test_every_library_is_tested(gpu: LibrariesOfGpu) -> None:
    """But the one whose candidates start nothing: `lowering/test_in_place.py` is about it; and
    those that need several GPUs: `test_collectives.py` is about them.
    """
    others = {"InPlaceViews", "Nccl", "OneShotCollectives"}
    assert tuple(name for name in gpu.libraries if name not in others) == LIBRARIES
