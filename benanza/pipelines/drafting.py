"""`benanza pipeline`: a specification of a model with a data set, to begin with."""

from collections.abc import Mapping
from pathlib import Path

from benanza.pipelines.found import data_set, framework_version, hardware, model_source, software
from benanza.pipelines.images.steps import Cast, Decode, Layout, Normalise, Resize, Step
from benanza.pipelines.specification import (
    PIPELINE_VERSION,
    DataKind,
    PipelineData,
    PipelineFramework,
    PipelineModel,
    PipelineOutput,
    PipelineSpecification,
)
from benanza.profiling.framework import framework_named
from benanza.profiling.whole_model import whole_model
from benanza.publishing.fetched_once import FetchedOnce
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_runner.arrays import Array
from benanza_schemas.layer import Precision

CHANNELS = (1, 3)
IMAGE_NDIM = 4

UNKNOWN_SHA256 = "0" * 64


def draft(
    model: str,
    source: str,
    *,
    kind: DataKind,
    split: str,
    framework_name: str,
    precision: Precision,
    batch: int,
    dims: Mapping[str, int],
    folder: Path,
    limits: Limits,
) -> PipelineSpecification:
    """A specification with what is here: the model's and the data set's digests, versions, the
    machine; with all samples, the classes of the data set as labels, and the steps that make what
    the model takes of an image. Paths are from `folder`.

    How the model was trained, no file says: interpolation, crop and normalisation are guesses, and
    so is that of several outputs the first has the scores.
    Raises `BenanzaError` if something can't be had, or if the model takes no images.
    """
    framework = framework_named(framework_name)
    configuration = framework.configurations()[0]
    fetch = FetchedOnce()
    address = model_source(model, folder)
    sha256 = fetch(address, limits).sha256
    whole = whole_model(fetch.whole(address, limits), 1, dims, limits)
    inputs, outputs = whole.inputs, [output.name for output in whole.proto.graph.output]
    steps = _steps(next(iter(inputs.values()))) if len(inputs) == 1 else None
    if steps is None:
        takes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items())
        raise BenanzaError(f"{model} takes no batch of images of 1 or 3 channels, but {takes}")
    asked = PipelineData(kind=kind, source=source, sha256=UNKNOWN_SHA256, samples=1, split=split)
    data = data_set(asked, folder)
    system = framework.system()
    return PipelineSpecification(
        version=PIPELINE_VERSION,
        metrics=("top-1", "top-5"),
        model=PipelineModel(source=model, sha256=sha256, dims=dict(dims)),
        framework=PipelineFramework(
            name=framework_name,
            version=framework_version(framework, framework_name),
            configuration=configuration.name,
            precision=precision,
            batch=batch,
            options=dict(configuration.options),
        ),
        data=PipelineData(
            kind=kind,
            source=source,
            sha256=data.sha256,
            samples=len(data.samples),
            split=split,
        ),
        steps=steps,
        output=PipelineOutput(labels=data.classes, name=outputs[0] if len(outputs) > 1 else ""),
        software=software(steps, system),
        hardware=hardware(system),
    )


def _steps(takes: Array) -> tuple[Step, ...] | None:
    """What makes such an input of an image file; `None` if nothing does."""
    if takes.ndim != IMAGE_NDIM or takes.dtype.name not in ("uint8", "float16", "float32"):
        return None
    first = takes.shape[1] in CHANNELS
    if not first and takes.shape[3] not in CHANNELS:
        return None
    channels = takes.shape[1] if first else takes.shape[3]
    height, width = takes.shape[2:] if first else takes.shape[1:3]
    floats: tuple[Step, ...] = (Cast(to="float32"), Normalise(scale=1 / 255))
    if takes.dtype.name == "float16":
        floats += (Cast(to="float16"),)
    return (
        Decode(library="pillow", colours="RGB" if channels == max(CHANNELS) else "grey"),
        Resize(
            library="pillow",
            interpolation="linear",
            corners="half_pixel",
            antialias=True,
            size=(height, width),
        ),
        *(floats if takes.dtype.name != "uint8" else ()),
        Layout(to="NCHW" if first else "NHWC"),
    )
