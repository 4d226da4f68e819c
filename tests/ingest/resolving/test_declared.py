"""What a model declares of its values counts only where nothing follows."""

import random

import pytest
from onnx import ModelProto, TensorProto, helper

from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.resolve import resolve
from tests.ingest.onnx_text import extracted, proto
from tests.ingest.real_models import LIGHT
from tests.ingest.real_models import content as real

EDITED = (
    "g (float[{batch},8,64,64] x, float[16,8,3,3] w, float[4,16,1,1] v) => (float[1,4,{size}] y)"
    "<float[1,16,32,32] a, float[1,16,32,32] b>"
    "{{ a = Conv <pads = [1,1,1,1]> (x, w) b = Relu(a) y = Conv(b, v) }}"
)


@pytest.mark.parametrize(("batch", "asked"), [("1", None), ("N", 8)])
def test_a_model_whose_input_was_made_larger_has_its_new_sizes(
    batch: str, asked: int | None
) -> None:
    text = EDITED.format(batch=batch, size="32,32")
    number = asked or 1
    shapes = [
        layer.layer.tensors[layer.layer.outputs[0]].shape
        for layer in extracted(text, batch=asked).layers
        if layer.layer
    ]
    assert shapes == [(number, 16, 64, 64), (number, 16, 64, 64), (number, 4, 64, 64)]


def test_what_contradicts_is_named() -> None:
    model = proto(EDITED.format(batch="1", size="64,64"))
    graph = resolve(model, bind(model, None, {}), Limits())
    assert [each.name for each in graph.outdated] == ["a", "b"]
    assert graph.outdated[0].declared.shape == (1, 16, 32, 32)
    assert graph.outdated[0].found.shape == (1, 16, 64, 64)


def test_what_does_not_follow_is_as_it_is_declared() -> None:
    """Of an operator that nobody knows, and of one whose result depends on the data."""
    text = (
        "g (float[4,5] x) => (float[6] y, float[2,3] z) <float[6] c, int64[2,3] n, float[2,3] f>"
        "{ c = com.example.Foo(x) y = Relu(c) n = NonZero(x) f = Cast <to = 1> (n) z = Relu(f) }"
    )
    layers = extracted(text, domains={"com.example": 1}).layers
    assert [layer.layer is None for layer in layers if layer.op == "Foo"] == [True]
    relus = [layer.layer for layer in layers if layer.op == "Relu"]
    assert [each.tensors[each.outputs[0]].shape for each in relus if each] == [(6,), (2, 3)]


@pytest.mark.parametrize("name", LIGHT)
def test_wrong_declarations_change_no_layer(name: str) -> None:
    chance = random.Random(name)
    model = ModelProto.FromString(real(name))
    before = extract(model.SerializeToString())
    written = {output for node in model.graph.node for output in node.output if output}
    named = {value.name for value in model.graph.output}
    del model.graph.value_info[:]
    for value in sorted(written - named):
        if chance.random() < 0.5:
            sizes = [chance.randint(1, 9) for _ in range(chance.randint(0, 5))]
            model.graph.value_info.append(
                helper.make_tensor_value_info(value, TensorProto.FLOAT, sizes)
            )
    after = extract(model.SerializeToString())
    assert after.layers == before.layers
    assert after.groups == before.groups
