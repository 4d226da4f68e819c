"""What `benchmarks.pytorch.compare` found of PyTorch, as a recording for `benanza import`:

    python -m benchmarks.pytorch.as_recording OUT ROWS --measured 2026-11-25

The rows have medians and spreads, but neither samples nor calls. Their models are those of
`benanza zoo --all`; each was timed as a CUDA graph.
"""

import argparse
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benanza.importing.recording import write_recording
from benanza.publishing.asked_models import AskedModel, asked_models
from benanza.pytorch.names import parsed
from benanza.pytorch.options import CAPTURED, configurations
from benanza.request import RunRequest
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelProfiled, RunTimes, System, event_id, identified
from benchmarks.pytorch.rows import Row, Software, Timed, TorchAttempt, read

_KNOWN = {
    configuration.name: dict(configuration.options) for configuration in configurations(on_gpu=True)
}
CONFIGURATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "eager, NCHW": ("CUDA graph", _KNOWN["CUDA graph"]),
    "eager, NHWC": ("CUDA graph, channels last", _KNOWN["eager, channels last"] | CAPTURED),
    "compiled, NCHW": ("compiled", _KNOWN["compiled"]),
    "compiled, NHWC": ("compiled, channels last", _KNOWN["compiled, channels last"]),
}
"""Their names in `benanza profile`, and what was set; it has none for the second."""


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--measured", type=datetime.fromisoformat, required=True)
    asked = parser.parse_args()
    events = profiles(read([asked.rows]), asked.measured.replace(tzinfo=UTC), _asked)
    write_recording(asked.out, events)
    print(f"{len(events):,} events in {asked.out}")


def profiles(
    rows: Sequence[Row], measured_at: datetime, asked: Callable[[Timed], AskedModel]
) -> list[ModelProfiled]:
    """An event for each attempt; `asked` says which model a row is of."""
    versions = {row.side: row.versions for row in rows if isinstance(row, Software)}
    system = _system(versions["PyTorch"], versions["bounds"]["driver"])
    last = {row.key(): row for row in rows if isinstance(row, Timed)}
    return [
        _profile(asked(row), row, attempt, system, measured_at)
        for row in last.values()
        for attempt in row.attempts or (_untried(row),)
    ]


def _untried(row: Timed) -> TorchAttempt:
    return TorchAttempt(configuration="eager, NCHW", failure=row.failure)


def _asked(row: Timed) -> AskedModel:
    name = f"zoo:{':'.join(parsed(row.model))}"
    (model,) = asked_models(name, RunRequest((name,), (row.batch,)), Limits())
    return model


def _system(versions: dict[str, str], driver: str) -> System:
    """The GPU with PyTorch's own libraries; the rows don't name the CPU."""
    cudnn = int(versions["cudnn"])
    return identified(
        System(
            system_id="0" * 32,
            runtime="pytorch",
            accelerator=versions["device"],
            driver=driver,
            cuda=versions["cuda"],
            cudnn=f"{cudnn // 10_000}.{cudnn % 10_000 // 100}.{cudnn % 100}",
            cublas="",
            cpu="",
            threads=1,
            libraries={"pytorch": versions["torch"]},
            method="",
        )
    )


def _profile(
    asked: AskedModel,
    row: Timed,
    attempt: TorchAttempt,
    system: System,
    measured_at: datetime,
) -> ModelProfiled:
    name, options = CONFIGURATIONS[attempt.configuration]
    times = None
    if not attempt.failure and attempt.median_us is not None:
        times = RunTimes(attempt.median_us, attempt.iqr_us or 0.0, ())
    seen = {"samples": attempt.samples, "kernels": attempt.kernels, "error": attempt.error}
    causes = (asked.model_id, system.system_id, name, row.precision, measured_at.isoformat())
    return ModelProfiled(
        event_id=event_id("ModelProfiled", *causes),
        model_id=asked.model_id,
        system=system,
        configuration=name,
        options=options,
        precision=row.precision,
        batch=asked.batch,
        profiled_at=measured_at,
        times=times,
        environment={key: str(value) for key, value in seen.items() if value},
        failure=attempt.failure,
    )


if __name__ == "__main__":
    main()
