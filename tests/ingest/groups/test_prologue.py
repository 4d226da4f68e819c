"""What comes before a convolution is a group with it, and with what follows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.epilogue import LONGEST
from benanza_ingest.groups.prologue import RULE
from tests.examples import examples
from tests.ingest.groups.graph_rules import check_group, is_of_simplified
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import LIGHT
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[1,4,8,8] x, float[1,4,8,8] z, float[4,4,3,3] kernel) => ({out})"
    ' <float[4] b = ["location": "w"], float[4,1,1] k = ["location": "w"],'
    ' float one = ["location": "w"], float[8] row = ["location": "w"],'
    ' float[1,4,8,8] full = ["location": "w"], float[4,4,3,3] w = ["location": "w"]>'
    " {{ {body} }}"
)
CONV = "y = Conv<pads=[1,1,1,1]>({}, w)"
CHAIN = "n = BatchNormalization(x, b, b, b, b) m = Mul(n, k) a = Add(m, k) r = Relu(a) "


def groups(body: str, out: str = "y") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out)))


def titles(model: ExtractedModel) -> list[str]:
    """The operators of each group of this rule."""
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return [group.layer.title() for group in found]


def test_all_that_comes_before_and_all_that_follows() -> None:
    body = CHAIN + "c = Conv<pads=[1,1,1,1]>(r, w) s = Add(c, z) y = Relu(s)"
    assert groups(body) == ["BatchNormalization+Mul+Add+Relu+Conv+Add+Relu"]


@pytest.mark.parametrize(
    "operator",
    [
        "v = BatchNormalization(x, b, b, b, b)",
        "v = Relu(x)",
        "v = Mul(x, k)",
        "v = Mul(one, x)",
        "v = Sub(k, x)",
        "v = Div(x, one)",
        "v = Sum(x, k)",
    ],
)
def test_what_may_come_before(operator: str) -> None:
    name = operator.split()[2].split("(")[0]
    assert groups(f"{operator} {CONV.format('v')}") == [f"{name}+Conv"]


@pytest.mark.parametrize(
    "operator",
    [
        "v = Sigmoid(x)",
        "v = Add(x, z)",  # with another value
        "v = Div(k, x)",  # divided by
        "v = Mul(x, row)",  # within a channel
        "v = Add(x, full)",
        "v = Sum(x, k, k)",
        "v = MaxPool<kernel_shape=[1,1]>(x)",
        "v = Identity(x)",
        "v = Conv<pads=[1,1,1,1]>(x, w)",
    ],
)
def test_what_may_not(operator: str) -> None:
    assert groups(f"{operator} {CONV.format('v')}") == []


def test_a_relu_comes_last_and_once() -> None:
    assert groups(f"a = Relu(x) m = Mul(a, k) {CONV.format('m')}") == ["Mul+Conv"]
    assert groups(f"a = Relu(x) m = Mul(a, k) r = Relu(m) {CONV.format('r')}") == ["Mul+Relu+Conv"]


def test_nobody_else_reads_what_comes_before() -> None:
    assert groups(CHAIN + CONV.format("r"), out="y, r") == []
    assert groups(CHAIN + CONV.format("r"), out="y, a") == ["Relu+Conv"]
    body = CHAIN + "c = Conv<pads=[1,1,1,1]>(r, w) y = Add(c, r)"
    assert groups(body) == []


def test_only_the_image_is_prepared() -> None:
    assert groups("f = Relu(kernel) y = Conv<pads=[1,1,1,1]>(x, f)") == []
    assert groups(CHAIN + "y = ConvTranspose<pads=[1,1,1,1]>(r, w)") == []


def test_a_batch_norm_in_training_is_left_out() -> None:
    body = "n, mean, var = BatchNormalization<training_mode=1>(x, b, b, b, b) " + CONV.format("n")
    assert groups(body, out="y, mean") == []


def test_what_follows_a_product_is_its_epilogue() -> None:
    first = "c = Conv<pads=[1,1,1,1]>(x, w) n = BatchNormalization(c, b, b, b, b) r = Relu(n) "
    assert groups(first + CONV.format("r")) == []
    assert groups(first + CONV.format("r"), out="y, c") == ["BatchNormalization+Relu+Conv"]


def test_a_long_chain_is_cut_where_it_begins() -> None:
    lines = " ".join(f"v{i + 1} = Mul(v{i}, k)" for i in range(2 * LONGEST))
    body = f"v0 = Sigmoid(x) {lines} c = Conv<pads=[1,1,1,1]>(v{2 * LONGEST}, w) y = Relu(c)"
    assert groups(body) == ["Mul+" * (LONGEST - 1) + "Conv"]


def test_densenet_prepares_what_it_has_concatenated() -> None:
    """58 layers and three transitions; those of 3x3 follow a convolution of 1x1."""
    found = titles(real("densenet121"))
    before = "BatchNormalization+Mul+Add+Relu+Conv"
    assert found.count(before) == 3
    assert found.count(f"{before}+BatchNormalization+Mul+Add+Relu") == 58
    assert len(found) == 61
    assert len({g.fingerprint for g in real("densenet121").groups if g.rule == RULE}) == len(found)


@pytest.mark.parametrize("name", [name for name in LIGHT if name != "densenet121"])
def test_the_other_models_of_the_zoo_have_none(name: str) -> None:
    assert titles(real(name)) == []


steps = st.lists(
    st.sampled_from(
        [
            "Relu({0})",
            "Mul(k, {0})",
            "Add({0}, k)",
            "Sub(k, {0})",
            "Add({0}, {1})",
            "Mul({0}, {0})",
            "BatchNormalization({0}, b, b, b, b)",
            "Conv<pads=[1,1,1,1]>({0}, w)",
            "MaxPool<kernel_shape=[1,1]>({0})",
        ]
    ),
    min_size=1,
    max_size=9,
)


@given(steps, st.data())
@examples(times=1)
def test_whatever_the_graph_groups_keep_the_rules(chosen: list[str], data: st.DataObject) -> None:
    names, lines = ["x", "z"], []
    for number, step in enumerate(chosen):
        one, other = (data.draw(st.sampled_from(names[-3:])) for _ in range(2))
        lines.append(f"v{number} = {step.format(one, other)}")
        names.append(f"v{number}")
    returned = dict.fromkeys([names[-1], data.draw(st.sampled_from(names[2:]))])
    model = extracted(HEAD.format(body=" ".join(lines), out=", ".join(returned)))
    assert all(title.count("Conv") == 1 for title in titles(model))
    sets = [group.layers for group in model.groups if not is_of_simplified(group)]
    assert len(set(sets)) == len(sets)
