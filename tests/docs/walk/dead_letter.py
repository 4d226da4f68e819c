"""docs/operating.md: a model that ingest refuses is a dead letter, to be mended and replayed."""

import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.docs.blocks import line
from tests.docs.walk.clone import FreshClone
from tests.docs.walk.services import allow_models
from tests.docs.walk.shell import Shell

PAGE = "operating.md"
NAME = "refused"


def publish_refused(clone: FreshClone, shell: Shell) -> str:
    """Publishes a model that ingest may not fetch; the id of its dead letter."""
    folder = clone.folder / "models"
    folder.mkdir()
    onnx.save(_model(), str(folder / f"{NAME}.onnx"))
    shell.run(line("publishing.md", "benanza publish models/ "))
    found = shell.run(f"until benanza dead-letters list | grep {NAME}; do sleep 1; done")
    (letter,) = re.findall(r"^([0-9a-f]+) ", found, re.MULTILINE)
    shown = shell.run(line(PAGE, "benanza dead-letters show").replace("ID", letter))
    assert "BENANZA_MODEL_SOURCES" in shown, shown
    return str(letter)


def replay(clone: FreshClone, shell: Shell, letter: str) -> None:
    """Lets ingest fetch it, and replays it: it has its bounds, and no dead letter is open."""
    allow_models(clone, shell)
    shell.run(line(PAGE, "benanza dead-letters replay --all"))
    shell.run(f"until benanza bounds {NAME} | grep partial; do sleep 1; done")
    (settled,) = re.findall(f"^{letter} .*", shell.run("benanza dead-letters list --all"), re.M)
    assert "replayed" in settled


def _model() -> onnx.ModelProto:
    """Too large for an event, also compressed; one of its layers can be measured nowhere."""
    values = np.random.default_rng(1).random((1000, 300), np.float32)
    weights = numpy_helper.from_array(values, "w")
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width])
        for name, width in (("x", 1000), ("a", 300), ("b", 300), ("y", 300))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Unheard", ["a"], ["b"], domain="elsewhere"),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    first, *between, last = tensors
    graph = helper.make_graph(nodes, NAME, [first], [last], [weights], value_info=between)
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("elsewhere", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=10)
