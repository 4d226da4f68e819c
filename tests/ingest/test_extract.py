"""Whole models: real ones, all that onnx tests itself with, small exports, and damaged ones."""

import hashlib
import re
import warnings
from pathlib import Path

import msgspec
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.backend.test.case.node import collect_testcases

from benanza_ingest.core import ingest
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.layering.views import why_nothing_runs
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import ModelPublished, event_id
from benanza_schemas.identity import fingerprint
from benanza_schemas.vocabulary import COPIED_STATE
from tests.examples import examples
from tests.ingest.mutations import with_damaged_bytes, with_damaged_fields
from tests.ingest.onnx_text import content, extracted, kinds
from tests.ingest.real_models import ALL, DEPEND_ON_DATA, EXPORTED, LIGHT, MATRIX_FLOPS
from tests.ingest.real_models import content as file_of
from tests.ingest.real_models import extracted as real
from tests.shared import made_once

CASES = "cases"
ONNX_DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


def check(model: ExtractedModel) -> None:
    """What holds of every model."""
    positions = range(len(model.layers))
    assert list(model.edges) == sorted(set(model.edges))
    assert all(a in positions and b in positions and a < b for a, b in model.edges)
    for layer in model.layers:
        assert (layer.kind == "skipped") == (layer.layer is None)
        if not layer.reason.startswith(COPIED_STATE):
            nothing_runs = layer.layer is None or bool(why_nothing_runs(layer.layer))
            assert bool(layer.reason) == nothing_runs
        assert "\n" not in layer.reason
        assert min(layer.flops, layer.bytes, layer.parameters) >= 0
        if layer.layer is not None:
            assert fingerprint(layer.layer) == layer.fingerprint


LAYERS = {
    "alexnet": 24,
    "densenet121": 668,
    "inception_v1": 143,
    "inception_v2": 371,
    "resnet50": 176,
    "shufflenet": 203,
    "squeezenet": 66,
    "vgg19": 46,
    "zfnet512": 22,
}
"""Nodes of each model but constants; reference counts of the published study differ by those
nodes that other versions of the same models have."""

GIGAFLOPS = {"alexnet": 1.4, "resnet50": 8.2, "squeezenet": 0.7, "vgg19": 39.3}
"""What the literature says, a multiply-add counted as two."""


@pytest.mark.parametrize("name", LIGHT)
def test_a_light_model_has_all_its_layers(name: str) -> None:
    model = real(name)
    check(model)
    assert len(model.layers) == LAYERS[name]
    assert "skipped" not in {layer.kind for layer in model.layers}
    if name in GIGAFLOPS:
        total = sum(layer.flops for layer in model.layers) / 1e9
        assert total == pytest.approx(GIGAFLOPS[name], rel=0.1)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("alexnet", 61e6), ("resnet50", 25.6e6), ("squeezenet", 1.24e6), ("vgg19", 143.7e6)],
)
def test_parameters_are_those_that_the_literature_says(name: str, parameters: float) -> None:
    found = sum(layer.parameters for layer in real(name).layers)
    assert found == pytest.approx(parameters, rel=0.02)


@pytest.mark.parametrize("name", [name for name in EXPORTED if name not in DEPEND_ON_DATA])
def test_an_exported_model_has_no_skipped_layer(name: str) -> None:
    model = real(name)
    check(model)
    assert [layer.reason for layer in model.layers if layer.kind == "skipped"] == []
    assert len(model.layers) > 20


@pytest.mark.parametrize("name", sorted(DEPEND_ON_DATA))
def test_of_a_detector_what_comes_after_its_candidates_is_skipped(name: str) -> None:
    """And nothing else: NonZero picks the boxes whose scores are high enough."""
    model = real(name)
    check(model)
    after = {at for at, layer in enumerate(model.layers) if layer.op == "NonZero"}
    for a, b in model.edges:  # sorted, so that all that leads to `a` was there before
        after |= {b} if a in after else set()
    skipped = {at for at, layer in enumerate(model.layers) if layer.kind == "skipped"}
    assert skipped
    assert skipped <= after
    for at in skipped:
        assert re.search("depends on (the )?data", model.layers[at].reason)


@pytest.mark.parametrize("name", sorted(MATRIX_FLOPS))
def test_a_raw_export_has_little_that_the_optimised_one_has_not(name: str) -> None:
    """What the exporter's optimisation takes out costs nothing here either, batch norms aside,
    which it folds into the convolutions before them."""

    def work(model: ExtractedModel) -> int:
        return sum(x.flops for x in model.layers if x.op != "BatchNormalization")

    assert work(real(f"{name}-raw")) == pytest.approx(work(real(name)), rel=0.03)


def test_extracting_twice_gives_the_same() -> None:
    for name in ("inception_v1", "torchvision-swin_t-raw"):
        assert extract(file_of(name)) == real(name)


EXPORTS = {
    "cast like, cast and expand that do nothing": (
        "g (float[N,4] x) => (y) <float two = {2}> { s = Shape(x) t = CastLike(two, x)"
        " e = Expand(x, s) c = Cast<to=1>(e) y = Mul(c, t) }",
        [("Expand", "view"), ("Cast", "view"), ("Mul", "compute")],
    ),
    "transpose and slice that move nothing": (
        "g (float[N,4] x) => (y) <int64[1] b = {0}, int64[1] e = {9223372036854775807},"
        " int64[1] a = {1}, int64[1] s = {1}> { t = Transpose<perm=[0,1]>(x)"
        " u = Slice(t, b, e, a, s) y = Relu(u) }",
        [("Transpose", "view"), ("Slice", "view"), ("Relu", "compute")],
    ),
    "chunk": (
        "g (float[N,6] x) => (y) <int64 i = {0}, int64 j = {1}, int64 n = {3}> {"
        " s = SplitToSequence<axis=1>(x, n) a = SequenceAt(s, i) b = SequenceAt(s, j)"
        " t = Sigmoid(b) y = Mul(a, t) }",
        [("Split", "movement"), ("Sigmoid", "compute"), ("Mul", "compute")],
    ),
    "view with a size that is computed": (
        "g (float[N,4,6] x) => (y) <int64 z = {0}, int64[1] m = {-1}, int64[1] ax = {0}> {"
        " s = Shape(x) b = Gather<axis=0>(s, z) u = Unsqueeze(b, ax)"
        " p = Concat<axis=0>(u, m) r = Reshape<allowzero=1>(x, p) y = Relu(r) }",
        [("Reshape", "view"), ("Relu", "compute")],
    ),
    "causal mask": (
        "g (float[N,4,4] x) => (y) <int64 z = {0}, int64 n = {4}, int64 one = {1}, int64[1] c0 ="
        " {0}, int64[1] c1 = {1}, float low = {-10000}, float nought = {0}> {"
        " r = Range(z, n, one) a = Unsqueeze(r, c0) b = Unsqueeze(r, c1) g = LessOrEqual(a, b)"
        " w = Where(g, nought, low) y = Add(x, w) }",
        [("Add", "compute")],
    ),
    "nodes whose outputs nobody reads": (
        "g (float[N,4] x) => (y) { a = Shape(x) b = IsNaN(x) c = Exp(x) y = Relu(x)"
        " d = Identity(y) }",
        [("Relu", "compute")],
    ),
    "layer norm in parts": (
        "g (float[N,4] x) => (y) <int64[1] a = {-1}, float e = {0.00001}> {"
        " m = ReduceMean(x, a) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, a) s = Add(v, e)"
        " r = Sqrt(s) y = Div(d, r) }",
        [("ReduceMean", "compute"), ("Sub", "compute"), ("Mul", "compute"),
         ("ReduceMean", "compute"), ("Add", "compute"), ("Sqrt", "compute"), ("Div", "compute")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EXPORTS)
def test_graphs_as_exporters_write_them(case: str) -> None:
    text, expected = EXPORTS[case]
    model = extracted(text, batch=2)
    check(model)
    assert kinds(model) == expected


@pytest.mark.parametrize("folder", ["light", "simple", "pytorch-converted", "pytorch-operator"])
def test_onnxs_own_models_go_through(folder: str) -> None:
    files = sorted((ONNX_DATA / folder).glob("**/*.onnx"))
    assert len(files) >= 9
    for file in files:
        check(extract(file.read_bytes()))


def node_cases() -> list[bytes]:
    """onnx's tests of single operators; making them runs them all."""

    def make(folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [case.model for case in collect_testcases(None)]
        encoded = [model.SerializeToString() for model in models if model is not None]
        (folder / CASES).write_bytes(msgspec.msgpack.encode(encoded))

    written = made_once("operator-tests-of-onnx", make) / CASES
    return msgspec.msgpack.decode(written.read_bytes(), type=list[bytes])


@pytest.mark.slow
def test_onnxs_own_operator_tests_go_through() -> None:
    cases = node_cases()
    assert len(cases) > 1000
    skipped = 0
    for encoded in cases:
        model = extract(encoded)
        check(model)
        skipped += any(layer.kind == "skipped" for layer in model.layers)
    assert skipped < len(cases) / 4, "most operators are known well enough to be benchmarked"


@pytest.mark.slow
def test_onnxs_own_operator_tests_damaged() -> None:
    cases = node_cases()
    for seed in range(1500):  # `make campaign` damages other models, for longer
        survive(with_damaged_fields(cases[seed % len(cases)], seed))


def survive(encoded: bytes) -> None:
    """Whatever the bytes: events that can be read again, or one line that says what is wrong."""
    sha256 = hashlib.sha256(encoded).hexdigest()
    published = ModelPublished(event_id=event_id("x", sha256), name="damaged", sha256=sha256)
    try:
        events = ingest(published, encoded, Limits())
    except ModelError as error:
        events, complaint = [], str(error)
    else:
        complaint = "none"
    assert complaint.strip()
    assert "\n" not in complaint
    for event in events:
        assert encode(decode(encode(event))) == encode(event)


@given(st.binary(max_size=300))
@examples(times=3)
def test_random_bytes(encoded: bytes) -> None:
    survive(encoded)


def _is_refused(encoded: bytes) -> bool:
    try:
        extract(encoded)
    except ModelError as error:
        return "\n" not in str(error)
    return False


@pytest.mark.parametrize("name", ["squeezenet", "transformers-gpt2", "torchvision-resnet18-raw"])
def test_a_truncated_file(name: str) -> None:
    whole = file_of(name)
    lengths = {*range(200), *range(0, len(whole), max(1, len(whole) // 150))}
    refused = 0
    for length in sorted(lengths):
        refused += _is_refused(whole[:length])
    assert refused > 0.9 * len(lengths), "a file that ends between two fields may pass for whole"


@pytest.mark.parametrize("name", ["squeezenet", "transformers-llama", "torchvision-resnet18"])
def test_damaged_bytes(name: str) -> None:
    for seed in range(400):
        survive(with_damaged_bytes(file_of(name), seed))


@pytest.mark.parametrize("name", ["squeezenet", "transformers-t5-encoder", "timm-mixer_s32_224"])
def test_damaged_fields(name: str) -> None:
    for seed in range(120):
        survive(with_damaged_fields(file_of(name), seed))


def test_bodies_nested_beyond_all_reason_are_an_error() -> None:
    body = "o0 = Relu(x)"
    for level in range(1, 31):
        body = (
            f"o{level} = If (c) <then_branch = t () => (o{level - 1}) {{ {body} }},"
            " else_branch = e () => (q) { q = Relu(x) }>"
        )
    survive(content(f"g (float[2] x, bool c) => (o30) {{ {body} }}"))


def test_all_models_have_what_every_model_has() -> None:
    assert len(ALL) == 9 + 42
