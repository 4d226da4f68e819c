"""Settings of a data folder, for tests that measure."""

from pathlib import Path

from benanza_backbone.settings import Settings, load


def settings_in(folder: Path | str) -> Settings:
    """Layers are measured as in `conftest.environment`: in ONNX Runtime alone, on a CPU."""
    return load({"BENANZA_DATA": str(folder), "BENANZA_CPU_LIBRARIES": "none"})
