"""Defects that were put into a run of ONNX Runtime are found, with their positions."""

from pathlib import Path

import pytest

import benanza
from benanza.onnxruntime import framework
from benanza.results.profile import ModelProfile
from benanza_runner.measuring.stopping import Rule
from tests.benanza.conftest import FirstRun
from tests.ingest.onnx_text import content
from tests.runner.onnxruntime.needs_blocks import needs_blocks
from tests.shared import copied

pytestmark = [pytest.mark.integration, needs_blocks]

MODEL = """
g (float[1, 64, 112, 112] x) => (float[1, 64, 112, 112] y)
<float[64, 1, 3, 3] w = ["location": "w"]> {
    a = Conv <group = 64, pads = [1, 1, 1, 1]> (x, w)
    b = Relu(a)
    c = Softmax(b)
    d = Conv <group = 64, pads = [1, 1, 1, 1]> (c, w)
    y = Relu(d)
}
"""
"""Between two depth-wise convolutions with their activations, an operator that isn't done in
blocks. The activations take long enough beside the convolutions to be told from noise.
"""


PADDED = """
g (float[1, 64, 112, 112] x) => (float[1, 8, 114, 114] y)
<float[8, 64, 1, 1] w = ["location": "w"], int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> {
    a = Pad(x, p)
    b = Conv(a, w)
    y = Relu(b)
}
"""
"""The convolution takes no longer than the Pad."""

MOVED = """
g (float[1, 32, 112, 112] x) => (float[1, 32, 112, 112] y) {
    a = Relu(x)
    b = Transpose <perm = [0, 2, 3, 1]> (a)
    c = Transpose <perm = [0, 3, 1, 2]> (b)
    y = Softmax <axis = 1> (c)
}
"""


COMPARED = Rule(warm_up_us=50_000, least_us=300_000, cap_us=600_000)
"""So long a run is timed: parts of it are compared."""


@pytest.fixture(scope="module")
def profiles(
    first_run: FirstRun, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, ModelProfile]:
    """The runs with each configuration, beside the bound."""
    return profiles_of(MODEL, first_run, tmp_path_factory.mktemp("defects"))


def profiles_of(model: str, first_run: FirstRun, folder: Path) -> dict[str, ModelProfile]:
    """The runs of a model with each configuration, beside the bound. What the system can reach is
    known from the first run.
    """
    path = folder / "model.onnx"
    path.write_bytes(content(model))
    copied(first_run[0], folder / "data")
    benanza.lower_bound(path, data=folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framework, "RULE", COMPARED)
        found = benanza.profile(path, all_configurations=True, data=folder / "data")
    return {each.configuration: each for each in found.profiles}


def kinds_at(profile: ModelProfile, *positions: int) -> set[str]:
    """What is lost in the parts that these layers are in."""
    return {part.kind for part in profile.parts if set(positions) & set(part.positions)}


def test_an_unfused_pair(profiles: dict[str, ModelProfile]) -> None:
    """Without optimisations each Relu is a call of its own; the bound has it in the convolution,
    unless a busy machine let the two apart look faster.
    """
    apart = profiles["no optimisations"]
    for pair in ((0, 1), (3, 4)):
        holding = [each for each in apart.parts if set(pair) <= set(each.positions)]
        if not holding:
            pytest.skip("the bound takes the two one by one: the machine was busy")
        (part,) = holding
        assert part.kind == "more calls"
        assert part.op == "Conv+Relu"
        assert part.bound_calls == 1
        assert part.us > part.bound_us


@pytest.mark.parametrize(
    ("model", "positions", "op"),
    [(PADDED, (0, 1, 2), "Pad+Conv+Relu"), (MOVED, (0, 1, 2), "Relu+Transpose+Transpose")],
    ids=["a padding", "a pair of Transposes"],
)
def test_what_needs_no_call(
    model: str, positions: tuple[int, ...], op: str, first_run: FirstRun, tmp_path: Path
) -> None:
    """A convolution pads by itself, and two Transposes cancel out: the bound has one call there."""
    for attempt in range(3):  # A busy machine may let them look faster one by one.
        folder = tmp_path / str(attempt)
        folder.mkdir()
        apart = profiles_of(model, first_run, folder)["no optimisations"]
        found = [each for each in apart.parts if set(positions) & set(each.positions)]
        if len(found) == 1:
            break
    (part,) = found
    assert (part.kind, part.positions, part.op) == ("more calls", positions, op)
    assert part.bound_calls == 1


def test_a_slower_algorithm(profiles: dict[str, ModelProfile]) -> None:
    """Channels first, where blocks are faster."""
    plain, blocks = profiles["extended optimisations"], profiles["default options"]
    convolutions = [call.us for call in plain.calls if call.op == "FusedConv"]
    faster = [call.us for call in blocks.calls if call.op == "Conv"]
    assert len(convolutions) == len(faster) == 2
    if min(convolutions) < 1.2 * max(faster):
        pytest.skip("blocks were not faster just now")
    assert kinds_at(plain, 0, 3) == {"slower call"}


def test_conversions_around_what_has_no_blocks(profiles: dict[str, ModelProfile]) -> None:
    """They stand between the calls of their neighbours."""
    found = profiles["default options"]
    ops = [call.op for call in found.calls]
    assert ops == [
        *("ReorderInput", "Conv", "ReorderOutput"),
        "Softmax",
        *("ReorderInput", "Conv", "ReorderOutput"),
    ]
    lost = {
        at for part in found.parts for at in part.calls if part.kind == "conversions and copies"
    }
    assert lost == {0, 2, 4, 6}
    assert [call.positions for call in found.calls if call.positions] == [(0, 1), (2,), (3, 4)]
