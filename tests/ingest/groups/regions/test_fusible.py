"""Which layers may be in a region, and the rows of reductions."""

import pytest

from benanza_ingest.groups.regions.fusible import Fusible, Role, fusible
from benanza_ingest.groups.regions.rows import rows_of
from tests.ingest.onnx_text import extracted

HEAD = (
    "g (float[2,6,4,8] x, float[2,6,4,8] z, int64[3] places, int64[2] pads, bool[4,8] mask,"
    " int64[2,3,4,8] each, float[2,0,4,8] nothing, int32[2,6,4,8] whole)"
    " => (y) <float[6] k = [\"location\": \"w\"], float[8] s = [\"location\": \"w\"],"
    " float[9,8] table = [\"location\": \"w\"], int64[1] last = {{-1}}, int64[2] fixed = {{3, 0}},"
    " int64[4] larger = {{2, 6, 8, 24}}, int64[4] odd = {{2, 6, 6, 8}},"
    " float[4] nearly = {{1.0, 1.0, 2.1, 1.0}}, int64[8] cuts = {{0, 0, 1, 2, 0, 0, -1, 0}},"
    " float[4] factors = {{1.0, 1.0, 2.0, 3.0}}, int64[8] sides = {{0, 0, 1, 2, 0, 0, 1, 0}},"
    " int64[2] two = {{1, 3}}, int64[0] none = {{}}, float[3] g = [\"location\": \"w\"],"
    " float[6,1,3,3] own = [\"location\": \"w\"], float[12,1,3,3] twice = [\"location\": \"w\"],"
    " float[6,2,3,3] grouped = [\"location\": \"w\"]> {{ {} }}"
)  # fmt: skip


def only(body: str, opset: int = 23) -> Fusible | None:
    return fusible(extracted(HEAD.format(body), opset).layers[-1])


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("y = Add(x, z)", Role.ELEMENTWISE),
        ("y = Where(mask, x, z)", Role.ELEMENTWISE),
        ("y = Cast<to = 10>(x)", Role.ELEMENTWISE),
        ("y = BatchNormalization(x, k, k, k, k)", Role.ELEMENTWISE),
        ("y = Transpose<perm = [0, 2, 1, 3]>(x)", Role.MOVEMENT),
        ("y = Gather<axis = 1>(x, fixed)", Role.MOVEMENT),
        ("y = Gather<axis = 1>(x, places)", Role.MOVEMENT),
        ("y = Gather(table, places)", Role.MOVEMENT),
        ("y = Pad(x, sides)", Role.MOVEMENT),
        ('y = Pad<mode = "reflect">(x, sides)', Role.MOVEMENT),
        ("y = GatherElements<axis = 1>(x, each)", Role.MOVEMENT),
        ("y = Concat<axis = 1>(x, z)", Role.MOVEMENT),
        ("y = Reshape(x, last)", Role.VIEW),
        ("y = Transpose<perm = [0, 1, 2, 3]>(x)", Role.VIEW),
        ("y = Softmax(x)", Role.REDUCTION),
        ("y = Softmax<axis = 2>(x)", Role.SHORT_REDUCTION),
        ("y = ReduceMean(x, two)", Role.REDUCTION),
        ('y = Resize<mode = "linear">(x, , , larger)', Role.WINDOW),
        ('y = Resize<mode = "linear">(x, , , odd)', Role.WINDOW),
        ("y = Resize(x, , , larger)", Role.WINDOW),
        ("y = Upsample(x, factors)", Role.WINDOW),
        ("y = LayerNormalization(x, s)", Role.REDUCTION),
        ("y = GlobalAveragePool(x)", Role.REDUCTION),
        ("y = Conv<group = 6>(x, own)", Role.WINDOW),
        ("y = MaxPool<kernel_shape = [3, 3]>(x)", Role.WINDOW),
        ("y = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x)", Role.WINDOW),
    ],
)
def test_what_may_be_in_a_region(body: str, role: Role) -> None:
    found = only(body)
    assert found is not None
    assert found.role is role


@pytest.mark.parametrize(
    "body",
    [
        "y = MatMul(x, z)",
        "half = Constant<value_float = 0.5>() on = Constant<value = bool {1}>()"
        " y = Dropout(x, half, on)",
        "y = GatherND(x, each)",
        "y = Resize(x, , , odd)",  # some elements twice, some once
        "y = Resize(x, , nearly)",
        'y = Resize<mode = "linear">(whole, , , larger)',
        'y = Pad<mode = "edge">(x, cuts)',
        "y = Resize(nothing, , , larger)",
        'y = Resize<nearest_mode = "ceil">(x, , , larger)',
        'y = Resize<mode = "cubic">(x, , , larger)',
        'y = Resize<mode = "linear", antialias = 1>(x, , , odd)',
        'y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">'
        "(x, k, , larger)",
        "y = Pad(mask, pads, , last)",
        "n, mean = LayerNormalization(x, s) y = Add(n, mean)",
        "y = CumSum(x, last)",
        "y = ArgMax(x)",
        "y = NonZero(x)",
        "y = GlobalLpPool(x)",
        "y = Conv<group = 3>(x, grouped)",
        "y = Conv<group = 6>(x, twice)",
        "y = Conv<group = 6>(x, z)",  # a filter that is computed
        "y = MaxPool<kernel_shape = [9, 9], pads = [8, 8, 8, 8]>(x)",
        "m, y = MaxPool<kernel_shape = [2, 2]>(x)",
    ],
)
def test_what_may_not(body: str) -> None:
    layers = extracted(HEAD.format(body), 23).layers
    assert fusible(layers[0]) is None


@pytest.mark.parametrize(
    ("body", "inner", "opset"),
    [
        ("y = Softmax(x)", {3}, 23),
        ("y = Softmax<axis = 2>(x)", {2, 3}, 11),
        ("y = Softmax(x)", {1, 2, 3}, 11),
        ("y = LpNormalization<axis = 1>(x)", {1}, 23),
        ("y = LayerNormalization<axis = 2>(x, z)", {2, 3}, 23),
        ("y = RMSNormalization(x, s)", {3}, 23),
        ("y = InstanceNormalization(x, k, k)", {2, 3}, 23),
        ("y = ReduceMean(x, two)", {1, 3}, 23),
        ("y = ReduceMean(x, none)", {0, 1, 2, 3}, 23),
        ("y = ReduceMean<axes = [-1]>(x)", {3}, 13),
        ("y = ReduceMean(x)", {0, 1, 2, 3}, 13),
        ("y = GlobalMaxPool(x)", {2, 3}, 23),
    ],
)
def test_the_rows_of_a_reduction(body: str, inner: set[int], opset: int) -> None:
    found = only(body, opset)
    assert found is not None
    assert found.reads == rows_of((2, 6, 4, 8), frozenset(inner))
    sizes = dict(enumerate((2, 6, 4, 8)))
    count = length = 1
    for axis, size in sizes.items():
        count, length = (count, length * size) if axis in inner else (count * size, length)
    assert found.reduction == (count, length)


def test_the_rows_that_a_reduction_writes() -> None:
    kept, dropped = only("y = ReduceMax(x, last)"), only("y = ReduceMax<keepdims = 0>(x, last)")
    assert kept is not None
    assert dropped is not None
    assert kept.writes == rows_of((2, 6, 4, 1), frozenset((3,)))
    assert dropped.writes == rows_of((2, 6, 4), frozenset())


def test_the_rows_of_groups_of_channels() -> None:
    text = HEAD.format("y = GroupNormalization<num_groups = 3>(x, k, k)")
    typed = text.replace("(y)", "(float[2,6,4,8] y)")  # onnx doesn't infer it
    found = fusible(extracted(typed, 23).layers[-1])
    assert found is not None
    assert found.reduction == (6, 64)
    assert found.reads == (((2, 3),), ((3, 1), (2, 0)), ((4, 0),), ((8, 0),))


def test_a_reduction_over_unknown_axes() -> None:
    assert only("y = ReduceSum(x, places)") is None
    assert only("y = ReduceSum<noop_with_empty_axes = 1>(x)") is None


def test_what_is_read_element_by_element() -> None:
    found = only("y = Reshape(x, last)")
    assert found is not None
    assert found.data == (0,)
