"""Operators between a DequantizeLinear and a QuantizeLinear are groups on integers."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.quantised.propose import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted, kinds

HEAD = (
    "g (uint8[1,8,6,6] x, uint8[1,8,6,6] z) => ({out}) <float s = {{0.5}}, float t = {{0.25}},"
    " float half = {{0.5}}, uint8 o = {{0}}, uint8 m = {{9}}, int8 wo = {{0}},"
    ' int8[8,8,3,3] w = ["location": "w"], int32[8] b = ["location": "w"],'
    ' int8[36,5] v = ["location": "w"], float[5] c = ["location": "w"],'
    " float zero = {{0}}, float six = {{6}}> {{ f = DequantizeLinear(x, s, o) {body} }}"
)
CONV = "wf = DequantizeLinear(w, t, wo) a = Conv<pads=[1,1,1,1]>(f, wf)"


def text(body: str, out: str = "y") -> str:
    return HEAD.format(body=body, out=out)


def groups(model: ExtractedModel) -> list[tuple[str, tuple[int, ...]]]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return [(group.layer.title(), group.layers) for group in found]


DQ, Q = "DequantizeLinear", "QuantizeLinear"


CONVOLVED = f"{DQ}+{DQ}+Conv"


@pytest.mark.parametrize(
    ("body", "titles"),
    [
        (f"{CONV} y = QuantizeLinear(a, t, m)", {CONVOLVED, f"{CONVOLVED}+{Q}"}),
        (
            f"{CONV} r = Relu(a) y = QuantizeLinear(r, t, o)",
            {CONVOLVED, f"{CONVOLVED}+Relu", f"{CONVOLVED}+{Q}"},
        ),
        (
            f"{CONV} r = Relu(a) y = QuantizeLinear(r, t, m)",
            {CONVOLVED, f"{CONVOLVED}+Relu", f"{CONVOLVED}+Relu+{Q}"},
        ),
        (
            f"{CONV} q = Clip(a, zero) r = Relu(q) y = QuantizeLinear(r, t, o)",
            {CONVOLVED, f"{CONVOLVED}+Clip", f"{CONVOLVED}+{Q}"},
        ),
        (
            f"{CONV} r = Clip(a, zero) y = QuantizeLinear(r, t, o)",
            {CONVOLVED, f"{CONVOLVED}+Clip", f"{CONVOLVED}+{Q}"},
        ),
        (
            f"{CONV} r = Clip(a, zero, six) y = QuantizeLinear(r, t, o)",
            {CONVOLVED, f"{CONVOLVED}+Clip", f"{CONVOLVED}+Clip+{Q}"},
        ),
        (f"{CONV} y = Identity(a)", {CONVOLVED}),
        (
            f"{CONV} h = DequantizeLinear(z, t, m) r = Add(a, h) y = QuantizeLinear(r, t, m)",
            {CONVOLVED, f"{CONVOLVED}+{DQ}+Add", f"{CONVOLVED}+{DQ}+Add+{Q}"},
        ),
        (f"{CONV} r = Tanh(f) y = Add(a, r)", {CONVOLVED, f"{CONVOLVED}+Add"}),
        (
            "h = DequantizeLinear(z, t, m) a = Add(f, h) y = QuantizeLinear(a, t, m)",
            {f"{DQ}+{DQ}+Add+{Q}"},
        ),
        ("a = Add(f, half) y = QuantizeLinear(a, t, m)", set()),
        ("a = GlobalAveragePool(f) y = QuantizeLinear(a, t, m)", {f"{DQ}+GlobalAveragePool+{Q}"}),
        ("a = Tanh(f) y = QuantizeLinear(a, t, m)", set()),
        ("a = Transpose(f) y = QuantizeLinear(a, half, o)", {f"{DQ}+Transpose+{Q}"}),
        ("a = Transpose(f) y = QuantizeLinear(a, t, o)", set()),
        ("a = Transpose(f) y = QuantizeLinear(a, s, m)", set()),
        ("y = ArgMax(f)", {f"{DQ}+ArgMax"}),
    ],
)
def test_what_is_a_unit(body: str, titles: set[str]) -> None:
    found = {name for name, _ in groups(extracted(text(body)))}
    assert found - {Q} == titles


@pytest.mark.parametrize(
    ("body", "titles"),
    [
        ("y = MatMul(e, vf)", [f"{DQ}+MatMul"]),
        ("h = MatMul(e, vf) y = Add(h, c)", [f"{DQ}+MatMul", f"{DQ}+MatMul+Add"]),
        ("h = MatMul(e, vf) y = Add(h, e)", [f"{DQ}+MatMul"]),
        ("y = Gemm(e, vf, c)", [f"{DQ}+Gemm"]),
        ("h = Transpose(vf) y = Gemm<transB=1>(e, h)", [f"{DQ}+Transpose+Gemm"]),
        ("y = Gather(vf, i)", [f"{DQ}+Gather"]),
        ("y = Sub(e, vf)", []),
    ],
)
def test_products_read_quantised_weights(body: str, titles: list[str]) -> None:
    model = extracted(
        "g (float[36,36] e, int64[2] i) => (y) <float t = {0.25}, float[5] c = {1,2,3,4,5},"
        f' int4[36,5] v = ["location": "w"]> {{ vf = DequantizeLinear(v, t) {body} }}'
    )
    assert [name for name, _ in groups(model)] == titles
    for group in model.groups:
        if group.rule == RULE:
            weights = next(t for t in group.layer.tensors if t.dtype == "int4")
            assert weights.constant, "it is the weights' 4 bits that the call reads"


def test_a_region_ends_before_the_integers_that_a_product_reads() -> None:
    model = extracted(
        text(
            "n = Sigmoid(f) a = Flatten(n) u = Add(a, half) q = QuantizeLinear(u, t, o)"
            " g = DequantizeLinear(q, t, o) vf = DequantizeLinear(k, t, wo) y = MatMul(g, vf)"
        ).replace("float zero", 'int8[288,5] k = ["location": "w"], float zero')
    )
    regions = {group.layer.title() for group in model.groups if group.rule == "region"}
    assert any(name.endswith(f"Add+{Q}") for name in regions)


def test_a_relu_that_only_clips_costs_nothing() -> None:
    model = extracted(text("r = Relu(f) y = QuantizeLinear(r, t, o)"))
    assert groups(model) == [(Q, (1, 2))]
    (group,) = (each for each in model.groups if each.rule == RULE)
    assert group.fingerprint == model.layers[2].fingerprint


def test_scales_don_t_tell_layers_apart() -> None:
    """Neither which a model has in common, nor what they are."""
    add = "h = DequantizeLinear(z, {}) a = Add(f, h) y = QuantizeLinear(a, {})"
    one, other = (
        extracted(text(add.format(*each))) for each in (("s, o", "s, o"), ("t, m", "s, m"))
    )
    assert groups(one) == groups(other)
    assert one.groups[0].fingerprint == other.groups[0].fingerprint


def test_each_reader_on_integers_has_a_dequantize_linear_of_its_own() -> None:
    model = extracted(
        text(
            "a = Sigmoid(f) y = QuantizeLinear(a, t, m) n = LeakyRelu(f)"
            " u = QuantizeLinear(n, t, m) r = Erf(f)",
            "y, u, r",
        )
    )
    dequantised = [(layer.kind, layer.bytes) for layer in model.layers if layer.op == DQ]
    assert dequantised == [("compute", 8 * 36 * 5 + 5), ("view", 0), ("view", 0)]
    assert groups(model) == [(f"{DQ}+Sigmoid+{Q}", (1, 3, 4)), (f"{DQ}+LeakyRelu+{Q}", (2, 5, 6))]
    assert (0, 7) in model.edges, "what doesn't run on integers reads the one that counts"


def test_the_first_reader_has_the_one_that_counts_if_all_run_on_integers() -> None:
    model = extracted(
        text(
            "a = Sigmoid(f) y = QuantizeLinear(a, t, m) n = Add(f, f) u = QuantizeLinear(n, t, m)",
            "y, u",
        )
    )
    assert [layer.kind for layer in model.layers if layer.op == DQ] == ["compute", "view"]
    assert [name for name, _ in groups(model)] == [f"{DQ}+Sigmoid+{Q}", f"{DQ}+Add+{Q}"]


def test_another_shape_of_integers_of_one_scale_is_a_view() -> None:
    model = extracted(text("a = Flatten(f) y = QuantizeLinear(a, half, o)"))
    assert kinds(model) == [(DQ, "view"), ("Flatten", "view"), (Q, "view")]
    assert not groups(model)


@pytest.mark.parametrize(
    "text",
    [
        # Zero points are left out, and then integers have no sign.
        "g (int8[4,16] x) => (uint8[8,8] y) <float s = {0.5}, int64[2] n = {8,8}>"
        " { d = DequantizeLinear(x, s) r = Reshape(d, n) y = QuantizeLinear(r, s) }",
        "g (int8[4,16] x) => (int16[8,8] y) <float s = {0.5}, int64[2] n = {8,8}>"
        " { d = DequantizeLinear(x, s) r = Reshape(d, n)"
        " y = QuantizeLinear<output_dtype=5>(r, s) }",
        # Elements get other channels.
        "g (int8[1,2,4] x) => (int8[2,2,2] y) <float[2] s = {0.5, 1}, int8[2] z = {0, 0},"
        " int64[3] n = {2,2,2}> { d = DequantizeLinear<axis=1>(x, s, z) r = Reshape(d, n)"
        " y = QuantizeLinear<axis=1>(r, s, z) }",
    ],
)
def test_other_integers_in_another_shape_are_no_view(text: str) -> None:
    model = extracted(text, 21)
    assert [layer.kind for layer in model.layers if layer.op in (DQ, Q)] == ["compute"] * 2


def test_dynamically_quantised_products() -> None:
    """Those that share the integers are groups without what quantises them."""
    product = (
        "i{0} = MatMulInteger(q, v, qz, wo) c{0} = Cast<to=1>(i{0}) s{0} = Mul(qs, t)"
        " m{0} = Mul(c{0}, s{0}) y{0} = Add(m{0}, b)"
    )
    head = (
        "g (float[4,36] x) => ({}) <float t = {{0.25}}, float r = {{0.5}}, int8 wo = {{0}},"
        ' float[5] b = {{1,2,3,4,5}}, int8[36,5] v = ["location": "w"],'
        ' int8[36,5] u = ["location": "w"]>'
        " {{ q, qs, qz = DynamicQuantizeLinear(x) {} }}"
    )
    names = "MatMulInteger+Cast+Mul+Mul"
    one = extracted(head.format("y1", product.format(1)))
    assert [len(at) for _, at in groups(one)] == [4, 5, 5, 6]
    other = product.format(2).replace("(q, v,", "(q, u,").replace("(qs, t)", "(qs, r)")
    two = extracted(head.format("y1, y2", product.format(1) + other))
    found = groups(two)
    assert [len(at) for _, at in found] == [4, 5, 4, 5]
    assert {name for name, _ in found} == {names, f"{names}+Add"}


def test_a_few_nodes_that_read_each_other_don_t_become_many() -> None:
    count = 40
    given = " ".join(f"d{n} = DequantizeLinear(x, s, o)" for n in range(count))
    read = [", ".join(f"d{(n + at) % count}" for at in range(count)) for n in range(count)]
    joined = " ".join(
        f"c{n} = Concat<axis=0>({read[n]}) q{n} = QuantizeLinear(c{n}, t, m)" for n in range(count)
    )
    model = extracted(text(f"{given} {joined}", ", ".join(f"q{n}" for n in range(count))))
    assert len(model.layers) == 3 * count


def test_all_parts_of_a_split_are_quantised() -> None:
    split = "a, n = Split<axis=1, num_outputs=2>(f) y = QuantizeLinear(a, s, o) {}"
    one, both = (split.format(end) for end in ("", "u = QuantizeLinear(n, s, o)"))
    assert groups(extracted(text(both, "y, u"))) == [(f"{DQ}+Split+{Q}+{Q}", (0, 1, 2, 3))]
    assert groups(extracted(text(one))) == [(f"{DQ}+Split+{Q}", (0, 1, 2))], "n is never read"
    assert not groups(extracted(text(f"{one} u = Relu(n)", "y, u")))
