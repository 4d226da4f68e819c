"""A small real model with images of its classes, and its pipeline as it should be."""

from pathlib import Path

import msgspec
import pytest

from benanza.pipelines.drafting import draft
from benanza.pipelines.images.steps import CentreCrop, Normalise, Resize
from benanza.pipelines.reading import pipeline_text
from benanza.pipelines.repeat import PipelineRun, repeat
from benanza.pipelines.specification import PipelineSpecification
from benanza.settings import load
from benanza_ingest.limits import Limits

DIGITS = Path(__file__).parents[2] / "data" / "coloured_digits"
"""What benchmarks.pipelines.train trained, and 40 of the images that it never saw."""


@pytest.fixture(scope="session")
def specified() -> PipelineSpecification:
    """The pipeline that the model was trained with, in batches of 7, which 40 aren't all of."""
    drafted = draft(
        "model.onnx",
        "images",
        kind="folder",
        split="",
        framework_name="onnxruntime",
        precision="fp32",
        batch=7,
        dims={},
        folder=DIGITS,
        limits=Limits(),
    )
    decode, _, cast, _, layout = drafted.steps
    resize = Resize(
        library="pillow", interpolation="linear", corners="half_pixel", antialias=True, shorter=36
    )
    normalise = Normalise(scale=1 / 255, mean=0.5, std=0.25)
    return msgspec.structs.replace(
        drafted,
        model=msgspec.structs.replace(drafted.model, source=str(DIGITS / "model.onnx")),
        data=msgspec.structs.replace(drafted.data, source=str(DIGITS / "images")),
        steps=(decode, resize, CentreCrop(size=(32, 32)), cast, normalise, layout),
    )


def ran(specified: PipelineSpecification, file: Path) -> PipelineRun:
    """The pipeline, repeated from a file."""
    file.write_text(pipeline_text(specified), encoding="utf-8")
    return repeat(file, load(file.parent / "data"))


@pytest.fixture(scope="session")
def recorded(
    specified: PipelineSpecification, tmp_path_factory: pytest.TempPathFactory
) -> PipelineSpecification:
    """The same with what came of it."""
    return ran(specified, tmp_path_factory.mktemp("recorded") / "pipeline.toml").here
