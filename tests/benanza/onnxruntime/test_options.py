"""What is known of ONNX Runtime, on the CPU and on a GPU."""

import pytest

from benanza.onnxruntime.options import (
    ON_CPU,
    ON_GPU,
    OnnxRuntimeRemedies,
    configurations,
    provider_options,
)
from benanza.profiling.remedies import Remedies, Remedy, remedies_of
from benanza_analyzer.answers.kinds import InefficiencyKind


@pytest.fixture
def remedies() -> Remedies:
    found = remedies_of("onnxruntime")
    assert isinstance(found, OnnxRuntimeRemedies)
    return found


def test_the_provider_is_given_its_own_options_only() -> None:
    captured = next(each for each in ON_GPU if each.name == "CUDA graph, channels last")
    assert provider_options(captured.options) == {"prefer_nhwc": "1", "enable_cuda_graph": "1"}
    assert all(provider_options(each.options) == {} for each in ON_CPU)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_better_configurations_are_there_and_lead_to_an_end(
    remedies: Remedies, *, on_gpu: bool
) -> None:
    names = {each.name for each in configurations(on_gpu=on_gpu)}
    for name in names:
        seen = {name}
        at = name
        while found := remedies.better(at, on_gpu=on_gpu):
            at = found.configuration.name
            assert at in names
            assert at not in seen
            seen.add(at)


def test_what_is_captured_makes_the_calls_of_what_is_bound(remedies: Remedies) -> None:
    same = {each.name: remedies.same_calls(each.name) for each in ON_GPU}
    assert {name: of for name, of in same.items() if of} == {
        "CUDA graph": "bound to the GPU",
        "CUDA graph, channels last": "bound to the GPU, channels last",
    }


def test_a_cuda_graph_joins_no_calls(remedies: Remedies) -> None:
    found = remedies.better("default options", on_gpu=True)
    assert found is not None
    assert (found.configuration.name, found.joins) == ("CUDA graph", "nothing")
    assert not found.between_calls
    assert remedies.better("bound to the GPU", on_gpu=True) is None, "a remedy leads there"


def test_what_was_not_optimised_is_to_have_the_default(remedies: Remedies) -> None:
    for on_gpu in (False, True):
        found = remedies.remedy("more calls", "Conv+Relu", "no optimisations", on_gpu=on_gpu)
        assert found == Remedy("set default options")
        better = remedies.better("no optimisations", on_gpu=on_gpu)
        assert better is not None
        assert better.configuration.name == "default options"


def test_one_operator_takes_a_buffer_for_each_state(remedies: Remedies) -> None:
    grouped, joined = (remedies.states_in_place([op]) for op in ("GroupQueryAttention", "Concat"))
    assert grouped is not None
    assert joined is not None
    assert grouped.do.startswith("bind each past and its present to one buffer")
    assert joined.do.startswith("export the model with GroupQueryAttention")
    assert grouped.do in joined.do


def test_copies_of_inputs_and_outputs_have_a_remedy_of_their_own(remedies: Remedies) -> None:
    found = remedies.remedy("conversions and copies", "Memcpy HtoD", "default options", on_gpu=True)
    assert found is not None
    assert "io_binding" in found.do
    assert found.configuration == "bound to the GPU"
    wait = remedies.remedy("synchronisation", "Memcpy DtoH", "default options", on_gpu=True)
    assert wait == found
    kind: InefficiencyKind = "conversions and copies"
    assert remedies.remedy(kind, "Transpose", "CUDA graph", on_gpu=True) is None
    for bound in ("bound to the GPU", "bound to the GPU, channels last", "CUDA graph"):
        assert remedies.remedy(kind, "Memcpy HtoD", bound, on_gpu=True) is None
    assert remedies.remedy(kind, "Memcpy DtoD", "default options", on_gpu=True) is None


def test_only_the_capture_of_what_is_bound_changes_nothing_else(remedies: Remedies) -> None:
    bound = remedies.remedy("between calls", "", "bound to the GPU", on_gpu=True)
    default = remedies.remedy("between calls", "", "default options", on_gpu=True)
    assert bound is not None
    assert default is not None
    assert (bound.configuration, default.configuration) == ("CUDA graph", "")
    assert bound.do == default.do
    assert remedies.remedy("between calls", "", "CUDA graph", on_gpu=True) is None


def test_slow_convolutions_may_be_faster_with_channels_last(remedies: Remedies) -> None:
    found = remedies.remedy("slower call", "FusedConv", "bound to the GPU", on_gpu=True)
    assert found is not None
    assert "prefer_nhwc" in found.do
    last = "bound to the GPU, channels last"
    assert remedies.remedy("slower call", "Conv", last, on_gpu=True) is None
    assert remedies.remedy("slower call", "MatMul", "bound to the GPU", on_gpu=True) is None


def test_a_cpu_has_no_options_of_gpus(remedies: Remedies) -> None:
    found = remedies.remedy("between calls", "", "default options", on_gpu=False)
    assert found is not None
    assert "larger batches" in found.do
    assert remedies.better("default options", on_gpu=False) is None
