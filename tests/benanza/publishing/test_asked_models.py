"""What is published for a model, and the id of the model."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.errors import BenanzaError
from benanza_ingest.core import is_current
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of, ingest_published
from benanza_ingest.reading.zoo import zoo_path
from benanza_schemas.events import CheckpointIngested

LIMITS = Limits()


def product(path: Path, rows: int, *, random_weights: bool = False) -> Path:
    """A model of one matrix product with a batch dimension and `rows` rows of weights: ones, or
    random bytes, which can't be compressed.
    """
    numbers = np.ones((rows, 64), np.float32)
    if random_weights:
        numbers = np.frombuffer(np.random.default_rng(1).bytes(numbers.nbytes), np.float32)
    weight = numpy_helper.from_array(numbers.reshape(rows, 64), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", "length", rows])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", "length", 64])],
        [weight],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("batch_sizes", [(), (1,), (1, 8)])
@pytest.mark.parametrize("model", ["zoo:squeezenet", "product"])
def test_ingest_names_the_event_that_published_a_model(
    tmp_path: Path, model: str, batch_sizes: tuple[int, ...]
) -> None:
    """Or a run would ingest again and again, and not find the bounds of its models."""
    dims = {}
    if model == "product":
        model, dims = str(product(tmp_path / "product.onnx", 16)), {"length": 5}
    request = RunRequest(models=(model,), batch_sizes=batch_sizes, dims=dims)
    found = asked_models(model, request, LIMITS)
    assert len(found) == max(1, len(batch_sizes))
    for asked in found:
        assert asked.event.content is not None
        (checkpoint,) = [
            event
            for event in ingest_published(asked.event, LIMITS)
            if isinstance(event, CheckpointIngested)
        ]
        assert checkpoint.published_id == asked.event.event_id
        assert is_current(checkpoint)
        assert checkpoint.model_id == asked.model_id
    assert len({asked.model_id for asked in found}) == len(found)


def test_another_value_of_an_input_makes_another_model(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[batch,4] x, int64 sr) => (float[N,4] y)'
        " <int64 k = {16}> { c = Equal(sr, k) y = If (c) <then_branch = t () => (float[N,4] a)"
        " { a = Relu(x) }, else_branch = e () => (float[N,4] b) { b = Exp(x) }> }"
    )
    onnx.save(model, tmp_path / "rates.onnx")
    path = str(tmp_path / "rates.onnx")
    ids = set()
    for dims in ({"sr=16": 1}, {"sr=8": 1}, {}):
        (asked,) = asked_models(path, RunRequest(models=(path,), dims=dims), LIMITS)
        events = ingest_published(asked.event, LIMITS)
        (checkpoint,) = [each for each in events if isinstance(each, CheckpointIngested)]
        assert checkpoint.model_id == asked.model_id
        assert checkpoint.dims == dims
        ids |= {asked.model_id, asked.event.event_id}
    assert len(ids) == 6


def test_the_address_is_one_that_another_process_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    product(tmp_path / "product.onnx", 16)
    monkeypatch.chdir(tmp_path)
    request = RunRequest(models=("product.onnx",))
    (found,) = asked_models("product.onnx", request, LIMITS)
    assert found.event.uri == (tmp_path / "product.onnx").as_uri()
    assert found.event.name == "product"
    assert found.event.zoo == ""


def test_a_model_of_the_zoo_says_so() -> None:
    (found,) = asked_models("zoo:alexnet", RunRequest(models=()), LIMITS)
    assert (found.event.name, found.event.zoo, found.event.uri) == (
        "alexnet",
        "onnx",
        "zoo:alexnet",
    )
    assert content_of(found.event, LIMITS) == zoo_path("alexnet").read_bytes()


def test_a_large_file_stays_where_it_is(tmp_path: Path) -> None:
    path = product(tmp_path / "large.onnx", 5000, random_weights=True)
    assert path.stat().st_size > 1_000_000
    (found,) = asked_models(str(path), RunRequest(models=()), LIMITS)
    assert found.event.content is None
    assert found.event.uri == path.as_uri()


def test_a_dimension_that_the_model_does_not_have(tmp_path: Path) -> None:
    model = str(product(tmp_path / "product.onnx", 16))
    with pytest.raises(BenanzaError, match="did you mean 'length'"):
        asked_models(model, RunRequest(models=(), dims={"lenght": 5}), LIMITS)
