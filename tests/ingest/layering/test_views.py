"""What moves no data is a view: its output is its input's bytes, as running it shows."""

import numpy as np
import pytest

from benanza_ingest.extract import extract
from tests.ingest.onnx_text import content, extracted
from tests.ingest.running import run

VIEWS = {
    "reshape": "<int64[2] s = {4, -1}> { y = Reshape(x, s) }",
    "flatten": "{ y = Flatten<axis=2>(x) }",
    "squeeze": "<int64[1] a = {0}> { y = Squeeze(x, a) }",
    "squeeze of all": "{ y = Squeeze(x) }",
    "unsqueeze": "<int64[1] a = {1}> { y = Unsqueeze(x, a) }",
    "identity": "{ y = Identity(x) }",
    "cast to the same type": "{ y = Cast<to=1>(x) }",
    "cast like the same type": "{ y = CastLike(x, x) }",
    "expand to the same shape": "<int64[4] s = {1, 2, 1, 6}> { y = Expand(x, s) }",
    "expand to ones": "<int64[1] s = {1}> { y = Expand(x, s) }",
    "tile once": "<int64[4] s = {1, 1, 1, 1}> { y = Tile(x, s) }",
    "gather of the only one": "<int64 i = {-1}> { y = Gather<axis=2>(x, i) }",
    "gather of the only one, wherever it is": "<int64[1] z = {0}>"
    " { s = Shape(x) i = Mul(s, z) j = Gather(i, z) y = Gather<axis=0>(x, j) }",
    "gather of all in order": "<int64[2] i = {0, -1}> { y = Gather<axis=1>(x, i) }",
    "transpose of ones": "{ y = Transpose<perm=[1,0,2,3]>(x) }",
    "transpose that keeps the order": "{ y = Transpose<perm=[0,1,2,3]>(x) }",
    "transpose of an axis of one": "{ y = Transpose<perm=[2,1,3,0]>(x) }",
    "slice of all": "<int64[2] b = {0, 0}, int64[2] e = {2, 99}, int64[2] a = {1, 3}>"
    " { y = Slice(x, b, e, a) }",
    "slice of all without steps": "<int64[1] b = {-2}, int64[1] e = {9223372036854775807},"
    ' int64[1] a = {1}> { y = Slice(x, b, e, a, "") }',
    "pad by nothing": "<int64[8] p = {0, 0, 0, 0, 0, 0, 0, 0}> { y = Pad(x, p) }",
    "dropout": "{ y = Dropout(x) }",
    "dropout not training": '<bool t = {0}> { y = Dropout(x, "", t) }',
    "concat of one": "{ y = Concat<axis=1>(x) }",
    "sum of one": "{ y = Sum(x) }",
    "max of one": "{ y = Max(x) }",
    "split in one": "{ y = Split<axis=1, num_outputs=1>(x) }",
    "resize to the same size": '<int64[4] s = {1, 2, 1, 6}> { y = Resize(x, "", "", s) }',
    "resize by one": '<float[4] s = {1, 1, 1, 1}> { y = Resize<mode="linear">(x, "", s) }',
}

MOVES = {
    "cast to another type": "{ z = Cast<to=10>(x) y = Cast<to=1>(z) }",
    "transpose": "{ y = Transpose(x) }",
    "transpose of two axes": "{ y = Transpose<perm=[0,3,2,1]>(x) }",
    "expand": "<int64[4] s = {3, 2, 1, 6}> { y = Expand(x, s) }",
    "tile": "<int64[4] s = {1, 2, 1, 1}> { y = Tile(x, s) }",
    "slice of a part": "<int64[1] b = {1}, int64[1] e = {2}, int64[1] a = {1}>"
    " { y = Slice(x, b, e, a) }",
    "slice backwards": "<int64[1] b = {-1}, int64[1] e = {-99}, int64[1] a = {3}, int64[1] t ="
    " {-1}> { y = Slice(x, b, e, a, t) }",
    "pad": "<int64[8] p = {0, 0, 0, 1, 0, 0, 0, 0}> { y = Pad(x, p) }",
    "pad that shifts": "<int64[8] p = {0, 0, 0, 1, 0, 0, 0, -1}> { y = Pad(x, p) }",
    "concat": "{ y = Concat<axis=1>(x, x) }",
    "split": "{ y, z = Split<axis=1, num_outputs=2>(x) }",
    "gather": "<int64[2] i = {1, 0}> { y = Gather<axis=1>(x, i) }",
    "gather of one": "<int64 i = {1}> { y = Gather<axis=1>(x, i) }",
    "gather of one twice": "<int64[2] i = {0, 0}> { y = Gather<axis=2>(x, i) }",
    "resize": '<float[4] s = {1, 1, 2, 1}> { y = Resize(x, "", s) }',
    "depth to space": "{ z = Concat<axis=1>(x, x) y = DepthToSpace<blocksize=2>(z) }",
}


def model_of(body: str) -> str:
    return f"g (float[1,2,1,6] x) => (float[] y) {body}".replace("float[] y", "y")


def outputs_of(body: str) -> tuple[np.ndarray, np.ndarray]:
    """What goes in and what really comes out."""
    x = np.random.default_rng(1).standard_normal((1, 2, 1, 6)).astype(np.float32)
    typed = content(model_of(body).replace("=> (y)", "=> (float y)"))
    from onnx import ModelProto

    model = ModelProto.FromString(typed)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return x, run(model.SerializeToString(), {"x": x})[0]


@pytest.mark.parametrize("case", VIEWS)
def test_what_moves_no_data_is_a_view(case: str) -> None:
    (layer,) = extracted(model_of(VIEWS[case])).layers
    assert layer.kind == "view"
    assert (layer.flops, layer.bytes, layer.parameters) == (0, 0, 0)
    x, y = outputs_of(VIEWS[case])
    assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("case", MOVES)
def test_what_moves_data_is_movement(case: str) -> None:
    layers = extracted(model_of(MOVES[case])).layers
    assert {layer.kind for layer in layers} == {"movement"}
    assert all(layer.bytes > 0 and layer.flops == 0 for layer in layers)
    x, y = outputs_of(MOVES[case])
    assert x.tobytes() != y.tobytes()


@pytest.mark.parametrize(
    ("text", "opset"),
    [
        ("g (float[2,3] x) => (y) { y, mask = Dropout(x) }", 13),
        ("g (float[2,3] x) => (y) { y = Dropout<ratio=0.4>(x) }", 7),
        ("g (float[1,1,2,3] x) => (y) { y = Upsample<scales=[1.0,1.0,1.0,1.0]>(x) }", 7),
        ("g (float[1,1,2,3] x) => (y) <float[4] s = {1,1,1,1}> { y = Upsample(x, s) }", 9),
        ("g (float[1,1,2,3] x) => (y) <float[4] s = {1,1,1,1}> { y = Resize(x, s) }", 10),
        ("g (float[2,3] x) => (y) { y = Slice<starts=[0], ends=[9]>(x) }", 9),
        ("g (float[2,3] x) => (y) { y = Pad<pads=[0,0,0,0]>(x) }", 10),
    ],
)
def test_views_in_their_older_forms(text: str, opset: int) -> None:
    assert [layer.kind for layer in extracted(text, opset).layers] == ["view"]


@pytest.mark.parametrize(
    ("text", "opset", "kind"),
    [
        ("g (float[2,3] x) => (y, mask) { y, mask = Dropout(x) }", 13, "compute"),
        ('g (float[2,3] x) => (y) <bool t = {1}> { y = Dropout(x, "", t) }', 13, "compute"),
        ('g (float[2,3] x, bool t) => (y) { y = Dropout(x, "", t) }', 13, "compute"),
        # A scale near 1 keeps the size and shifts what is between, says ONNX.
        ("g (float[1,1,2,3] x) => (y) { y = Upsample<scales=[1.0,1.0,1.0,1.1]>(x) }", 7,
         "movement"),
        ("g (float[1,1,2,3] x) => (y) <float[4] s = {1,1,1,1.1}> { y = Resize(x, s) }", 10,
         "movement"),
        ('g (float[1,1,2,3] x) => (y) <float[4] s = {1,1,1,1.1}> { y = Resize(x, "", s) }', 21,
         "movement"),
        ("g (float[2,3] x) => (y) { y = Pad<pads=[0,1,0,-1]>(x) }", 10, "movement"),
        ("g (float[1,1,2,3] x) => (y) <float[8] r = {0,0,0,0,1,1,1,0.5}, int64[4] s = {1,1,2,3}>"
         ' { y = Resize<coordinate_transformation_mode="tf_crop_and_resize">(x, r, "", s) }', 21,
         "movement"),
    ],
)  # fmt: skip
def test_what_looks_like_a_view_and_is_none(text: str, opset: int, kind: str) -> None:
    assert [layer.kind for layer in extracted(text, opset).layers] == [kind]


def test_a_slice_or_pad_by_what_is_not_known_is_no_view() -> None:
    """Even where its result has the shape of its input."""
    sliced = extracted(
        "g (float[4] x, int64[1] b, int64[1] e) => (y) <float[4] t>"
        "{ t = Slice(x, b, e, a, s) y = Relu(t) a = Constant<value_ints=[0]>()"
        " s = Neg(b) }"
    )
    assert [layer.kind for layer in sliced.layers if layer.op == "Slice"] == ["movement"]
    padded = extracted(
        "g (float[4] x, int64[2] p) => (y) <float[4] t> { t = Pad(x, p) y = Relu(t) }"
    )
    assert [layer.kind for layer in padded.layers if layer.op == "Pad"] == ["movement"]


def test_nothing_is_moved_where_there_is_nothing() -> None:
    model = extracted("g (float[0,3] x) => (y) { t = Transpose(x) y = Relu(t) }")
    assert [layer.kind for layer in model.layers] == ["view", "view"]


def test_a_view_keeps_its_place_in_the_graph() -> None:
    model = extracted(
        "g (float[2,3] x) => (y) <int64[1] s = {6}> { a = Relu(x) b = Reshape(a, s) y = Exp(b) }"
    )
    assert model.edges == ((0, 1), (1, 2))
    assert model.layers[1].fingerprint != ""


@pytest.mark.parametrize("to", [1, 10, 11, 6])
def test_a_cast_is_a_view_only_to_its_own_type(to: int) -> None:
    encoded = content(f"g (float[4] x) => (y) {{ y = Cast<to={to}>(x) }}")
    (layer,) = extract(encoded).layers
    assert layer.kind == ("view" if to == 1 else "movement")
