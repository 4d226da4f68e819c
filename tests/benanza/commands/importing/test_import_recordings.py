"""`benanza import`, into both logs; and the bounds that follow from it."""

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from benanza.cli import cli
from benanza.importing import import_recordings
from benanza.importing.recording import write_recording
from benanza.importing.remembered import FILE
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.settings import load
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.zoo import zoo_path
from benanza_runner.core import Runner
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import (
    BenchmarkRequested,
    LayerMeasured,
    LayerSeen,
    ModelProfiled,
    ModelPublished,
    event_id,
)
from benanza_schemas.topics import PROFILES, RESULTS, topic_and_key
from tests.backbone.sample_events import PROFILED, WITNESSED
from tests.benanza.commands.conftest import Kind, opened_log
from tests.benanza.hashed_runtime import HashedRuntime
from tests.schemas.samples import NOON

MODEL = "squeezenet"


@cache
def measured() -> Sequence[LayerMeasured]:
    """All layers of the model, on a system that is elsewhere; made once, as it takes a while."""
    content = zoo_path(MODEL).read_bytes()
    published = ModelPublished(event_id="0" * 32, name=MODEL, sha256="0" * 64, batch_sizes=(1,))
    runner = Runner(HashedRuntime(), ["fp16"], lambda: NOON)
    return [
        result
        for event in ingest(published, content, Limits())
        if isinstance(event, LayerSeen)
        for result in runner.handle(
            BenchmarkRequested(
                event_id=event_id("BenchmarkRequested", event.fingerprint),
                fingerprint=event.fingerprint,
                layer=event.layer,
            )
        )
    ]


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def in_the_log() -> list[str]:
    with opened_log() as log:
        return [decode(record.value).event_id for record in log.records(RESULTS)]


def test_it_takes_in_what_is_new_and_nothing_twice(with_engine: Kind, tmp_path: Path) -> None:
    events = measured()
    some, all_ = tmp_path / "some.xz", tmp_path / "all.xz"
    write_recording(some, events[:10])
    write_recording(all_, events)
    assert command("import", str(some)).stdout == (
        "10 measurements of 1 system, 10 of them new\n"
        "bounds follow from them for published models; say: benanza publish MODEL\n"
    )
    done = command("import", str(all_), str(some), "--format", "json")
    assert json.loads(done.stdout) | {"schema_version": 1} == {
        "schema_version": 1,
        "systems": 1,
        "measurements": len(events) + 10,
        "new": len(events) - 10,
        "left_out": 0,
        "profiles": 0,
        "witnesses": 0,
        "unread": int(with_engine == "embedded"),
    }
    assert in_the_log() == [event.event_id for event in events]


def test_a_file_is_not_read_twice_until_something_is_taken_back(
    embedded: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = measured()
    file, other = tmp_path / "r.xz", tmp_path / "s.xz"
    write_recording(file, [*events[:10], PROFILED])
    write_recording(other, events[5:15])
    assert command("import", str(other)).exit_code == 0
    assert command("import", str(file)).exit_code == 0
    with monkeypatch.context() as patched:
        patched.setattr(import_recordings, "read_recording", None)
        again = command("import", str(file), str(file))
    assert again.stdout == (
        "20 measurements of 1 system, 0 of them new; 2 profiles; imported before\n"
    )
    # What the other file had in common with it came in the other one.
    assert command("import", "--undo", str(other)).exit_code == 0
    assert command("import", str(file)).stdout.startswith(
        "10 measurements of 1 system, 5 of them new; 1 profile\n"
    )
    (tmp_path / "data" / FILE).write_text("damaged")
    assert command("import", str(file)).stdout.startswith(
        "10 measurements of 1 system, 0 of them new; 1 profile\n"
    )


def test_runs_come_along(with_engine: Kind, tmp_path: Path) -> None:
    events = measured()[:10]
    write_recording(tmp_path / "r.xz", [*events, PROFILED, WITNESSED])
    for new in (10, 0):
        assert command("import", str(tmp_path / "r.xz")).stdout.startswith(
            f"10 measurements of 1 system, {new} of them new; 1 profile; 1 witness run"
        )
    with opened_log() as log:
        runs = [decode(record.value) for record in log.records(PROFILES)]
    (profile,) = (each for each in runs if isinstance(each, ModelProfiled))
    digest = sha256((tmp_path / "r.xz").read_bytes()).hexdigest()
    assert profile.environment == {**PROFILED.environment, "imported_from": digest}
    assert msgspec.structs.replace(WITNESSED, imported_from=digest) in runs


def test_of_a_damaged_file_and_those_beside_it_nothing_is_taken_in(
    with_engine: Kind, tmp_path: Path
) -> None:
    events = measured()[:10]
    whole, damaged = tmp_path / "whole.xz", tmp_path / "damaged.xz"
    write_recording(whole, events)
    damaged.write_bytes(whole.read_bytes()[:-20])
    refused = command("import", str(whole), str(damaged))
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"error: {damaged} is no file of recorded measurements")
    assert refused.stderr.count("\n") == 1
    assert in_the_log() == []


@pytest.mark.integration
def test_a_model_that_was_published_here_has_bounds_there(tmp_path: Path) -> None:
    """What could not be measured there is missing, with the reason."""
    data = str(tmp_path / "data")
    write_recording(tmp_path / "r.xz", measured())
    assert command("publish", f"zoo:{MODEL}", "--data", data).exit_code == 0
    assert command("import", str(tmp_path / "r.xz"), "--data", data).exit_code == 0
    asked = command("bounds", "--precision", "fp16", "--data", data, "--format", "json")
    (bound,) = json.loads(asked.stdout)["bounds"]
    assert (bound["model"], bound["precision"]) == (MODEL, "fp16")
    assert bound["system_id"] == measured()[0].system.system_id
    assert bound["sequential_us"] > 0
    assert {layer["reason"] for layer in bound["coverage"]["missing"]} == {
        "chance is against this layer"
    }
    with Store.open(load({"BENANZA_DATA": data}).clickhouse) as store:
        (named,) = store.query("SELECT countIf(title = '') AS nameless FROM best_measurements")
    assert named["nameless"] == 0


@pytest.mark.integration
def test_bounds_are_as_before_once_an_import_is_taken_back(tmp_path: Path) -> None:
    """And as with it once it is imported again."""
    data, file = str(tmp_path / "data"), str(tmp_path / "r.xz")
    write_recording(Path(file), measured())

    def bound() -> dict[str, object]:
        asked = command("bounds", "--precision", "fp16", "--data", data, "--format", "json")
        (found,) = json.loads(asked.stdout)["bounds"]
        return {name: found[name] for name in ("sequential_us", "roofline_us", "coverage")}

    assert command("publish", f"zoo:{MODEL}", "--data", data).exit_code == 0
    assert command("import", file, "--data", data).exit_code == 0
    imported = bound()
    assert command("import", "--undo", file, "--data", data).exit_code == 0
    undone = bound()
    assert (undone["sequential_us"], undone["roofline_us"]) == (None, None)
    reasons = {layer["reason"] for layer in undone["coverage"]["missing"]}  # type: ignore[index]
    assert reasons == {"not measured yet on this system"}
    assert command("import", file, "--data", data).exit_code == 0
    assert bound() == imported


def test_measurements_of_two_times_are_both_kept(with_engine: Kind, tmp_path: Path) -> None:
    """A layer that was measured there again: the newer one counts."""
    (event, *_) = measured()
    again = msgspec.structs.replace(event, measured_at=NOON + timedelta(hours=1))
    write_recording(tmp_path / "r.xz", [event, again])
    assert command("import", str(tmp_path / "r.xz")).exit_code == 0
    assert in_the_log() == [event.event_id] * 2


def test_what_was_measured_here_stays(with_engine: Kind, tmp_path: Path) -> None:
    own, other, *_ = measured()
    with opened_log() as log:
        log.append([Message(*topic_and_key(own), encode(own))])
    newer = [
        msgspec.structs.replace(each, measured_at=each.measured_at + timedelta(hours=1))
        for each in (own, other)
    ]
    write_recording(tmp_path / "r.xz", newer)
    assert command("import", str(tmp_path / "r.xz")).stdout.startswith(
        "2 measurements of 1 system, 1 of them new; 1 left out, measured here\n"
    )
    assert in_the_log() == [own.event_id, other.event_id]
    # What was imported is no obstacle to a newer recording.
    newest = msgspec.structs.replace(other, measured_at=NOON + timedelta(hours=2))
    write_recording(tmp_path / "s.xz", [newest])
    assert ", 1 of them new\n" in command("import", str(tmp_path / "s.xz")).stdout


def test_what_was_imported_is_taken_back_and_comes_again(with_engine: Kind, tmp_path: Path) -> None:
    """An own measurement, and what another file brought, stay."""
    own, *events = measured()
    with opened_log() as log:
        log.append([Message(*topic_and_key(own), encode(own))])
    file, other = tmp_path / "r.xz", tmp_path / "s.xz"
    write_recording(file, [*events[:10], PROFILED, WITNESSED])
    write_recording(other, events[10:12])
    for each in (file, other):
        assert command("import", str(each)).exit_code == 0
    assert (
        command("import", "--undo", str(file)).stdout
        == "took back 10 measurements; 1 profile; 1 witness run\n"
    )
    before = in_the_log()
    again = command("import", "--undo", str(file))
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr.count("\n") == 1
    assert again.stderr.startswith(
        f"error: there is nothing in the log that was imported from {file}; "
    )
    assert in_the_log() == before
    assert ", 10 of them new; 1 profile; 1 witness run" in command("import", str(file)).stdout
    undone = command("import", "--undo", str(file), str(other), "--format", "json")
    assert json.loads(undone.stdout) == {"measurements": 12, "profiles": 1, "witnesses": 1}
    assert ", 2 of them new\n" in command("import", str(other)).stdout


def test_any_file_can_be_named_to_take_it_back(with_engine: Kind, tmp_path: Path) -> None:
    """It need not be a recording any more; with one that brought nothing, nothing is done."""
    events = measured()[:3]
    file, strange = tmp_path / "r.xz", tmp_path / "strange"
    write_recording(file, events)
    strange.write_text("no recording")
    command("import", str(file))
    for wrong, says in (
        (strange, "there is nothing in the log"),
        (tmp_path / "none", "can't read"),
    ):
        done = command("import", "--undo", str(file), str(wrong))
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(f"error: {says}")
    assert command("import", "--undo", str(file)).stdout == "took back 3 measurements\n"


def test_a_measurement_of_the_future_is_refused(with_engine: Kind, tmp_path: Path) -> None:
    """The newest failure counts, so that it would do so for ever."""
    event = msgspec.structs.replace(measured()[0], measured_at=NOON.replace(year=2105))
    write_recording(tmp_path / "r.xz", [event])
    done = command("import", str(tmp_path / "r.xz"))
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "has a measurement of 2105-" in done.stderr
    assert in_the_log() == []
