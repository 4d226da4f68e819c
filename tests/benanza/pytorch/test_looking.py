"""The times of an FX graph's nodes, and where what was put into a graph is found."""

from math import fsum
from typing import Any

import pytest
from onnx import GraphProto

from benanza.pytorch.calls import framework_calls
from benanza_analyzer.answers.inefficiency import inefficiencies
from benanza_runner import nvidia
from tests.benanza.pytorch.tiny import NAME, need_pytorch, tiny_model

need_pytorch()

import torch  # noqa: E402

from benanza.pytorch.export import program  # noqa: E402
from benanza.pytorch.looking import looked_at  # noqa: E402
from benanza.pytorch.models import case  # noqa: E402

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ATEN = torch.ops.aten
BEFORE = "relu_2"
"""A node in the middle of the model, which others are put after."""

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not nvidia.gpu().name, reason="needs an NVIDIA GPU"),
        ],
    ),
]


@pytest.fixture(scope="module", params=DEVICES)
def prepared(request: pytest.FixtureRequest) -> tuple[str, Any, list[Any]]:
    """The device, the model on it, and its inputs."""
    model, inputs = case(NAME, 1)
    return request.param, model.to(request.param), [each.to(request.param) for each in inputs]


@pytest.fixture
def module(prepared: tuple[str, Any, list[Any]]) -> Any:
    """The FX graph, anew for each test."""
    _, model, inputs = prepared
    return program(model, inputs).exported_program.module(check_guards=False)


def test_each_operator_has_its_time(module: Any, prepared: tuple[str, Any, list[Any]]) -> None:
    found = looked_at(module, prepared[2], 5)
    assert len(found.times.samples_us) == 5
    assert fsum(node.median_us for node in found.nodes) <= 1.05 * found.times.median_us
    starts = [node.start_us for node in found.nodes if node.median_us > 0]
    assert starts == sorted(starts), "as in each execution, so the medians"
    convolutions = [node for node in found.nodes if node.op == "aten.conv2d"]
    assert convolutions
    assert all(node.median_us > 0 for node in convolutions)


def copied_to_the_host(graph: Any, value: Any, device: str) -> list[Any]:
    there = graph.call_function(ATEN._to_copy.default, (value,), {"device": torch.device("cpu")})
    return [
        there,
        graph.call_function(ATEN._to_copy.default, (there,), {"device": torch.device(device)}),
    ]


def transposed_twice(graph: Any, value: Any, device: str) -> list[Any]:
    """The second undoes the first."""
    made: list[Any] = []
    for _ in range(2):
        view = graph.call_function(ATEN.transpose.int, (made[-1] if made else value, 2, 3))
        layout = {"memory_format": torch.contiguous_format}
        made.append(graph.call_function(ATEN.clone.default, (view,), layout))
    return made


def padded_and_cut(graph: Any, value: Any, device: str) -> list[Any]:
    """Of the padding nothing is left."""
    padded = graph.call_function(ATEN.constant_pad_nd.default, (value, [0, 1], 0.0))
    cut = graph.call_function(ATEN.slice.Tensor, (padded, 3, 0, -1))
    layout = {"memory_format": torch.contiguous_format}
    return [padded, graph.call_function(ATEN.clone.default, (cut,), layout)]


@pytest.mark.parametrize("defect", [copied_to_the_host, transposed_twice, padded_and_cut])
def test_a_defect_is_found_where_it_is(
    module: Any, prepared: tuple[str, Any, list[Any]], defect: Any
) -> None:
    """What was put in is calls without layers between those of its neighbours."""
    device, _, inputs = prepared
    (before,) = (node for node in module.graph.nodes if node.name == BEFORE)
    after = next(node for node in module.graph.nodes if before in node.all_input_nodes)
    readers = list(before.users)
    with module.graph.inserting_before(after):
        made = defect(module.graph, before, device)
    for reader in readers:
        reader.replace_input_with(before, made[-1])
    module.recompile()

    model = tiny_model()
    looked = looked_at(module, inputs, 5)
    calls = framework_calls(looked.nodes, model.layers, model.origins)
    names = [call.name for call in calls]
    places = [names.index(name) for name in (BEFORE, *(node.name for node in made), after.name)]
    assert places == sorted(places)
    for node in made:
        call = calls[names.index(node.name)]
        assert call.layers == ()
        assert call.median_us > 0
    positions = [at for call in calls for at in call.layers]
    assert sorted(positions) == list(range(len(model.origins)))


@pytest.mark.gpu
@pytest.mark.skipif(not nvidia.gpu().name, reason="needs an NVIDIA GPU")
def test_a_value_that_is_read_by_the_host_is_a_synchronisation() -> None:
    """Between matrix products that take long enough for the host to run ahead."""
    graph = torch.fx.Graph()
    value = matrix = graph.placeholder("x")
    for number in range(6):
        value = graph.call_function(ATEN.mm.default, (value, matrix))
        if number == 2:
            total = graph.call_function(ATEN.sum.default, (value,))
            graph.call_function(ATEN._local_scalar_dense.default, (total,))
    graph.output(value)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)

    looked = looked_at(module, [torch.eye(4096, device="cuda")], 5)
    calls = framework_calls(looked.nodes, GraphProto(), ())
    found = inefficiencies(looked.times, looked.times, calls, [])
    waits = [each for each in found if each.kind == "synchronisation"]
    assert [calls[at].op for each in waits for at in each.calls] == ["aten._local_scalar_dense"]
    assert waits[0].us > 0
