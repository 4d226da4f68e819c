"""The zoo inside the `onnx` package: nine well-known models without weights."""

from pathlib import Path

import onnx

from benanza_ingest.errors import ModelError

PREFIX = "zoo:"
_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def zoo_names() -> list[str]:
    """The sorted names for `zoo:NAME`: `alexnet`, `densenet121`, …"""
    return sorted(_files())


def zoo_path(name: str) -> Path:
    """The ONNX file of one of the zoo's models. Raises `ModelError` for an unknown name."""
    files = _files()
    if name not in files:
        raise ModelError(f"no model {name!r} in the zoo; it has {', '.join(sorted(files))}")
    return files[name]


def _files() -> dict[str, Path]:
    def short(path: Path) -> str:
        return path.stem.removeprefix("light_").removeprefix("bvlc_")

    return {short(path): path for path in _FOLDER.glob("*.onnx")}
