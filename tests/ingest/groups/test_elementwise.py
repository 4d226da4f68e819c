"""Chains of element-wise layers are groups, where no product goes before them."""

from benanza_ingest.extracted import ExtractedModel
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[1,4,8,8] x, float[1,4,8,8] z, float[1,4,1,1] narrow) => ({out})"
    ' <float[4] b = ["location": "w"], float[4,1,1] k = ["location": "w"],'
    ' float[4,4,3,3] w = ["location": "w"]> {{ {body} }}'
)


def chains(body: str, out: str = "y") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out)))


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == "elementwise"]
    for group in found:
        check_group(model, group)
    return [group.layer.title() for group in found]


def test_what_comes_before_a_convolution() -> None:
    body = (
        "n = BatchNormalization(x, b, b, b, b) m = Mul(n, k) a = Add(m, k) r = Relu(a)"
        " y = Conv<pads=[1,1,1,1]>(r, w)"
    )
    assert chains(body) == ["BatchNormalization+Mul+Add+Relu"]


def test_what_follows_a_product_is_its_epilogue() -> None:
    assert chains("c = Conv<pads=[1,1,1,1]>(x, w) r = Relu(c) y = Sigmoid(r)") == []


def test_behind_an_epilogue_a_chain_begins() -> None:
    after = "e = Exp({}) n = Neg(e) y = Sqrt(n)"
    convolution = "c = Conv<pads=[1,1,1,1]>(x, w)"
    assert chains(f"{convolution} {after.format('c')}") == ["Exp+Neg+Sqrt"]
    assert chains(f"{convolution} r = Relu(c) {after.format('r')}") == ["Exp+Neg+Sqrt"]


def test_integers_within_a_chain_stay_in_registers() -> None:
    scales = "s = Constant<value = float {0.1}>() o = Constant<value = uint8 {7}>()"
    there_and_back = "q = QuantizeLinear(c, s, o) d = DequantizeLinear(q, s, o)"
    body = f"{scales} c = Conv<pads=[1,1,1,1]>(x, w) {there_and_back} y = Sigmoid(d)"
    assert chains(body) == ["QuantizeLinear+DequantizeLinear+Sigmoid"]


def test_a_layer_alone_is_no_chain() -> None:
    assert chains("y = Relu(x)") == []


def test_a_value_read_outside_ends_the_chain() -> None:
    assert chains("a = Relu(x) b1 = Sigmoid(a) y = Add(a, b1)") == ["Sigmoid+Add"]
    assert chains("a = Relu(x) y = Sigmoid(a)", out="y, a") == []


def test_a_result_larger_than_the_value_begins_anew() -> None:
    assert chains("a = Relu(narrow) s = Add(a, x) y = Sigmoid(s)") == ["Add+Sigmoid"]


def test_of_two_values_that_are_added_one_goes_on() -> None:
    assert chains("a = Relu(x) c = Sigmoid(z) s = Add(a, c) y = Tanh(s)") == ["Relu+Add+Tanh"]


def test_densenet_normalises_before_it_convolves() -> None:
    found = titles(real("densenet121"))
    assert found.count("BatchNormalization+Mul+Add+Relu") == len(found) > 60
