"""Where bounds lose most against the memory's rate."""

import sys
from pathlib import Path

import pytest

from benanza_schemas.events import LayerMeasured
from benchmarks.pytorch.bounds import bounds, ingested
from benchmarks.pytorch.losses import CALL_US, cover_of, losses, main, table
from benchmarks.pytorch.measurements import Measurements, events_in
from tests.benchmarks.pytorch.test_bounds import always, exported, measured_by
from tests.runner.fake_runtime import FakeRuntime

ASKED = "--precision=fp32", "--bytes-per-s=3e12"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a ResNet, each operator of which took a microsecond."""
    found = tmp_path_factory.mktemp("losses") / "layers.gz"
    measured = Measurements(found, measured_by(FakeRuntime()))
    content = exported("resnet18")
    list(bounds(FakeRuntime(), measured, "resnet18", content, ["fp32"], 1, always))
    return found


def test_what_is_lost_is_beyond_the_smallest_call_and_the_memory(file: Path) -> None:
    events: list[LayerMeasured] = events_in(file)
    model, jobs = ingested("resnet18", exported("resnet18"), 1)
    cover = cover_of(model, events)
    assert cover is not None
    layers = {job.fingerprint: job.layer for job in jobs}
    fast = [*losses("resnet18", cover, layers, 1e30)]
    assert {"MaxPool", "Flatten"} & {each.title for each in fast} == {"MaxPool"}
    assert all("Conv" not in each.title and "Gemm" not in each.title for each in fast)
    assert all(each.least_us == pytest.approx(CALL_US * each.calls) for each in fast)
    (pool,) = (each for each in fast if each.title == "MaxPool")
    assert pool.share == pytest.approx((1.0 - CALL_US) / cover.sequential_us)
    (slow,) = (each for each in losses("", cover, layers, 1e9) if each.title == "MaxPool")
    moved = 4 * 64 * (112**2 + 56**2)
    assert slow.least_us == pytest.approx(CALL_US + moved / 1e9 * 1e6)
    assert table([pool, slow]).splitlines()[3].startswith("| resnet18 | MaxPool | 1 | 1.0 | 1.2 |")


def test_it_prints_each_model_that_was_measured(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("resnet18", "swin_t"):
        tmp_path.joinpath(f"{name}.onnx").write_bytes(exported(name))
    exports = [str(tmp_path / f"{name}.onnx") for name in ("resnet18", "swin_t")]
    monkeypatch.setattr(sys, "argv", ["losses", str(file), *exports, *ASKED])
    main()
    said = capsys.readouterr().out
    assert "resnet18: " in said
    assert "0.0% layout conversions" in said
    assert "swin_t" not in said
