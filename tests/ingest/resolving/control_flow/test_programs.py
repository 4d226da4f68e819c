"""A model with control flow is the model that is written out, and runs as ONNX Runtime runs it."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from hypothesis import given, settings

from benanza_ingest.extract import extract, wired
from benanza_ingest.limits import Limits
from benanza_schemas.given_values import given as given_values
from tests.ingest.onnx_text import content
from tests.ingest.resolving.control_flow.programs import PARTS, PROGRAMS, Block, Written

OPSET = 18


def written(program: Block, *, flat: bool) -> Written:
    made = Written(flat)
    result = made.block(program, "x")
    made.lines.append(f"z = Sigmoid({result})")
    return made


@settings(max_examples=60)
@given(PROGRAMS)
def test_its_layers_are_those_of_the_model_that_is_written_out(program: Block) -> None:
    made = written(program, flat=False)
    dims = given_values({name: [value] for name, (_, value) in made.inputs.items()})
    found = extract(content(made.text(), OPSET), dims=dims)
    wanted = extract(content(written(program, flat=True).text(), OPSET))
    assert [layer.reason for layer in found.layers if layer.reason] == []
    assert [layer.fingerprint for layer in found.layers] == [
        layer.fingerprint for layer in wanted.layers
    ]
    assert found.edges == wanted.edges


@settings(max_examples=30)
@given(PROGRAMS)
def test_its_results_have_the_shapes_that_they_have_in_onnxruntime(program: Block) -> None:
    made = written(program, flat=False)
    made.lines[-1] = made.lines[-1].replace("Sigmoid", "Identity")
    text = made.text()
    values = {name: [value] for name, (_, value) in made.inputs.items()}
    graph = wired(
        content(text, OPSET), batch=None, dims=given_values(values), limits=Limits()
    ).graph
    session = onnxruntime.InferenceSession(content(text, OPSET))
    types = {"bool": np.bool_, "int64": np.int64}
    feeds: dict[str, npt.NDArray[Any]] = {
        name: np.array(value, types[kind]) for name, (kind, value) in made.inputs.items()
    }
    feeds |= {"x": np.ones((3, 3), np.float32), "parts": np.ones((PARTS, 3, 3), np.float32)}
    for name, result in zip(graph.outputs, session.run(None, feeds), strict=True):
        known = graph.types[name]
        assert known is not None
        assert known.dims() == result.shape
