"""Exports of PyTorch models."""

import pytest
from onnx import ModelProto

from benanza.pytorch.metadata import NODE, origins_in, properties
from benanza_ingest.extract import extract
from tests.benanza.pytorch.tiny import NAME, exported, need_pytorch

need_pytorch()

from benanza.pytorch.export import export, program  # noqa: E402
from benanza.pytorch.models import case  # noqa: E402

pytestmark = pytest.mark.slow


def test_an_export_holds_no_weights_and_no_stack_traces() -> None:
    content = exported()
    assert len(content) < 100_000
    assert b"torch/nn" not in content
    assert extract(content).batch == 1


def test_each_node_has_the_name_of_an_fx_node_and_nothing_else() -> None:
    names = {node.name for node in program(*case(NAME, 1)).exported_program.graph.nodes}
    model = ModelProto.FromString(exported())
    for node in model.graph.node:
        ((key, origin),) = properties(node).items()
        assert key == NODE
        assert origin in names
    assert len(origins_in(model)) == len(model.graph.node)


def test_the_batch_size_is_that_of_the_inputs() -> None:
    assert extract(export(NAME, 4).SerializeToString()).batch == 4
