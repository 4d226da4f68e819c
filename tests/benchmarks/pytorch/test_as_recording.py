"""What was found of PyTorch becomes events that can be imported."""

from datetime import UTC, datetime
from pathlib import Path

from benanza.importing.recording import read_recording, write_recording
from benanza.publishing.asked_models import AskedModel, asked_models
from benanza.request import RunRequest
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelProfiled
from benchmarks.pytorch.as_recording import profiles
from benchmarks.pytorch.rows import Row, Software, Timed, TorchAttempt

WHEN = datetime(2026, 11, 25, tzinfo=UTC)
ROWS: list[Row] = [
    Software("bounds", {"driver": "580.1"}),
    Software("PyTorch", {"device": "A GPU", "torch": "2.11", "cuda": "13.0", "cudnn": "91900"}),
    Timed(model="resnet18", precision="fp16", batch=1),
    Timed(
        model="resnet18",
        precision="fp16",
        batch=1,
        attempts=(
            TorchAttempt(
                configuration="eager, NHWC", median_us=9.0, iqr_us=0.5, samples=20, kernels=7
            ),
            TorchAttempt(
                configuration="compiled, NCHW", median_us=1.0, iqr_us=0.1, failure="off by 0.3"
            ),
        ),
    ),
    Timed(model="resnet18", precision="tf32", batch=1, failure="no module of this name"),
]


def asked(row: Timed) -> AskedModel:
    name = f"zoo:torchvision:{row.model}"
    (found,) = asked_models(name, RunRequest((name,), (row.batch,)), Limits())
    return found


def test_each_attempt_is_a_profile_with_its_time_or_its_failure(tmp_path: Path) -> None:
    write_recording(tmp_path / "r.xz", profiles(ROWS, WHEN, asked))
    found = [event for _, event in read_recording(tmp_path / "r.xz")]
    assert all(isinstance(event, ModelProfiled) for event in found)
    told = [
        (e.configuration, e.precision, e.times and e.times.median_us, e.failure)
        for e in found
        if isinstance(e, ModelProfiled)
    ]
    assert told == [
        ("CUDA graph, channels last", "fp16", 9.0, ""),
        ("compiled", "fp16", None, "off by 0.3"),
        ("CUDA graph", "tf32", None, "no module of this name"),
    ]
    assert len({event.event_id for event in found}) == 3
    first = found[0]
    assert isinstance(first, ModelProfiled)
    assert (first.system.driver, first.system.cudnn) == ("580.1", "9.19.0")
    assert first.environment == {"samples": "20", "kernels": "7"}
    assert first.options["torch.cuda.graph"] == "True"
