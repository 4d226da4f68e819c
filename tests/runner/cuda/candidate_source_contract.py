"""What every adapter of `CandidateSource` must do: a suite that each adapter's tests inherit.

Candidates only ever run as replays, as in the runtime: some of cuDNN's algorithms make a process
slow when they are run in another way.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import Reference, random_inputs, reference
from benanza_runner.cuda.search.check import Checked, check
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.cuda.search.instruments import Timer
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.events import MAX_NAME_LENGTH, MAX_REASON_LENGTH, Variant
from benanza_schemas.layer import Precision
from tests.runner.cuda.layers.samples import LAYERS

SAMPLES = (
    "conv",
    "conv of patches",
    "conv + batch norm + residual + relu",
    "transposed conv",
    "gemm",
    "gemm of a row",
    "queries, keys and values",
    "integers",
    "packed product of a row",
    "packed product of a dozen rows",
    "packed product of many rows",
    "quantised conv",
    "quantised matmul",
    "relu",
    "max pool",
    "softmax",
    "local response",
    "concat",
    "split",
    "transpose",
    "shuffle of channels",
    "gather rows",
    "scatter elements",
    "pad",
    "resize nearest half_pixel to 18",
    "arg max",
    "running sum",
    "reduce Mean over space",
    "layer norm",
    "sum and its rms norm",
    "lstm",
    "linear attention of tokens",
    "attention",
    "attention as BERT has it",
    "attention of one query to kept vectors",
    "grouped attention of a prompt",
    "projected attention",
    "experts with swiglu",
    "packed experts of a prompt",
)
"""A layer for each kind of call."""

Name = tuple[str, str, str]


@cache
def expected(name: str, precision: Precision) -> Reference:
    return reference(retyped(LAYERS[name], "fp32"), precision, threads=1)


class CandidateSourceContract(ABC):
    """Subclasses give the `library`, and the memory and the timer of its device."""

    @abstractmethod
    @pytest.fixture
    def library(self) -> CandidateSource:
        """The library under test."""

    @abstractmethod
    @pytest.fixture
    def memory(self) -> DeviceMemory:
        """Where it reads and writes."""

    @abstractmethod
    @pytest.fixture
    def timer(self) -> Timer:
        """Runs its candidates."""

    @pytest.fixture(params=["fp32", "fp16"])
    def precision(self, request: pytest.FixtureRequest) -> Precision:
        found: Precision = request.param
        return found

    def workspace(self, name: str, precision: Precision, memory: DeviceMemory) -> Workspace:
        layer = retyped(LAYERS[name], "fp32")
        return Workspace(lower(layer, random_inputs(layer, precision)), precision, memory)

    def offered(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory
    ) -> Iterator[tuple[str, Workspace, list[Candidate | Variant]]]:
        """What the library offers for each sample."""
        for name in SAMPLES:
            workspace = self.workspace(name, precision, memory)
            yield name, workspace, list(library.candidates(workspace))

    def test_it_knows_some_calls_and_offers_nothing_for_others(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory
    ) -> None:
        counts = {len(found) for _, _, found in self.offered(library, precision, memory)}
        assert 0 in counts
        assert max(counts) > 0 or precision == "fp32", "some only have kernels for 16 bits"

    def test_all_that_it_offers_bears_its_name(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory
    ) -> None:
        for _, _, found in self.offered(library, precision, memory):
            assert {each.library for each in found} <= {library.library}

    def test_names_and_reasons_fit_into_an_event(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory
    ) -> None:
        for _, _, found in self.offered(library, precision, memory):
            for each in found:
                assert 0 < len(each.algorithm) <= MAX_NAME_LENGTH
                assert "\n" not in each.algorithm + each.layout
                if isinstance(each, Variant):
                    assert 0 < len(each.failure) <= MAX_REASON_LENGTH

    def test_asked_again_it_offers_the_same(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory
    ) -> None:
        """A bound's variant is found by its name when the model is run later."""
        for (_, _, first), (_, _, again) in zip(
            self.offered(library, precision, memory),
            self.offered(library, precision, memory),
            strict=True,
        ):
            assert list(map(_name, first)) == list(map(_name, again))

    def test_offering_runs_nothing(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory
    ) -> None:
        """Only a candidate's `run` may write its result."""
        for _, workspace, found in self.offered(library, precision, memory):
            candidates = [each for each in found if isinstance(each, Candidate)]
            for candidate in candidates:
                candidate.result.poison()
            list(library.candidates(workspace))
            assert all(map(_is_poisoned, candidates))

    def test_what_runs_is_right_each_time_or_says_why_not(
        self, library: CandidateSource, precision: Precision, memory: DeviceMemory, timer: Timer
    ) -> None:
        """A candidate is prepared before the next is asked for, as the search does."""
        guard = Guard(None, 60, lambda: None)
        right = 0
        for name in SAMPLES:
            workspace = self.workspace(name, precision, memory)
            outputs = [memory.floats(each) for each in expected(name, precision).outputs]
            for offered in library.candidates(workspace):
                if isinstance(offered, Variant):
                    continue
                first = check(offered, workspace, outputs, name, timer, guard)
                if not isinstance(first, Checked):
                    continue
                right += 1
                assert 0 <= first.scratch_bytes <= MAX_SCRATCH_BYTES
                assert (first.scratch is None) == (first.scratch_bytes == 0)
                again = check(offered, workspace, outputs, name, timer, guard)
                assert isinstance(again, Checked), again
        assert right or precision == "fp32", "some libraries only have Tensor Cores"


def _name(offered: Candidate | Variant) -> Name:
    return offered.library, offered.algorithm, offered.layout


def _is_poisoned(candidate: Candidate) -> bool:
    return bool((candidate.result.array.reshape(-1).view(np.uint8) == 0xFF).all())
