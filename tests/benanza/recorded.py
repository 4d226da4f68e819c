"""A data folder in which models have bounds by the recording of an H200."""

import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgpack

from benanza import inspect
from benanza.importing.import_recordings import import_recordings
from benanza.importing.recording import Recorded, read_recording
from benanza.installation.embedded import current_store
from benanza.publishing.publish import PublishRequest, publish
from benanza_backbone.settings import Settings, load
from benanza_schemas.codec import encode
from benanza_schemas.events import LayerMeasured
from tests.shared import copied, made_once

RECORDING = Path(__file__).parents[2] / "recordings" / "nvidia-h200.xz"
MODELS = ("squeezenet", "alexnet", "inception_v1")
AT_32 = "squeezenet"
"""Of this one what was measured at batch 32 is there, too."""


def recorded_models(folder: Path) -> Settings:
    """A folder for the caller to change, where these models have bounds at batch 1.

    It takes many seconds to make, so one is made for all, and copied.
    """
    copied(made_once("recorded", _make), folder)
    return load({"BENANZA_DATA": str(folder)})


def import_of(
    models: Iterable[tuple[str, int]], recordings: Sequence[Path], settings: Settings
) -> None:
    """Imports of the recordings what was measured of these models of the zoo at a batch size."""
    wanted = fingerprints(models)
    parts = [settings.data.with_name(recording.name) for recording in recordings]
    for recording, part in zip(recordings, parts, strict=True):
        events = [event for _, event in read_recording(recording)]
        of_them = [
            event
            for event in events
            if not isinstance(event, LayerMeasured) or event.fingerprint in wanted
        ]
        write_quickly(part, of_them)
    import_recordings(parts, settings)
    for part in parts:
        part.unlink()


def fingerprints(models: Iterable[tuple[str, int]]) -> set[str]:
    """Of the layers and groups of these models of the zoo at a batch size."""
    of_models = [inspect(f"zoo:{name}", batch=batch) for name, batch in models]
    found = {layer.fingerprint for model in of_models for layer in model.layers}
    return found | {group.fingerprint for model in of_models for group in model.groups}


def write_quickly(path: Path, events: Sequence[Recorded]) -> None:
    """What `write_recording` writes, in a tenth of the time, and larger."""
    with lzma.open(path, "wb", preset=0) as file:
        file.write(msgpack.packb(len(events)))
        file.writelines(msgpack.packb(encode(event)) for event in events)


def _make(folder: Path) -> None:
    settings = load({"BENANZA_DATA": str(folder)})
    import_of([*((name, 1) for name in MODELS), (AT_32, 32)], [RECORDING], settings)
    publish([f"zoo:{name}" for name in MODELS], PublishRequest(), settings)
    with current_store(settings):
        pass
