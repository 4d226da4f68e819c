"""A bound that is found again."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from benanza.looking.spec import known_spec
from benanza.request import BoundPolicy, RunRequest
from benanza.results.specs import (
    Spec,
    SpecDifference,
    SpecifiedBound,
    SpecifiedData,
    SpecifiedModel,
)
from benanza.running.pipeline import run
from benanza.running.progress import Silent
from benanza.running.reproduce import differences, is_same, reproduce
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.data_folder import settings_in
from tests.benanza.profiling.framework_contract import SMALL
from tests.ingest.onnx_text import content

SPEC = Spec(
    version=1,
    model=SpecifiedModel(source="net.onnx", name="net", sha256="0" * 64, batch=1, dims={}),
    data=SpecifiedData(weights="random", inputs="random", seed=1),
    software={"benanza": "0.1.0", "cudnn": "9.19.0"},
    hardware={"cpu": "A CPU", "threads": "2"},
    bound=SpecifiedBound(
        precision="fp32",
        accounting="full",
        fusion=True,
        sequential_us=100.0,
        sequential_spread_us=2.0,
        parallel_us=90.0,
        partial=False,
    ),
)


def with_bound(us: float | None, spread_us: float | None = 1.0, *, partial: bool = False) -> Spec:
    changed = replace(SPEC.bound, sequential_us=us, sequential_spread_us=spread_us, partial=partial)
    return replace(SPEC, bound=changed)


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (with_bound(103.0), True),
        (with_bound(97.0), True),
        (with_bound(103.1), False),
        (with_bound(96.9), False),
        (with_bound(102.5, None), False),
        (with_bound(100.0, partial=True), False),
        (with_bound(None), False),
    ],
)
def test_the_same_is_what_is_within_both_spreads(now: Spec, *, same: bool) -> None:
    assert is_same(SPEC, now) == same


def test_what_differs_has_both_sides() -> None:
    now = replace(
        SPEC,
        data=replace(SPEC.data, seed=2),
        software={"benanza": "0.1.0", "cudnn": "9.20.0"},
        hardware={"cpu": "A CPU", "accelerator": "A GPU", "threads": "2"},
    )
    assert list(differences(SPEC, now)) == [
        SpecDifference(what="seed", then="1", now="2"),
        SpecDifference(what="accelerator", then="", now="A GPU"),
        SpecDifference(what="cudnn", then="9.19.0", now="9.20.0"),
    ]
    assert list(differences(SPEC, SPEC)) == []


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    path.write_bytes(content(SMALL))
    return path


@pytest.fixture
def settings(data: Path) -> Settings:
    return settings_in(data)


@pytest.mark.integration
def test_a_bound_is_found_again_where_it_was_found(model: Path, settings: Settings) -> None:
    run(RunRequest((str(model),), runtime="onnxruntime"), settings)
    spec = known_spec(settings, str(model), BoundPolicy(), {})
    found = reproduce(spec, str(model), settings, Silent())
    assert found.same
    assert found.differences == ()
    assert found.bound.sequential_us == spec.bound.sequential_us
    assert found.layers.known > 0


@pytest.mark.integration
def test_what_a_gpu_s_runtime_found_is_looked_for_without_a_gpu(
    model: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run(RunRequest((str(model),), runtime="onnxruntime"), settings)
    here = known_spec(settings, str(model), BoundPolicy(), {})
    spec = replace(here, software=here.software | {"runtime": "cuda"})
    found = reproduce(spec, str(model), settings, Silent())
    assert [each.what for each in found.differences] == ["runtime"]


@pytest.mark.integration
def test_another_file_is_refused(model: Path, settings: Settings) -> None:
    with pytest.raises(BenanzaError, match=r"small.onnx is another file than that of the spec"):
        reproduce(SPEC, str(model), settings, Silent())
