"""A product and what follows it is a group, with every prefix; and what must not be is none."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.epilogue import LONGEST, RULE
from benanza_schemas.operators.table import named
from tests.examples import examples
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[1,4,8,8] x, float[1,4,8,8] z) => ({out}) <float[4,4,3,3] w = [\"location\": \"w\"],"
    " float[4] b = [\"location\": \"w\"], float[4,1,1] k = [\"location\": \"w\"],"
    " float[1,4,8,8] full = [\"location\": \"w\"]> {{ c = Conv<pads=[1,1,1,1]>(x, w) {body} }}"
)  # fmt: skip


def titles(model: ExtractedModel) -> list[str]:
    """The operators of each group of this rule."""
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return [group.layer.title() for group in found]


def after_convolution(body: str, out: str = "y") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out)))


def test_a_convolution_with_all_that_may_follow_and_every_prefix() -> None:
    assert after_convolution(
        "n = BatchNormalization(c, b, b, b, b) m = Mul(n, k) a = Add(m, k) r = Add(a, z)"
        " y = Relu(r)"
    ) == [
        "Conv+BatchNormalization",
        "Conv+BatchNormalization+Mul",
        "Conv+BatchNormalization+Mul+Add",
        "Conv+BatchNormalization+Mul+Add+Add",
        "Conv+BatchNormalization+Mul+Add+Add+Relu",
    ]


@pytest.mark.parametrize(
    "product",
    [
        "p = MatMul(x, w)",
        "p = Gemm(x, w)",
        "p = Gemm<transB=1>(x, w)",
    ],
)
def test_matrix_products_too(product: str) -> None:
    model = extracted(
        "g (float[4,4] x) => (y) <float[4,4] w = [\"location\": \"w\"], float[4] b ="
        f" [\"location\": \"w\"]> {{ {product} a = Add(p, b) y = Gelu(a) }}"
    )  # fmt: skip
    op_type = model.layers[0].op
    assert titles(model) == [f"{op_type}+Add", f"{op_type}+Add+Gelu"]


@pytest.mark.parametrize(
    "activation",
    sorted(named(lambda facts: facts.activation and not facts.others) - {"Swish"}),
)
def test_an_activation_ends_a_chain(activation: str) -> None:
    assert after_convolution(f"a = {activation}(c) y = Relu(a)") == [f"Conv+{activation}"]


@pytest.mark.parametrize(
    ("gate", "name"),
    [
        ("s = Sigmoid(v) y = Mul(v, s)", "Sigmoid+Mul"),
        ("s = Sigmoid(v) y = Mul(s, v)", "Sigmoid+Mul"),
        ("s = HardSigmoid<alpha=0.16666667>(v) y = Mul(v, s)", "HardSigmoid+Mul"),
        ("p = Softplus(v) s = Tanh(p) y = Mul(v, s)", "Softplus+Tanh+Mul"),
    ],
)
def test_an_activation_that_is_written_out_comes_as_a_whole(gate: str, name: str) -> None:
    assert after_convolution(gate.replace("v", "c") + " u = Relu(y)", "u") == [f"Conv+{name}"]
    before = "v = BatchNormalization(c, b, b, b, b)"
    assert after_convolution(f"{before} {gate}") == [
        "Conv+BatchNormalization",
        f"Conv+BatchNormalization+{name}",
    ]


@pytest.mark.parametrize(
    ("body", "out"),
    [
        ("s = Sigmoid(c) y = Mul(c, s)", "y, c"),  # the value is returned as well
        ("s = Sigmoid(c) y = Mul(c, s)", "y, s"),  # and so is the gate
        ("s = Sigmoid(c) y = Mul(c, s) u = Relu(c)", "y, u"),  # somebody else reads it
        ("s = Sigmoid(c) y = Mul(z, s) u = Relu(c)", "y, u"),  # a gate on another value
        ("s = Sigmoid(c) y = Add(c, s)", "y"),
        ("s = Tanh(c) y = Mul(c, s)", "y"),  # no activation that has a name
        ("p = Softplus(c) s = Sigmoid(p) y = Mul(c, s)", "y"),
        ("p = Softplus(c) s = Tanh(p) t = Relu(s) y = Mul(c, t)", "y"),
        ("p = Softplus(c) s = Tanh(p) t = Mul(s, p) y = Mul(c, t)", "y"),
    ],
)
def test_what_is_no_activation_written_out(body: str, out: str) -> None:
    assert after_convolution(body, out) == []


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("torchvision-efficientnet_b0", {"Conv": 49}),
        ("torchvision-efficientnet_b0-raw", {"Conv+BatchNormalization": 33, "Conv": 16}),
        ("transformers-llama", {"MatMul": 3}),
        ("transformers-llama-raw", {"MatMul": 3}),
    ],
)
def test_every_silu_of_exported_models_follows_a_product(name: str, counts: dict[str, int]) -> None:
    found = Counter(title for title in titles(real(name)) if title.endswith("+Sigmoid+Mul"))
    assert found == {f"{product}+Sigmoid+Mul": count for product, count in counts.items()}


def test_an_activation_with_arguments() -> None:
    assert after_convolution("y = PRelu(c, k)") == ["Conv+PRelu"]
    assert after_convolution(
        "low = Constant<value_float=0.0>() high = Constant<value_float=6.0>()"
        " y = Clip(c, low, high)"
    ) == ["Conv+Clip"]


@pytest.mark.parametrize(
    ("body", "out"),
    [
        ("r = Relu(c) t = Tanh(c) y = Add(r, t)", "y"),  # used twice
        ("y = Mul(c, c)", "y"),  # used twice by the same
        ("y = Relu(c)", "c, y"),  # returned as well
        ("y = MaxPool<kernel_shape=[2,2]>(c)", "y"),  # no epilogue
        ("y = Softmax(c)", "y"),
        ("y = Mul(c, z)", "y"),  # a product with another result, which no library adds
        ("y = PRelu(k, c)", "y"),  # as the slope
        ("y = Pow(k, c)", "y"),
        ("y = Div(k, c)", "y"),  # divided by
    ],
)
def test_what_is_no_epilogue(body: str, out: str) -> None:
    """A convolution whose output is used twice can't be fused, for one."""
    assert after_convolution(body, out) == []


def test_a_broadcast_that_makes_the_result_larger_is_no_epilogue() -> None:
    model = extracted(
        "g (float[4,4] x, float[2,4,4] z) => (y) <float[4,4] w = [\"location\": \"w\"],"
        " float[3,4,4] b = [\"location\": \"w\"]> { p = MatMul(x, w) y = Add(p, b) }"
    )  # fmt: skip
    assert model.groups == ()


def test_a_view_between_ends_the_chain() -> None:
    assert after_convolution("i = Identity(c) y = Relu(i)") == []


def test_a_residual_is_added_once_and_has_the_results_shape() -> None:
    assert after_convolution("a = Add(c, z) b2 = Add(a, z) y = Relu(b2)") == ["Conv+Add"]
    assert after_convolution("a = Add(z, c) y = Relu(a)") == ["Conv+Add", "Conv+Add+Relu"]
    model = extracted(
        "g (float[1,4,8,8] x, float[1,4,1,1] z) => (y) <float[4,4,1,1] w = [\"location\": \"w\"]>"
        "{ c = Conv(x, w) y = Add(c, z) }"
    )  # fmt: skip
    assert model.groups == ()


def test_a_residual_may_itself_come_from_the_product_before() -> None:
    """As in every residual network: the path beside the chain joins it, and leaves it never."""
    model = extracted(
        HEAD.format(
            out="y",
            body="r = Relu(c) d = Conv<pads=[1,1,1,1]>(r, w) e = Conv<pads=[1,1,1,1]>(d, w)"
            " a = Add(e, r) y = Relu(a)",
        )
    )
    assert titles(model) == ["Conv+Relu", "Conv+Add", "Conv+Add+Relu"]
    assert [group.layers for group in model.groups] == [(0, 1), (3, 4), (3, 4, 5)]


def test_two_products_that_are_added_are_each_a_group_with_the_sum() -> None:
    model = extracted(HEAD.format(out="y", body="d = Conv<pads=[1,1,1,1]>(z, w) y = Add(c, d)"))
    assert titles(model) == ["Conv+Add", "Conv+Add"]


def test_subtracting_from_a_constant_is_affine_and_dividing_it_is_not() -> None:
    assert after_convolution("y = Sub(k, c)") == ["Conv+Sub"]
    assert after_convolution("y = Div(c, k)") == ["Conv+Div"]


def test_densenets_scales_and_shifts_are_followed() -> None:
    """Its batch norms are three operators: BatchNormalization, Mul and Add."""
    found = {group.layer.title() for group in real("densenet121").groups}
    assert "Conv+BatchNormalization+Mul+Add+Relu" in found
    assert "Conv+BatchNormalization+Mul" in found


def test_resnets_blocks_end_in_a_sum_and_an_activation() -> None:
    found = [group.layer.title() for group in real("resnet50").groups]
    assert found.count("Conv+BatchNormalization+Sum+Relu") >= 16


steps = st.lists(
    st.sampled_from(
        [
            "Relu({0})",
            "Tanh({0})",
            "Add({0}, k)",
            "Mul(k, {0})",
            "Add({0}, z)",
            "Add({0}, {1})",
            "Mul({0}, {0})",
            "BatchNormalization({0}, b, b, b, b)",
            "Conv<pads=[1,1,1,1]>({0}, w)",
            "Identity({0})",
            "Sub({1}, {0})",
        ]
    ),
    min_size=1,
    max_size=9,
)


@given(steps, st.data())
@examples(times=1.5)
def test_whatever_the_graph_groups_keep_the_rules(chosen: list[str], data: st.DataObject) -> None:
    names, lines = ["x", "c"], []
    for number, step in enumerate(chosen):
        one, other = (data.draw(st.sampled_from(names[-4:])) for _ in range(2))
        lines.append(f"v{number} = {step.format(one, other)}")
        names.append(f"v{number}")
    returned = ", ".join(dict.fromkeys([names[-1], data.draw(st.sampled_from(names[1:]))]))
    model = extracted(HEAD.format(body=" ".join(lines), out=returned))
    titles(model)
    for group in model.groups:
        check_group(model, group)
    chains = {group.layers for group in model.groups if group.rule == RULE}
    assert all(chain[:-1] in chains for chain in chains if len(chain) > 2), "every prefix"


def test_a_chain_ends_somewhere() -> None:
    """All its prefixes are groups, so that a chain without end would take time without end."""
    lines = " ".join(f"v{i + 1} = Mul(v{i}, k)" for i in range(3 * LONGEST))
    model = extracted(
        f"g (float[2,2] x, float[2,2] z) => (v{3 * LONGEST}) <float k = {{2}}>"
        f"{{ v0 = MatMul(x, z) {lines} }}"
    )
    chains = [group.layers for group in model.groups if group.rule == RULE]
    assert max(map(len, chains)) == LONGEST
    assert [g.rule for g in model.groups].count(RULE) == LONGEST - 1
