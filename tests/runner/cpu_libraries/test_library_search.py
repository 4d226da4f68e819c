"""Candidates of made-up libraries are checked and timed, and cost nothing but themselves."""

import time
from math import inf
from pathlib import Path

import pytest

from benanza_runner.cpu_libraries import library_search
from benanza_runner.cpu_libraries.cpu_library import Borders, CpuWork
from benanza_runner.cpu_libraries.library_search import Found, LibrarySearch, Rules
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.measuring.busy import Load
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.layer import Layer
from benanza_schemas.vocabulary import StoppedBy
from tests.runner.cpu_libraries.made_up_library import MadeUpLibrary
from tests.runner.layers import conv, relu

FEW = Rule(warm_up_us=0, samples=2, least_us=0, few_samples=2, cap_us=10, max_samples=2)
MAP = (1, 64, 8, 8)
RELU = relu(64)


def quiet() -> Load:
    return Load(0.0, 1, 0.0, 0.0, 0.0, {})


def found(
    *libraries: MadeUpLibrary,
    layer: Layer = RELU,
    fastest_us: float = inf,
    spent_s: float = 0.0,
) -> dict[str, Found]:
    search = LibrarySearch(libraries, Rules(FEW, FEW), Guard(None, 60, lambda: None), quiet, 60.0)
    work = CpuWork(layer, layer_model(layer), "fp32", 1, Borders("NCHW", (MAP,), (MAP,)))
    began_s = time.monotonic() - spent_s
    return {
        each.variant.algorithm: each for each in search.found(work, layer, "a", fastest_us, began_s)
    }


def test_the_close_ones_are_timed_in_full_as_often_as_they_may_be_copied() -> None:
    library = MadeUpLibrary({"slow": 400.0, "fast": 100.0, "faster": 90.0, "slowest": 4_000.0})
    stopped_by = {way: one.variant.stopped_by for way, one in found(library).items()}
    assert stopped_by["slow"] == StoppedBy.SCREENED
    assert stopped_by["slowest"] == StoppedBy.PRUNED
    assert stopped_by["fast"].in_full
    assert stopped_by["faster"].in_full
    assert library.opened[-2:] == [("fast", 3), ("faster", 4)]


def test_what_a_call_takes_without_work_is_none_of_the_layers() -> None:
    one = found(MadeUpLibrary({"right": 20.0}))["right"].variant
    assert one.median_us == pytest.approx(20.0)
    assert (one.library, one.layout) == ("made up", "NCHW")


def test_what_is_slower_than_onnx_runtime_is_not_timed_in_full() -> None:
    one = found(MadeUpLibrary({"right": 20.0}), fastest_us=5.0)["right"].variant
    assert one.stopped_by == StoppedBy.SCREENED


def test_each_failure_is_stored_with_its_reason() -> None:
    library = MadeUpLibrary({"wrong": 1.0, "fails": 1.0, "right": 1.0})
    failures = {way: one.variant.failure for way, one in found(library).items()}
    assert failures["wrong"].startswith("wrong result: it is off by ")
    assert failures["fails"] == "out of luck"
    assert failures["right"] == ""


def test_none_is_begun_that_has_less_than_its_share_of_the_layers_time() -> None:
    """It would be running when the layer's time is over, and never be tried again."""
    library = MadeUpLibrary({"right": 20.0})
    assert found(library, spent_s=39.0)["right"].variant.median_us
    library.opened.clear()
    one = found(library, spent_s=41.0)["Relu"].variant
    assert one.failure.startswith("not tried: the layer had taken 41 s of 60 s; raise ")
    assert not library.opened


def test_one_library_does_not_cost_another() -> None:
    class Broken(MadeUpLibrary):
        library = "broken"

        def candidates(self, work: CpuWork) -> None:  # type: ignore[override]
            raise ValueError("not today")

    both = found(Broken({}), MadeUpLibrary({"right": 1.0}))
    assert both["Relu"].variant.failure == "not today"
    assert both["right"].variant.failure == ""


def test_a_result_that_can_not_be_checked_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no kernel")

    monkeypatch.setattr(library_search, "reference", refuse)
    (one,) = found(MadeUpLibrary({"right": 1.0})).values()
    assert one.variant.failure == "its result can't be checked: ONNX Runtime: no kernel"


def test_the_fastest_of_all_libraries_is_the_layers_time() -> None:
    runtime = OnnxRuntime(threads=1, libraries=(MadeUpLibrary({"right": 1e-6}),))
    assert runtime.system().libraries["made up"] == "1.2"
    own, other = runtime.measure(relu(1 << 12), "fp32").variants
    assert own.library == "onnxruntime-cpu"
    assert other.library == "made up"
    assert other.median_us is not None
    assert own.median_us is not None
    assert other.median_us < own.median_us
    refused = runtime.measure(conv(16, 8), "fp32").variants[-1]
    assert (refused.library, refused.failure) == ("made up", "made up for Relus")


def test_a_library_converts_feature_maps_where_onnx_runtime_would() -> None:
    """Its own form with feature maps as ONNX has them is in the same place."""
    library = MadeUpLibrary({"right": 1.0})
    runtime = OnnxRuntime(threads=1, libraries=(library,))
    layer = relu(64)
    own, other = runtime.measure(layer, "fp32").variants
    assert (other.layout, other.layout_change_us) == (own.layout, own.layout_change_us)
    assert other.write_change_us == own.write_change_us


def test_a_library_runs_what_onnx_runtime_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no kernel")

    monkeypatch.setattr("benanza_runner.onnxruntime.runtime.forms_of", refuse)
    runtime = OnnxRuntime(threads=1, libraries=(MadeUpLibrary({"right": 1.0}),))
    other, own = runtime.measure(relu(64), "fp32").variants
    assert other.median_us == pytest.approx(1.0)
    assert own.failure == "ONNX Runtime: no kernel"
    alone = OnnxRuntime(threads=1, libraries=()).measure(relu(64), "fp32")
    assert (alone.failure, alone.variants) == ("ONNX Runtime: no kernel", ())


@pytest.mark.integration
def test_what_ends_the_process_costs_only_itself(tmp_path: Path) -> None:
    name = f"{MadeUpLibrary.__module__}:CrashingRuntime"
    limits = WorkerLimits(tries=3)
    with IsolatedRuntime(name, {"journal": str(tmp_path / "journal")}, limits) as runtime:
        outcome = runtime.measure(relu(64), "fp32")
        again = runtime.measure(relu(64), "fp32")
    assert (outcome.environment["attempts"], again.environment["attempts"]) == ("2", "1")
    for each in (outcome, again):
        ways = {variant.algorithm: variant for variant in each.variants}
        assert "ended the process" in ways["ends the process"].failure
        assert all(ways[way].median_us for way in ("Relu", "right"))
