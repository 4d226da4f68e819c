import sys
from pathlib import Path

import msgspec
import pytest

from benanza.importing.recording import read_recording, write_recording
from benanza_schemas.events import Ceiling, SystemMeasured
from benchmarks.merge_recordings import main, merged
from benchmarks.pytorch.measurements import Measurements
from tests.backbone.sample_events import (
    CONV_MEASURED,
    RELU_MEASURED,
    SYSTEM_MEASURED,
    after,
)

LATER = msgspec.structs.replace(CONV_MEASURED, measured_at=after(60))
IN_HALVES = msgspec.structs.replace(CONV_MEASURED, precision="fp16")
ELSEWHERE = msgspec.structs.replace(
    CONV_MEASURED, system=msgspec.structs.replace(CONV_MEASURED.system, system_id="1" * 32)
)


def test_the_last_measurement_of_a_layer_on_a_system_at_a_precision_counts() -> None:
    assert merged([CONV_MEASURED, IN_HALVES, ELSEWHERE, LATER]) == [LATER, IN_HALVES, ELSEWHERE]


def test_a_failure_takes_no_time_s_place() -> None:
    failed = msgspec.structs.replace(CONV_MEASURED, variants=(), failure="out of memory")
    assert merged([CONV_MEASURED, failed]) == [CONV_MEASURED]
    assert merged([failed, CONV_MEASURED]) == [CONV_MEASURED]
    assert merged([failed]) == [failed]


def test_a_system_has_the_ceilings_of_all_and_the_highest_of_each() -> None:
    faster = Ceiling("bandwidth", "fp32", 3e10, 1e8)
    other = Ceiling("bandwidth", "fp16", 2e10, 1e8)
    second = msgspec.structs.replace(SYSTEM_MEASURED, ceilings=(faster, other))
    (found,) = merged([SYSTEM_MEASURED, second])
    (_, flops) = SYSTEM_MEASURED.ceilings
    assert found == msgspec.structs.replace(second, ceilings=(faster, flops, other))
    (found,) = merged([second, SYSTEM_MEASURED])
    assert isinstance(found, SystemMeasured)
    assert set(found.ceilings) == {faster, flops, other}


def test_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_recording(tmp_path / "a", [SYSTEM_MEASURED, CONV_MEASURED])
    write_recording(tmp_path / "b", [LATER, RELU_MEASURED])
    paths = [str(tmp_path / name) for name in ("out", "a", "b")]
    monkeypatch.setattr(sys, "argv", ["merge_recordings", *paths])
    main()
    found = [event for _, event in read_recording(tmp_path / "out")]
    assert found == [SYSTEM_MEASURED, LATER, RELU_MEASURED]


def test_what_compare_measured_has_its_system_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.layers.gz"
    measurements = Measurements(file, CONV_MEASURED.system.system_id)
    measurements.add(CONV_MEASURED)
    measurements.add(RELU_MEASURED)
    monkeypatch.setattr(sys, "argv", ["merge_recordings", str(tmp_path / "out"), str(file)])
    main()
    system, *layers = [event for _, event in read_recording(tmp_path / "out")]
    assert isinstance(system, SystemMeasured)
    assert (system.system, system.ceilings) == (CONV_MEASURED.system, ())
    assert layers == [CONV_MEASURED, RELU_MEASURED]


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"no gzip"])
def test_a_damaged_file_of_layers_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    file = tmp_path / "out.layers.gz"
    Measurements(file, CONV_MEASURED.system.system_id).add(CONV_MEASURED)
    whole = file.read_bytes()
    file.write_bytes(whole[:-20] + damage)
    monkeypatch.setattr(sys, "argv", ["merge", str(tmp_path / "all.xz"), str(file)])
    with pytest.raises(SystemExit, match=r"out\.layers\.gz is damaged"):
        main()
