"""What a pipeline finds here: the machine, the versions, and the files with their digests."""

import os
import platform
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from benanza.pipelines.comparing import fields, lines
from benanza.pipelines.data.data_set import DataSet
from benanza.pipelines.data.folder import ImageFolder
from benanza.pipelines.data.hugging_face import HuggingFaceDataSet
from benanza.pipelines.images.steps import Decode, Resize, Step
from benanza.pipelines.results import PipelineDifference
from benanza.pipelines.specification import PipelineData, PipelineSpecification
from benanza.profiling.framework import Framework
from benanza_schemas.events import System

PACKAGES = {
    "pillow": "pillow",
    "opencv": "opencv-python-headless",
    "simplejpeg": "simplejpeg",
    "onnx": "onnxruntime",
}
"""Of each library that a step may name, what is installed for it."""

_ADDRESS = re.compile(r"[a-z][a-z0-9]*:")
"""How an address begins, or `zoo:NAME`."""


def software(steps: Iterable[Step], system: System) -> dict[str, str]:
    """The versions of what the steps and the framework run in, by the names of packages."""
    used = {step.library for step in steps if isinstance(step, Decode | Resize)}
    packages = {"benanza", "numpy", *(PACKAGES[library] for library in used)}
    if used - {"pillow"}:
        packages.add("pillow")  # it reads the headers of all files
    found = {name: _version(name) for name in sorted(packages)}
    drivers = {name: getattr(system, name) for name in ("driver", "cuda", "cudnn", "cublas")}
    known = {**system.libraries, **drivers, **found, "python": platform.python_version()}
    return {name: text for name, text in known.items() if text}


def hardware(system: System) -> dict[str, str]:
    """The machine, as far as it matters."""
    named = {
        "accelerator": system.accelerator,
        "cpu": system.cpu,
        "threads": str(system.threads),
        "system": platform.system(),
    }
    return {name: text for name, text in named.items() if text}


def framework_version(framework: Framework, name: str) -> str:
    """The version of what runs the models."""
    return framework.system().libraries.get(name, "")


def data_set(data: PipelineData, folder: Path) -> DataSet:
    """The data set, its source a path from this folder. Raises `BenanzaError` if there is none."""
    if data.kind == "folder":
        return ImageFolder(folder / data.source)
    return HuggingFaceDataSet(data, folder)


def model_source(source: str, folder: Path) -> str:
    """How the model's file is found from here: an address as it is, a path from this folder."""
    return source if _ADDRESS.match(source) else os.path.normpath(folder / source)


def moved(pipeline: PipelineSpecification, folder: Path, to: Path) -> PipelineSpecification:
    """The same for a file in the folder `to`, where its paths were from another folder."""

    def path(source: str) -> str:
        there = folder / source
        if Path(source).is_absolute() or not there.exists():
            return source
        return os.path.relpath(there.resolve(), to.resolve())

    data = msgspec.structs.replace(pipeline.data, source=path(pipeline.data.source))
    recorded = pipeline.recorded
    return msgspec.structs.replace(
        pipeline,
        model=msgspec.structs.replace(pipeline.model, source=path(pipeline.model.source)),
        data=data,
        recorded=recorded and msgspec.structs.replace(recorded, data=data),
    )


def differences(
    specified: PipelineSpecification, here: PipelineSpecification
) -> Iterator[PipelineDifference]:
    """What is otherwise here, a line for each key that may be. Software and hardware that nobody
    specified are no difference.
    """
    yield from lines(
        ("model", {"sha256": specified.model.sha256}, {"sha256": here.model.sha256}),
        ("framework", fields(specified.framework), fields(here.framework)),
        ("framework.options", specified.framework.options, here.framework.options),
        ("data", {"sha256": specified.data.sha256}, {"sha256": here.data.sha256}),
        ("software", specified.software, here.software if specified.software else {}),
        ("hardware", specified.hardware, here.hardware if specified.hardware else {}),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
