"""What is known of PyTorch where it isn't installed."""

import pytest

from benanza.profiling.remedies import Remedies, remedies_of
from benanza.pytorch.options import PyTorchRemedies, configurations


@pytest.fixture
def remedies() -> Remedies:
    found = remedies_of("pytorch")
    assert isinstance(found, PyTorchRemedies)
    return found


def do(remedies: Remedies, *asked: str, on_gpu: bool = True) -> str:
    found = remedies.remedy(*asked, on_gpu=on_gpu)  # type: ignore[arg-type]
    return found.do if found else ""


@pytest.mark.parametrize("on_gpu", [False, True])
def test_each_configuration_has_a_compiled_one_that_is_better(
    remedies: Remedies, *, on_gpu: bool
) -> None:
    better = {
        each.name: remedies.better(each.name, on_gpu=on_gpu)
        for each in configurations(on_gpu=on_gpu)
    }
    names = {name: found.configuration.name if found else None for name, found in better.items()}
    assert names.pop("CUDA graph", "compiled") == "compiled"
    assert names == {
        "eager": "compiled",
        "eager, channels last": "compiled, channels last",
        "compiled": None,
        "compiled, channels last": None,
    }
    assert {found.joins for found in better.values() if found} == {"all but products"}
    between = {name: found.between_calls for name, found in better.items() if found}
    assert between == {name: not on_gpu or name == "CUDA graph" for name in between}


def test_what_is_captured_makes_the_calls_of_eager_mode(remedies: Remedies) -> None:
    same = {each.name: remedies.same_calls(each.name) for each in configurations(on_gpu=True)}
    assert same.pop("CUDA graph") == "eager"
    assert set(same.values()) == {""}


def test_what_to_type_against_lost_time(remedies: Remedies) -> None:
    assert "torch.cuda.graph(graph)" in do(remedies, "between calls", "", "eager")
    assert "torch.compile" in do(remedies, "between calls", "", "eager", on_gpu=False)
    assert "torch.compile" in do(remedies, "more calls", "aten.linear+aten.gelu", "eager")
    assert do(remedies, "more calls", "aten.linear+aten.gelu", "compiled") == ""
    assert "torch.compile" in do(remedies, "more calls", "aten.conv2d+aten.relu", "eager")
    assert "channels_last" in do(remedies, "more calls", "aten.conv2d", "eager")
    assert do(remedies, "more calls", "aten.conv2d", "compiled, channels last") == ""
    assert "torch.compile" in do(remedies, "more calls", "aten.conv1d", "eager")
    assert "torch.compile" in do(remedies, "more calls", "aten.conv2d", "eager", on_gpu=False)


def test_a_slower_call_has_the_remedy_of_its_operator(remedies: Remedies) -> None:
    assert "channels_last" in do(remedies, "slower call", "aten.conv2d", "eager")
    assert do(remedies, "slower call", "aten.conv2d", "eager, channels last") == ""
    attention = "aten.scaled_dot_product_attention"
    assert "sdpa_kernel" in do(remedies, "slower call", attention, "eager")
    assert do(remedies, "slower call", "aten.linear", "eager") == ""
    assert do(remedies, "slower call", "aten.conv1d", "eager") == "", "it has three axes"


def test_only_the_capture_of_what_is_eager_changes_nothing_else(remedies: Remedies) -> None:
    captured = remedies.remedy("between calls", "", "eager", on_gpu=True)
    assert captured is not None
    assert captured.configuration == "CUDA graph"
    other = remedies.remedy("between calls", "", "eager, channels last", on_gpu=True)
    assert other is not None
    assert other.configuration == ""


def test_nothing_is_known_of_other_frameworks() -> None:
    assert remedies_of("nothing") is None
