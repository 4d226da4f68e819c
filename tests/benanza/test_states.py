"""A decoder's step from its file to what people read: states in place, copied, and swept."""

import json
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.looking.bounds import known_bounds
from benanza.looking.what_if import known_what_ifs
from benanza.request import BoundPolicy, RunRequest
from benanza.running.pipeline import run
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.conftest import FirstRun
from tests.benanza.data_folder import settings_in
from tests.benanza.tokens.small_step import swept_step
from tests.ingest.onnx_text import proto
from tests.shared import copied

pytestmark = pytest.mark.integration

STEP = """g (float[batch,4,past,16] before, float[batch,4,1,16] k, float[batch,4,1,16] q,
    float[batch,8,past,16] other, int64[batch] order)
    => (float[batch,4,"past + 1",16] after, float[batch,8,"past + 1",16] changed, y) {
    new = Neg(k)
    after = Concat<axis = 2>(before, new)
    turned = Transpose<perm = [0,1,3,2]>(after)
    scores = MatMul(q, turned)
    y = Softmax(scores)
    reordered = Gather<axis = 0>(other, order)
    both = Concat<axis = 1>(new, q)
    changed = Concat<axis = 2>(reordered, both)
}"""

PASTS = (1_000, 3_000)


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("step") / "step.onnx"
    onnx.save(proto(STEP.replace('"past + 1"', "total")), path)
    return path


@pytest.fixture(scope="module")
def swept(first_run: FirstRun, step: Path) -> Settings:
    settings = settings_in(copied(first_run[0], step.parent / "data"))
    found = run(RunRequest((str(step),), sweep={"batch": (1, 2), "past": PASTS}), settings)
    assert found.errors == ()
    return settings


def test_each_combination_of_sizes_has_a_bound(swept: Settings) -> None:
    bounds = known_bounds(swept, ["step"], BoundPolicy(), {}, None).bounds
    points = {(bound.batch, bound.dims["past"]) for bound in bounds}
    assert points == {(batch, past) for batch in (1, 2) for past in PASTS}
    assert not any(bound.partial for bound in bounds)


def test_a_bound_says_how_many_states_are_in_place_and_why_others_are_copied(
    swept: Settings,
) -> None:
    for bound in known_bounds(swept, ["step"], BoundPolicy(), {}, None).bounds:
        assert (bound.states.in_place, bound.states.copied) == (1, 1)
        assert bound.states.why_copied == ("its sequences are reordered",)


def test_copying_what_is_kept_takes_longer(swept: Settings) -> None:
    models = known_what_ifs(swept, ["step"], ["fp32"], {"past": PASTS[1]}).models
    for model in models:
        (copied,) = (w for w in model.what_ifs if w.name == "states copied, not in place")
        assert copied.more_us is not None
        assert copied.more_us > 0
    assert len(models) == 2


def test_what_tokens_take_is_said_for_each_point(swept: Settings, step: Path) -> None:
    data = ["--data", str(step.parent / "data")]
    asked = CliRunner().invoke(cli, ["generation", "step", "--price", "2", *data])
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.count("bound") == 4
    assert "cost of a million" in asked.stdout
    asked = CliRunner().invoke(cli, ["generation", "step", "--format", "json", *data])
    points = json.loads(asked.stdout)["points"]
    for point in points:
        (times,) = point["times"]
        assert times["tokens_per_s"] == pytest.approx(
            point["step"]["batch"] * 1e6 / point["step"]["sequential_us"]
        )
    assert len(points) == 4


@pytest.mark.usefixtures("thorough_runtime")
def test_a_run_that_copies_states_is_advised_a_buffer_for_each(
    first_run: FirstRun, tmp_path: Path
) -> None:
    """ONNX Runtime returns presents of its own, unless they are bound to where the pasts are."""
    past = 16_384
    swept_step(first_run[0], tmp_path, (1,), (past,))
    data = ["--data", str(tmp_path / "data")]
    sizes = ("batch_size=1", "sequence_length=1", f"past_sequence_length={past}")
    dims = [
        part for size in (*sizes, f"total_sequence_length={past + 1}") for part in ("--dim", size)
    ]
    asked = CliRunner().invoke(cli, ["profile", str(tmp_path / "step.onnx"), *dims, *data])
    assert asked.exit_code == 0, asked.output
    asked = CliRunner().invoke(cli, ["advise", "step", "--format", "json", *data])
    (model,) = json.loads(asked.stdout)["models"]
    (advice,) = (each for each in model["advice"] if each["source"] == "states in place")
    assert advice["op"] == "GroupQueryAttention"
    assert "past_present_share_buffer" in advice["do"]
    (what_if,) = known_what_ifs(settings_in(data[1]), ["step"], ["fp32"], {}).models
    (copied,) = (w for w in what_if.what_ifs if w.name == "states copied, not in place")
    assert copied.more_us is not None
    assert 0 < advice["saved_us"] <= copied.more_us


def test_what_is_bound_twice_is_refused_before_anything_is_done(step: Path, tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "data")
    request = RunRequest((str(step),), dims={"past": 4, "total": 5}, derived={"total": "past+1"})
    with pytest.raises(BenanzaError, match="give one of them"):
        run(request, settings)
    assert not (tmp_path / "data").exists()
