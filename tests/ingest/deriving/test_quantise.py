"""Quantised graphs compute what the graphs in floats do, nearly."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from onnx import numpy_helper

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.resolving.types import tensor_type
from benanza_schemas.events.derivation import Derivation, Quantised
from tests.ingest.deriving.numeric import graph_of, quantised, run
from tests.ingest.deriving.small_models import Model, conv_net, mlp, shared
from tests.ingest.onnx_text import proto

NEAR = {"int8": 0.03, "fp8": 0.08, "int4": 0.15}
"""The root of the mean square error allowed, as a share of that of the results."""

MADE: list[tuple[Callable[[], Model], Quantised]] = [
    (mlp, "int8"),
    (mlp, "fp8"),
    (mlp, "int4"),
    (conv_net, "int8"),
    (conv_net, "fp8"),
    (conv_net, "int4"),
    (shared, "int8"),
    (shared, "fp8"),
    (shared, "int4"),
]


def operators(model: Model, to: Quantised) -> Counter[str]:
    graph, _ = graph_of(model.made("y"), Derivation(to))
    return Counter(node.op_type for node in graph.nodes)


def notes(model: Model, to: Quantised) -> tuple[str, ...]:
    return graph_of(model.made("y"), Derivation(to))[1]


def layers(model: Model, to: Quantised) -> ExtractedModel:
    return extract(model.made("y").SerializeToString(), derivation=Derivation(to))


def error(model: Model, to: Quantised) -> float:
    floats, feeds = model.made("y"), model.feeds()
    right = run(floats, feeds)["y"]
    found = run(quantised(floats, to, feeds), feeds)["y"]
    return float(np.sqrt(np.mean((found - right) ** 2) / np.mean(right**2)))


@pytest.mark.parametrize(("make", "to"), MADE)
def test_it_computes_nearly_the_same(make: Callable[[], Model], to: Quantised) -> None:
    assert 0 < error(make(), to) < NEAR[to]


@pytest.mark.parametrize(("make", "to"), MADE)
def test_every_layer_is_known(make: Callable[[], Model], to: Quantised) -> None:
    model = layers(make(), to)
    assert [layer.reason for layer in model.layers if layer.kind == "skipped"] == []
    assert extract(make().made("y").SerializeToString()).layers != model.layers


def test_int4_packs_matrices_and_takes_biases_along() -> None:
    assert operators(mlp(), "int4") == Counter(MatMulNBits=3, Relu=1, Tanh=1)
    assert operators(conv_net(), "int4")["Conv"] == 2


def test_a_bias_that_is_no_row_or_is_not_alone_stays_an_addition() -> None:
    model = Model("x")
    model.add("Gemm", f"x {model.weight('w', 64, 8)} {model.weight('c', 3, 1)}", "g")
    model.add("MatMul", f"x {model.weight('v', 64, 8)}", "m")
    model.add("Add", f"m {model.weight('b', 8)}", "a")
    model.add("Mul", "m a", "n")
    model.add("Add", "n g", "y")
    assert operators(model, "int4") == Counter(MatMulNBits=2, Add=3, Mul=1)
    assert 0 < error(model, "int4") < NEAR["int4"]


def test_a_value_or_weight_of_several_products_is_quantised_once() -> None:
    assert operators(shared(), "int8")["QuantizeLinear"] == 2
    assert operators(shared(), "int8")["DequantizeLinear"] == 4
    packed = graph_of(shared().made("y"), Derivation("int4"))[0].nodes
    assert len({node.inputs[1] for node in packed if node.op_type == "MatMulNBits"}) == 2


def test_int8_has_a_scale_for_each_channel_of_the_result() -> None:
    graph, _ = graph_of(mlp().made("y"), Derivation("int8"))
    shapes = {"w1": (96,), "w2": (32,), "w3": (10,), "x": ()}
    for name, shape in shapes.items():
        assert graph.types[f"{name}/scale"] == tensor_type("float32", shape)


def test_fp8_has_one_scale_for_each_weight() -> None:
    graph, _ = graph_of(mlp().made("y"), Derivation("fp8"))
    assert graph.types["w1/scale"] == tensor_type("float32", ())
    assert graph.types["w1/quantised"] == tensor_type("float8e4m3fn", (64, 96))


def test_products_on_integers_are_groups() -> None:
    rules = Counter(group.rule for group in layers(conv_net(), "int8").groups)
    assert rules["quantised"] >= 4


def test_half_floats_and_old_opsets_are_quantised() -> None:
    for to in ("int8", "fp8", "int4"):
        for model in (mlp(dtype=np.float16), mlp(opset=11), conv_net(opset=9)):
            assert all(layer.kind != "skipped" for layer in layers(model, to).layers)


def test_what_stays_in_floats_is_named() -> None:
    assert notes(conv_net(), "int4") == (
        "1 product in int4",
        "2 products stay in floats, such as 'c1': int4 is for MatMul and Gemm",
        "'g3' stays in floats: sums of 16 numbers aren't of whole blocks of 32",
    )
    assert notes(shared(), "fp8") == (
        "3 products in fp8",
        "2 products stay in floats, such as 'scores': both their operands are computed",
    )


def test_a_gemm_with_a_factor_stays_in_floats_with_int4_alone() -> None:
    model = Model("x")
    model.add("Gemm", f"x {model.weight('w', 64, 8)}", "g", alpha=0.5)
    model.add("MatMul", f"x {model.weight('v', 64, 8)}", "m")
    model.add("Add", "g m", "y")
    assert operators(model, "int4") == Counter(Gemm=1, MatMulNBits=1, Add=1)
    assert operators(model, "int8")["DequantizeLinear"] == 3


def test_a_model_without_products_is_refused() -> None:
    model = Model("x")
    model.add("Relu", "x", "y")
    with pytest.raises(ModelError, match=r"nothing .* in int8: it has no Conv, Gemm or MatMul"):
        notes(model, "int8")


def test_a_model_none_of_whose_products_fits_is_refused_with_the_reasons() -> None:
    model = Model("x")
    model.add("MatMul", f"{model.weight('w', 8, 3)} x", "y")
    with pytest.raises(ModelError, match=r"nothing .* int4: 'y' stays .* weights come first"):
        notes(model, "int4")


def test_a_quantised_model_is_refused() -> None:
    model = mlp()
    once = quantised(model.made("y"), "int8", model.feeds())
    with pytest.raises(ModelError, match=r"int4 of a model that is quantised already.*x/Q"):
        graph_of(once, Derivation("int4"))


def test_a_bias_with_more_axes_than_the_product_is_added_behind_it() -> None:
    model = proto("""g (float[4,64] x) => (float[1,1,4,64] y) {
        p = MatMul(x, w)
        y = Add(p, b)
    }""")
    for name, shape in (("w", (64, 64)), ("b", (1, 1, 1, 64))):
        weights = np.ones(shape, np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, name))
    layers = extract(model.SerializeToString(), derivation=Derivation("int4")).layers
    assert [layer.op for layer in layers] == ["MatMulNBits", "Add"]
