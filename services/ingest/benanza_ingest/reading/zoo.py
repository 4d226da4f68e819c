"""The zoo: models without weights that need no download.

Nine are in the `onnx` package. Others were exported from PyTorch, and lie compressed in the folder
beside this file. Decoders are made when they are asked for.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from benanza_ingest.errors import ModelError

PREFIX = "zoo:"

ENTRIES_FILE = "models.json"

_LIGHT = Path("backend", "test", "data", "light")
"""Below the package."""

_EXPORTED = Path(__file__).parent / "exported"


class ExportedModel(msgspec.Struct, frozen=True):
    """What is known of an exported model: what it is for, the packages that it was exported of and
    with, their licence, the SHA-256 (hexadecimal) of the file, and the number of its nodes.
    """

    task: str
    source: str
    licence: str
    sha256: str
    nodes: int


def zoo_names() -> list[str]:
    """The sorted names for `zoo:NAME` of the models in the `onnx` package: `alexnet`, …"""
    return sorted(_light())


@cache
def exported_models() -> Mapping[str, ExportedModel]:
    """The exported models by name: `timm:levit_192`, `torchvision:resnet50`, …, sorted."""
    content = (_EXPORTED / ENTRIES_FILE).read_bytes()
    return msgspec.json.decode(content, type=dict[str, ExportedModel])


def zoo_path(name: str) -> Path:
    """The file of one of the zoo's models that has one; if it ends with `.xz`, it is compressed so.

    Raises `ModelError` for an unknown name.
    """
    light = _light()
    if name in light:
        return light[name]
    if name in exported_models():
        return exported_path(_EXPORTED, name)
    # Here, since what makes decoders takes a second to import, and names are completed by a shell.
    from benanza_ingest.decoders.forms import decoder_names

    every = [*light, *exported_models(), *decoder_names()]
    if likes := get_close_matches(name, every):
        raise ModelError(
            f"no model {name!r} in the zoo; did you mean "
            f"{' or '.join(f'zoo:{like}' for like in likes)}?"
        )
    raise ModelError(
        f"no model {name!r} in the zoo; it has {', '.join(sorted(light))}, and "
        f"{len(exported_models()) + len(decoder_names())} that `benanza zoo --all` lists"
    )


def exported_path(folder: Path, name: str) -> Path:
    """Where an exported model lies in a folder of them."""
    return folder / f"{name.replace(':', '-')}.onnx.xz"


def _light() -> dict[str, Path]:
    def short(path: Path) -> str:
        return path.stem.removeprefix("light_").removeprefix("bvlc_")

    # Found, and not imported: that takes a second, for which whoever completes a name would wait.
    package = find_spec("onnx")
    folders = package.submodule_search_locations or () if package else ()
    return {short(path): path for folder in folders for path in Path(folder, _LIGHT).glob("*.onnx")}
