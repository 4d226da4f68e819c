"""Takes the results of a suite that ran elsewhere into the event log."""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import msgspec

from benanza.importing.import_recordings import import_recordings
from benanza.importing.recording import write_recording
from benanza.suites.results import OF_SUITES, SuiteImported
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_runner.onnxruntime.network_timer import FORMAT
from benanza_runner.variants import timed_variant
from benanza_schemas.events import (
    Hash,
    LayerMeasured,
    Microseconds,
    Name,
    Reason,
    System,
    SystemMeasured,
    Time,
    Variant,
    event_id,
    identified,
)
from benanza_schemas.limits import MAX_WHOLE
from benanza_schemas.vocabulary import CacheState, StoppedBy

METHOD = f"{OF_SUITES}, format {FORMAT}"
LIBRARY = "onnxruntime-cpu"
MAX_RESULTS_BYTES = 100_000_000
MAX_NETWORKS = 100_000


class NetworkResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The times of a network's calls in microseconds, or why there are none."""

    samples_us: Annotated[tuple[Microseconds, ...], msgspec.Meta(max_length=10_000)] = ()
    failure: Reason = ""

    def __post_init__(self) -> None:
        if bool(self.samples_us) == bool(self.failure):
            raise ValueError("a network has either samples or a failure")


class SuiteResults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `run.py` of a suite writes."""

    format: int
    cpu: Name
    threads: Annotated[int, msgspec.Meta(ge=1, le=MAX_WHOLE)]
    onnxruntime: Name
    measured_at: Time
    networks: Annotated[dict[Hash, NetworkResult], msgspec.Meta(max_length=MAX_NETWORKS)]


def import_results(file: Path, settings: Settings) -> SuiteImported:
    """Appends a measurement for each network of the results, as a recording of them would be
    imported: the same file again adds nothing.

    Raises `BenanzaError` if the file can't be read or holds no results of a suite, or if the log
    can't be reached.
    """
    results = _read(file)
    system = _system(results)
    described = SystemMeasured(
        event_id=event_id("SystemMeasured", system.system_id, METHOD),
        system=system,
        measured_at=results.measured_at,
        ceilings=(),
    )
    measured = [
        _measured(fingerprint, result, system, results.measured_at)
        for fingerprint, result in results.networks.items()
    ]
    with TemporaryDirectory() as folder:
        recording = Path(folder) / "networks.xz"
        write_recording(recording, [described, *measured])
        import_recordings([recording], settings)
    timed = sum(not result.failure for result in results.networks.values())
    return SuiteImported(
        system_id=system.system_id,
        cpu=system.cpu,
        timed=timed,
        failed=len(results.networks) - timed,
    )


def _read(file: Path) -> SuiteResults:
    try:
        with file.open("rb") as opened:
            encoded = opened.read(MAX_RESULTS_BYTES + 1)
        if len(encoded) > MAX_RESULTS_BYTES:
            raise BenanzaError(
                f"{file} holds more than the {MAX_RESULTS_BYTES:,} bytes that results may have; "
                "export suites of fewer models"
            )
        results = msgspec.json.decode(encoded, type=SuiteResults)
    except OSError as error:
        raise BenanzaError(f"can't read {file} ({error.strerror})") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BenanzaError(
            f"{file} holds no results of a suite: {error}; run the suite's run.py again"
        ) from error
    if results.format != FORMAT:
        raise BenanzaError(
            f"{file} has format {results.format}, not {FORMAT}; export the suite with this version "
            "of benanza, and run it again"
        )
    return results


def _system(results: SuiteResults) -> System:
    return identified(
        System(
            system_id="0" * 32,
            runtime="onnxruntime",
            accelerator="",
            driver="",
            cuda="",
            cudnn="",
            cublas="",
            cpu=results.cpu,
            threads=results.threads,
            libraries={"onnxruntime": results.onnxruntime},
            method=METHOD,
        )
    )


def _measured(
    fingerprint: str, result: NetworkResult, system: System, measured_at: datetime
) -> LayerMeasured:
    variants: tuple[Variant, ...] = ()
    if not result.failure:
        how, cache = "operator by operator", CacheState.INTERLEAVED
        variants = (timed_variant(LIBRARY, how, result.samples_us, StoppedBy.FIXED, cache=cache),)
    return LayerMeasured(
        event_id=event_id("LayerMeasured", fingerprint, system.system_id, measured_at.isoformat()),
        fingerprint=fingerprint,
        system=system,
        precision="fp32",
        measured_at=measured_at,
        variants=variants,
        failure=result.failure,
    )
