"""Regions of models, whole and without the ends that other calls may take."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.regions.fusible_graph import MOST_RESULTS
from benanza_ingest.groups.regions.propose import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import ALL, EXPORTED
from tests.ingest.real_models import extracted as real

SPLIT = (
    "g (float[2,2,16,1,1] p, float[2,2,16,8,8] m) => (y) <int64[1] paths = {{1}}>"
    " {{ s = Softmax<axis = 1>(p) w = Mul(m, s) {} }}"
)
HEAD = (
    "g (float[1,4,8,8] x, float[1,4,8,8] z, float[1,4,1,1] narrow, float[2,6,8] t) => ({out})"
    ' <float[4] b = ["location": "w"], float[4,1,1] k = ["location": "w"],'
    ' float[4,4,3,3] w = ["location": "w"], float[8,8] v = ["location": "w"],'
    ' float[8] s = ["location": "w"], int64[2] maps = {{2, 3}}, int64[1] last = {{-1}},'
    " int64[1] none = {{0}}, int64[1] some = {{4}}, int64[1] end = {{100}}, int64[1] two = {{2}},"
    " int64[3] flat = {{1, 4, 64}}, int64[4] heads = {{2, 6, 2, 4}}> {{ {body} }}"
)
CONV = "c = Conv<pads = [1,1,1,1]>(x, w)"


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
        assert len(group.layer.outputs) <= MOST_RESULTS
    return ["+".join(model.layers[at].op for at in group.layers) for group in found]


def test_weights_of_paths_may_be_computed_once_or_by_each_reader() -> None:
    weighted = extracted(SPLIT.format("y = ReduceSum<keepdims = 0>(w, paths)"), opset=23)
    assert titles(weighted) == ["Softmax+Mul+ReduceSum", "Mul+ReduceSum"]


def regions(body: str, out: str = "y") -> list[str]:
    return titles(extracted(HEAD.format(body=body, out=out), opset=23))


@pytest.mark.parametrize(
    ("body", "out", "wanted"),
    [
        ("n = BatchNormalization(x, b, b, b, b) m = Mul(n, k) a = Add(m, k) y = Relu(a)", "y",
         ["BatchNormalization+Mul+Add+Relu"]),
        ("a = Add(x, z) y = Relu(a)", "y, a", ["Add+Relu"]),
        ("y = Relu(x)", "y", []),
        ("r = Reshape(x, flat) y = Relu(r)", "y", []),
        # Views at the ends take no time.
        ("r = Reshape(x, flat) a = Relu(r) m = Neg(a) y = Reshape(m, flat)", "y", ["Relu+Neg"]),
        ("a = Relu(x) r = Reshape(a, flat) y = Neg(r)", "y", ["Relu+Reshape+Neg"]),
        ("a = Relu(x) y = Neg(a) v1 = Reshape(a, flat) v2 = Reshape(y, flat)", "v1, v2",
         ["Relu+Neg"]),
        # A view of what is read as it is, too.
        ("r = Reshape(t, heads) a = Neg(r) c = Neg(t) d = Reshape(c, heads) y = Add(a, d)", "y",
         ["Reshape+Neg+Neg+Reshape+Add"]),
    ],
)  # fmt: skip
def test_what_one_kernel_computes(body: str, out: str, wanted: list[str]) -> None:
    assert regions(body, out) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        # Convolutions compute it well.
        (f"{CONV} n = BatchNormalization(c, b, b, b, b) y = Relu(n)", []),
        (f"{CONV} a = Add(c, z) y = Relu(a)", []),
        # They compute a part of it.
        (f"{CONV} r = Relu(c) e = Exp(r) n = Neg(e) y = Sqrt(n)",
         ["Relu+Exp+Neg+Sqrt", "Exp+Neg+Sqrt"]),
        # It depends on the library whether it sees an activation that is written out.
        (f"{CONV} g = Sigmoid(c) y = Mul(c, g)", ["Sigmoid+Mul"]),
        # What follows other products is a call of its own as well.
        ("p = MatMul(t, v) a = Add(p, s) y = Gelu(a)", ["Add+Gelu"]),
        ("p = MatMul(t, v) a = Add(p, s) d = Add(a, t) y = LayerNormalization(d, s)",
         ["Add+Add+LayerNormalization", "Add+Add", "Add+LayerNormalization"]),
        # Without what only moves, and without what reduces.
        ("c = Concat<axis = 1>(x, z) e = Exp(c) n = Neg(e) y = Conv(n, w8)",
         ["Concat+Exp+Neg", "Exp+Neg"]),
        ("a = Neg(t) n = Softmax(a) h = Reshape(n, heads) q = Transpose<perm = [0,2,1,3]>(h)"
         " y = Exp(q)", ["Neg+Softmax+Reshape+Transpose+Exp", "Softmax+Reshape+Transpose+Exp"]),
        ("a = Neg(t) e = Exp(a) n = Softmax(e) y = Slice(n, none, some, two)",
         ["Neg+Exp+Softmax+Slice", "Neg+Exp+Softmax", "Neg+Exp", "Softmax+Slice"]),
        ("a = Neg(t) e = Exp(a) c = Concat<axis = 1>(e, t) y = Transpose<perm = [0,2,1]>(c)",
         ["Neg+Exp+Concat+Transpose", "Neg+Exp"]),
        # Attention scales its operands, and reads them where they are.
        ("a = Neg(t) e = Exp(a) q = Mul(e, half) p = MatMul(q, keys) u = Softmax(p)"
         " y = MatMul(u, t)", ["Neg+Exp+Mul", "Neg+Exp"]),
    ],
)  # fmt: skip
def test_a_region_without_its_ends(body: str, wanted: list[str]) -> None:
    more = 'float[2,8,3,3] w8 = ["location": "w"], float[2,8,6] keys = ["location": "w"],'
    text = HEAD.replace("float[8,8] v", f"{more} float half = {{{{0.5}}}}, float[8,8] v")
    assert titles(extracted(text.format(body=body, out="y"), opset=23)) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        # What is computed would be computed again for each place in the window.
        ("a = Neg(x) e = Exp(a) c = Conv<group = 4>(e, own) y = Relu(c)", ["Neg+Exp"]),
        # What only moves is read where it is.
        ("a = Neg(x) u = Transpose<perm = [0,1,3,2]>(a) c = Conv<group = 4>(u, own) e = Exp(c)"
         " y = Neg(e)", ["Neg+Transpose", "Conv+Exp+Neg", "Exp+Neg", "Transpose+Conv+Exp+Neg"]),
        ("c = Conv<group = 4>(x, own) e = Exp(c) r = Relu(e) y = GlobalAveragePool(r)",
         ["Conv+Exp+Relu", "Exp+Relu"]),
        ("p = AveragePool<kernel_shape = [3,3], pads = [1,1,1,1]>(x) d = Sub(p, x) y = Add(d, z)",
         ["AveragePool+Sub+Add", "Sub+Add"]),
        # A window after a reduction would need several rows.
        ("n = LayerNormalization(x, s) a = Neg(n) y = MaxPool<kernel_shape = [2,2]>(a)",
         ["LayerNormalization+Neg"]),
    ],
)  # fmt: skip
def test_windows(body: str, wanted: list[str]) -> None:
    own = 'float[4,1,3,3] own = ["location": "w"], float[8,8] v'
    text = HEAD.replace("float[8,8] v", own)
    assert titles(extracted(text.format(body=body, out="y"), opset=23)) == wanted


@pytest.mark.parametrize(
    ("body", "out", "wanted"),
    [
        (f"{CONV} r = Reshape(c, flat) e = Exp(r) y = Neg(e)", "y", ["Reshape+Exp+Neg"]),
        ("a = Exp(t) n = Neg(a) m = Reshape(n, map) c = Conv(m, w) y = Relu(c)", "y",
         ["Exp+Neg+Reshape"]),
        # What a view makes, or is made of, would be written as well.
        (f"{CONV} r = Reshape(c, flat) e = Exp(r) y = Neg(e) u = MatMul(r, v1)", "y, u",
         ["Exp+Neg"]),
        ("a = Exp(t) n = Neg(a) m = Reshape(n, map) c = Conv(m, w) y = Relu(c) u = MatMul(n, v)",
         "y, u", ["Exp+Neg"]),
        # No convolution reads or writes it.
        ("r = Reshape(t, heads) e = Exp(r) y = Neg(e)", "y", ["Exp+Neg"]),
    ],
)  # fmt: skip
def test_views_of_feature_maps(body: str, out: str, wanted: list[str]) -> None:
    more = 'int64[4] map = {{1, 4, 3, 8}}, float[64,2] v1 = ["location": "w"], float[8,8] v'
    text = HEAD.replace("float[8,8] v", more)
    assert titles(extracted(text.format(body=body, out=out), opset=23)) == wanted


def test_parts_that_read_the_same_are_one_region_and_each_its_own() -> None:
    body = "a = Neg(t) c = Exp(a) d = Relu(t) e = Sqrt(d) y = MatMul(c, v) u = MatMul(e, v)"
    assert regions(body, "y, u") == ["Neg+Exp+Relu+Sqrt", "Neg+Exp", "Relu+Sqrt"]


@pytest.mark.parametrize("name", EXPORTED)
def test_regions_of_a_layer(name: str) -> None:
    """The fewer groups, the less is measured."""
    model = real(name)
    assert len(titles(model)) <= len(model.layers)


def test_regions_of_all_exported_models() -> None:
    models = [real(name) for name in EXPORTED]
    regions = sum(group.rule == RULE for model in models for group in model.groups)
    assert regions <= 0.5 * sum(len(model.layers) for model in models)


ROTATED = "Slice+Slice+Neg+Concat+Mul+Add"


@pytest.mark.parametrize(
    ("name", "wanted", "count"),
    [
        ("densenet121", "BatchNormalization+Mul+Add+Relu", 62),
        ("densenet121", "Concat+BatchNormalization+Mul+Add+Relu", 58),
        ("transformers-llama-raw", "Pow+ReduceMean+Add+Sqrt+Reciprocal+Mul+Mul", 7),
        ("transformers-llama-raw", "Add+Pow+ReduceMean+Add+Sqrt+Reciprocal+Mul+Mul", 6),
        ("transformers-llama-raw", f"Transpose+Mul+{ROTATED}", 6),
        ("transformers-llama-raw", f"Transpose+Transpose+Mul+{ROTATED}+Mul+{ROTATED}", 3),
        ("transformers-llama-raw", "Sigmoid+Mul+Mul", 3),
        ("transformers-bert", "Add+Add+LayerNormalization", 9),
        ("transformers-gpt2", "Mul+Pow+Mul+Add+Mul+Tanh+Add+Mul", 4),
    ],
)  # fmt: skip
def test_regions_of_real_models(name: str, wanted: str, count: int) -> None:
    assert titles(real(name)).count(wanted) == count


@pytest.mark.parametrize("name", ALL)
def test_few_layers_that_a_kernel_could_compute_are_in_no_group(name: str) -> None:
    model = real(name)
    grouped = {at for group in model.groups for at in group.layers}
    alone = [
        layer.op
        for position, layer in enumerate(model.layers)
        if position not in grouped and layer.kind != "skipped"
        if layer.op in ("Add", "Cast", "Concat", "Expand", "Mul", "Slice", "Transpose")
    ]
    assert len(alone) <= 0.03 * len(model.layers)
