"""What every adapter of `CpuLibrary` must do: a suite that each adapter's tests inherit."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np
import pytest

from benanza_runner.cpu_libraries.check import given_as_known, why_wrong
from benanza_runner.cpu_libraries.cpu_library import Borders, CpuCandidate, CpuLibrary, CpuWork
from benanza_runner.cuda.reference import Reference, reference
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnxruntime.blocked import LAYOUT as BLOCKS
from benanza_runner.onnxruntime.blocked import block_size, maps
from benanza_runner.onnxruntime.channels_last import LAYOUT as LAST
from benanza_schemas.events import MAX_NAME_LENGTH, MAX_REASON_LENGTH, Variant
from tests.runner.cuda.layers.samples import LAYERS

SAMPLES = (
    "conv",
    "conv + batch norm + residual + relu",
    "gemm",
    "quantised conv",
    "relu",
    "max pool",
    "softmax",
    "concat",
    "layer norm",
    "arg max",
    "experts with swiglu",
)
"""Layers of several kinds; no library knows all of them."""

ROUNDS = 4
"""Another program may hold the processor during any of them."""

LAYOUTS = ("", "NCHW", BLOCKS, LAST)


def work_of(name: str) -> tuple[CpuWork, Reference]:
    """A sample in float32 on one thread, and what it should result in."""
    layer = retyped(LAYERS[name], "fp32")
    known = reference(layer, "fp32", threads=1)
    model = given_as_known(layer_model(layer), known)
    reads, writes = (
        tuple(maps(infos).values()) for infos in (model.proto.graph.input, model.proto.graph.output)
    )
    return CpuWork(layer, model, "fp32", 1, Borders("NCHW", reads, writes)), known


class Sample(NamedTuple):
    """A layer, what it should result in, and what a library offers for it."""

    work: CpuWork
    known: Reference
    found: list[CpuCandidate | Variant]


_OFFERED: dict[str, dict[str, Sample]] = {}


def offered_by(library: CpuLibrary) -> dict[str, Sample]:
    """What the library offers for each sample; each is asked once, which takes a while."""
    if library.library not in _OFFERED:
        works = {name: work_of(name) for name in SAMPLES}
        _OFFERED[library.library] = {
            name: Sample(work, known, list(library.candidates(work)))
            for name, (work, known) in works.items()
        }
    return _OFFERED[library.library]


class CpuLibraryContract(ABC):
    """Subclasses give the `library`, the same one to each test."""

    @abstractmethod
    @pytest.fixture
    def library(self) -> CpuLibrary:
        """The library under test."""

    @pytest.fixture
    def offered(self, library: CpuLibrary) -> dict[str, Sample]:
        return offered_by(library)

    def test_it_knows_some_layers_and_not_others(self, offered: dict[str, Sample]) -> None:
        runs = [any(isinstance(x, CpuCandidate) for x in some) for *_, some in offered.values()]
        assert {*runs} == {True, False}

    def test_names_and_reasons_fit_into_an_event(
        self, library: CpuLibrary, offered: dict[str, Sample]
    ) -> None:
        found = [each for sample in offered.values() for each in sample.found]
        assert {each.library for each in found} == {library.library}
        assert library.version
        for each in found:
            assert 0 < len(each.algorithm) <= MAX_NAME_LENGTH
            assert "\n" not in each.algorithm
            if isinstance(each, Variant):
                assert 0 < len(each.failure) <= MAX_REASON_LENGTH

    def test_feature_maps_have_a_layout_that_others_can_read(
        self, offered: dict[str, Sample]
    ) -> None:
        for work, _, some in offered.values():
            shapes = {*maps(work.model.proto.graph.input).values()}
            shapes |= {*maps(work.model.proto.graph.output).values()}
            for each in _candidates(some):
                layout, reads, writes = each.borders
                assert layout in LAYOUTS
                assert {*reads, *writes} <= shapes
                assert layout not in (BLOCKS, LAST) or (block_size() and (reads or writes))

    def test_asked_again_it_offers_the_same(
        self,
        library: CpuLibrary,
        offered: dict[str, Sample],
    ) -> None:
        work, _, first = offered["conv"]
        assert [*map(_name, library.candidates(work))] == [*map(_name, first)]

    def test_what_runs_is_right_each_time(self, offered: dict[str, Sample]) -> None:
        right = 0
        for work, known, some in offered.values():
            for candidate in _candidates(some):
                assert candidate.most_copies >= 1
                for copies in {1, min(2, candidate.most_copies)}:
                    with candidate.open(copies) as calls:
                        calls.call()
                        assert calls.call().us > 0
                        results = calls.results()
                    wrong = why_wrong(results, known.outputs, work.layer, work.precision)
                    assert not wrong, (candidate.algorithm, wrong)
                right += 1
        assert right

    def test_more_copies_take_longer(self, offered: dict[str, Sample]) -> None:
        """A library must not see that the copies are the same, and run one of them."""
        _, _, some = offered["gemm"]
        candidate, *_ = _candidates(some)
        copies = min(8, candidate.most_copies)
        least_us = {1: inf, copies: inf}
        for _ in range(ROUNDS):
            for count, us in least_us.items():
                with candidate.open(count) as calls:
                    least_us[count] = min(us, *(calls.call().us for _ in range(20)))
        assert least_us[copies] > least_us[1] * copies / 4

    def test_an_empty_call_takes_little(self, library: CpuLibrary) -> None:
        assert 0 < library.empty_call_us(1) < 1_000

    def test_inputs_are_left_as_they_are(self, offered: dict[str, Sample]) -> None:
        work, _, some = offered["relu"]
        before = {name: array.copy() for name, array in work.model.inputs.items()}
        for candidate in _candidates(some):
            with candidate.open(1) as calls:
                calls.call()
        for name, array in before.items():
            assert np.array_equal(work.model.inputs[name], array)


def _candidates(offered: list[CpuCandidate | Variant]) -> Iterator[CpuCandidate]:
    return (each for each in offered if isinstance(each, CpuCandidate))


def _name(offered: CpuCandidate | Variant) -> tuple[str, str, str]:
    layout = offered.layout if isinstance(offered, Variant) else offered.borders.layout
    return offered.library, offered.algorithm, layout
