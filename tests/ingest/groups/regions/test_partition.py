"""Fusible layers are divided into regions that one kernel can run, and don't wait in circles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extract import extract
from benanza_ingest.groups.regions.fusible_graph import (
    MOST_INPUTS,
    MOST_LAYERS,
    MOST_RESULTS,
    FusibleGraph,
)
from benanza_ingest.groups.regions.partition import partition
from tests.examples import examples
from tests.ingest.groups.graph_rules import is_acyclic_with
from tests.ingest.groups.test_joining import wired
from tests.ingest.onnx_text import content
from tests.ingest.real_models import ALL
from tests.ingest.real_models import content as file_of
from tests.ingest.real_models import extracted as real

HEAD = (
    "g (float[2,6,8] x, float[2,6,8] z, float[2,8,6] t, float[8] s, int64[2,6] i,"
    " float[2,2,8] pair, float[2,4,4] four) => ({out})"
    ' <float[8,8] w = ["location": "w"], float[8] k = ["location": "w"], int64[1] last = {{-1}},'
    " int64[1] middle = {{1}}, int64[3] more = {{4, 2, 6}}, int64[4] heads = {{2, 6, 2, 4}},"
    " int64[1] one = {{1}}, int64[1] none = {{0}}, int64[1] end = {{100}},"
    " int64[4] many = {{3, 2, 6, 8}}, int64[3] wide = {{2, 6, 8}}, int64[1] back = {{2}},"
    ' float[9,8] table = ["location": "w"]> {{ {body} }}'
)


def regions(body: str, out: str = "y") -> list[str]:
    """The operators of each region's parts, those of one layer left out."""
    wiring = wired(content(HEAD.format(body=body, out=out), opset=23))
    found = []
    for parts in partition(FusibleGraph(wiring), set()):
        names = ["+".join(wiring.layers[at].op for at in part) for part in parts]
        if sum(map(len, parts)) > 1:
            found.append(" | ".join(names))
    return found


NORM = "p = Mul({0}, {0}) m = ReduceMean(p, last) r = Sqrt(m) n = Div({0}, r)"


@pytest.mark.parametrize(
    ("body", "out", "wanted"),
    [
        # Several results, and values that are read several times.
        ("a = Add(x, z) y = LayerNormalization(a, k)", "y, a", ["Add+LayerNormalization"]),
        (f"a = Add(x, z) {NORM.format('a')} y = Mul(n, k)", "y, a",
         ["Add+Mul+ReduceMean+Sqrt+Div+Mul"]),
        ("g = Sigmoid(x) h = Mul(x, g) y = Mul(h, z)", "y", ["Sigmoid+Mul+Mul"]),
        # What follows a reduction, row by row.
        ("n = Softmax(x) q = IsNaN(n) y = Where(q, x, n)", "y", ["Softmax+IsNaN+Where"]),
        (f"{NORM.format('x')} h = Reshape(n, heads) y = Transpose<perm=[0,2,1,3]>(h)", "y",
         ["Mul+ReduceMean+Sqrt+Div+Reshape+Transpose"]),
        ("n = LayerNormalization(x, k) a, b = Split<axis=2, num_outputs=2>(n) c = Neg(b)"
         " y = Concat<axis=2>(c, a)", "y", ["LayerNormalization+Split+Neg+Concat"]),
        ("n = LayerNormalization(x, k) a = Slice(n, one, end, middle)"
         " b = Slice(n, none, one, middle) y = Concat<axis=1>(a, b)", "y",
         ["LayerNormalization+Slice+Slice+Concat"]),
        ("n = Softmax(x) y = LayerNormalization(n, k)", "y", ["Softmax+LayerNormalization"]),
        # One row of the result would need several rows.
        ("n = Softmax(x) m = ReduceMean(n, middle) y = Neg(m)", "y", ["ReduceMean+Neg"]),
        ("n = Softmax(x) r = Transpose<perm=[0,2,1]>(n) q = Neg(r) y = Softmax(q)", "y",
         ["Softmax+Transpose+Neg"]),
        ("n = Softmax(x) a = Slice(n, one, end, middle) b = Slice(n, none, last, middle)"
         " c = Add(a, b) y = Neg(c)", "y", ["Softmax+Slice+Slice", "Add+Neg"]),
        ("n = Softmax(x) m = Softmax<axis=1>(x) c = Add(m, n) y = Neg(c)", "y", ["Add+Neg"]),
        # A few elements are no row, but each of them may need another row.
        ("n = Softmax<axis=1>(pair) m = Mul(n, pair) c = ReduceSum(m, middle) y = Softmax(c)", "y",
         ["Softmax+Mul+ReduceSum+Softmax"]),
        # Each of them would follow from a few others, and so on.
        ("n = Softmax<axis=1>(four) m = Softmax<axis=2>(n) c = LogSoftmax<axis=1>(four)"
         " y = Mul(c, m)", "y", ["Softmax | LogSoftmax", "Softmax+Mul"]),
        ("n = Softmax<axis=1>(pair) m = Softmax<axis=0>(n) y = Neg(m)", "y",
         ["Softmax+Softmax+Neg"]),
        ("n = Softmax(pair) c = ReduceSum(n, middle) y = Neg(c)", "y", ["ReduceSum+Neg"]),
        # A row would be computed again and again.
        ("n = Softmax(x) e = Expand(n, many) y = Neg(e)", "y", ["Expand+Neg"]),
        # A result that doesn't fit the rows.
        ("a = Neg(s) b = Add(a, x) y = Softmax(b)", "y, a", ["Add+Softmax"]),
        # Indices that a model is given, and where they lie.
        ("e = Gather(table, i) a = Add(e, x) y = LayerNormalization(a, k)", "y, a",
         ["Gather+Add+LayerNormalization"]),
        ("u = Unsqueeze(i, back) e = Expand(u, wide) g = GatherElements<axis=1>(x, e)"
         " y = Mul(g, z)", "y", ["Unsqueeze+Expand+GatherElements+Mul"]),
        # Indices that are computed may be anything, if only the region is run.
        ("j = Add(i, one) h = Mul(j, j) e = Gather(table, h) y = Add(e, x)", "y",
         ["Add+Mul", "Gather+Add"]),
        # A heavy layer in between.
        ("a = Neg(x) b = MatMul(a, w) y = Add(a, b)", "y", []),
        ("a = Neg(x) b = MatMul(a, w) c = Relu(a) y = Add(c, b)", "y", ["Neg+Relu"]),
    ],
)  # fmt: skip
def test_connected_layers(body: str, out: str, wanted: list[str]) -> None:
    assert regions(body, out) == wanted


@pytest.mark.parametrize(
    ("body", "out", "wanted"),
    [
        ("a = Neg(x) b = Exp(x) y = MatMul(a, w) q = MatMul(b, w)", "y, q", ["Neg | Exp"]),
        ("a = Neg(x) b = Exp(t) y = MatMul(a, b)", "y", ["Neg | Exp"]),
        ("a = Neg(x) b = Exp(z) y = MatMul(a, w) q = MatMul(b, w)", "y, q", []),
        # The products of one value, in two shapes.
        ("p = MatMul(x, w) q = MatMul(x, w) a = Transpose<perm=[1,0,2]>(p)"
         " b = Transpose<perm=[0,2,1]>(q) y = MatMul(a, w) v = MatMul(b, t)", "y, v",
         ["Transpose | Transpose"]),
        # One waits for the other.
        ("a = Neg(x) b = MatMul(a, w) c = Mul(b, x) y = MatMul(c, w)", "y", []),
        # Rows of different lengths.
        ("a = Softmax(x) b = Softmax<axis=1>(x) y = MatMul(a, w) q = MatMul(b, w)", "y, q", []),
    ],
)  # fmt: skip
def test_layers_side_by_side(body: str, out: str, wanted: list[str]) -> None:
    assert regions(body, out) == wanted


def test_a_long_chain_is_cut() -> None:
    body = " ".join(f"v{n + 1} = Neg(v{n})" for n in range(150)).replace("v0", "x")
    sizes = [region.count("+") + 1 for region in regions(body, "v150")]
    assert sizes == [MOST_LAYERS, MOST_LAYERS, 150 - 2 * MOST_LAYERS]


def test_many_results_are_cut() -> None:
    count = 3 * MOST_RESULTS
    body = "v0 = Neg(x) " + " ".join(f"v{n + 1} = Neg(v{n})" for n in range(count - 1))
    found = regions(body, ", ".join(f"v{n}" for n in range(count)))
    assert sum(region.count("+") + 1 for region in found) == count
    assert max(region.count("+") + 1 for region in found) <= MOST_RESULTS


@pytest.mark.parametrize("name", ALL)
def test_the_regions_of_real_models(name: str) -> None:
    wiring = wired(file_of(name))
    graph = FusibleGraph(wiring)
    found = [sorted(at for part in parts for at in part) for parts in partition(graph, set())]
    everything = [position for region in found for position in region]
    assert sorted(everything) == sorted(graph.layers)
    assert is_acyclic_with(real(name), found)
    for region in found:
        assert len(region) == 1 or graph.is_runnable(region)
        assert len(graph.reads(region)) <= MOST_INPUTS or len(region) == 1


@given(st.data())
@examples(1)
def test_regions_of_any_graph_never_wait_in_a_circle(data: st.DataObject) -> None:
    values = ["x", "z"]
    lines = []
    for number in range(data.draw(st.integers(2, 14))):
        near = st.sampled_from([*values[-5:], "x", "z"])
        op = data.draw(
            st.sampled_from(("Add", "Neg", "MatMul", "Softmax", "Softmax<axis=1>", "Mul"))
        )
        inputs = [data.draw(near) for _ in range(2 if op in ("Add", "Mul") else 1)]
        inputs += ["w"] if op == "MatMul" else []
        lines.append(f"v{number} = {op}({', '.join(inputs)})")
        values.append(f"v{number}")
    outs = ", ".join(values[-2:])
    encoded = content(HEAD.format(body=" ".join(lines), out=outs), opset=23)
    found = partition(FusibleGraph(wired(encoded)), set())
    blocks = [sorted(at for part in parts for at in part) for parts in found]
    assert is_acyclic_with(extract(encoded), blocks)
