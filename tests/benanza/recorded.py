"""A data folder in which models have bounds by the recording of an H200."""

import shutil
from pathlib import Path

from benanza.importing.import_recordings import import_recordings
from benanza.installation.embedded import current_store
from benanza.publishing.publish import PublishRequest, publish
from benanza_backbone.settings import Settings, load
from tests.shared import made_once

RECORDING = Path(__file__).parents[2] / "recordings" / "nvidia-h200.xz"
MODELS = tuple(f"zoo:{name}" for name in ("squeezenet", "alexnet", "inception_v1", "densenet121"))


def recorded_models(folder: Path) -> Settings:
    """A folder for the caller to change, where these models have bounds at batch 1.

    It takes twenty seconds to make, so one is made for all, and copied.
    """
    shutil.copytree(made_once("recorded", _make), folder, symlinks=True)
    return load({"BENANZA_DATA": str(folder)})


def _make(folder: Path) -> None:
    settings = load({"BENANZA_DATA": str(folder)})
    import_recordings([RECORDING], settings)
    publish(MODELS, PublishRequest(), settings)
    with current_store(settings):
        pass
