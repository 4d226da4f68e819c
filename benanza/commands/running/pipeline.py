"""`benanza pipeline`: a specification of a model with a data set."""

from pathlib import Path

import click

from benanza.commands.options import Model, dim_option
from benanza.commands.startup import settings_of
from benanza.evaluating.request import MOST_AT_ONCE
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision


@click.command()
@click.argument("model", type=Model())
@click.argument("source", metavar="DATA")
@click.option(
    "--kind",
    type=click.Choice(("folder", "datasets")),
    default="folder",
    show_default=True,
    help="What DATA is: a folder with a folder of images for each class, or what the package "
    "datasets loads: a folder that it saved, or a name.",
)
@click.option("--split", default="", help="The split of a data set of datasets.")
@click.option(
    "--framework",
    default="onnxruntime",
    metavar="NAME",
    help="What runs the model: onnxruntime, openvino, pytorch, or one that another package brings.",
    show_default=True,
)
@click.option(
    "--precision",
    type=click.Choice(tuple(PRECISIONS)),
    default="fp32",
    show_default=True,
    help="The precision that the model runs in.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, MOST_AT_ONCE),
    default=1,
    metavar="N",
    show_default=True,
    help="Samples at a time.",
)
@dim_option
def pipeline(
    *,
    model: str,
    source: str,
    kind: str,
    split: str,
    framework: str,
    precision: Precision,
    batch: int,
    dims: tuple[tuple[str, int], ...],
) -> None:
    """Writes a specification of MODEL with DATA, in TOML.

    It holds the digests, versions and options that are found here, and steps that make what the
    model takes of an image. How the model was trained no file says: set interpolation, crop,
    normalisation and the order of the labels in the file. Then benanza evaluate --spec runs it,
    with --record writes what came of it beside it, and says what differs when it is repeated.

    \b
    Examples:
      benanza pipeline model.onnx images > pipeline.toml
      benanza evaluate --spec pipeline.toml --record recorded.toml
      benanza evaluate --spec recorded.toml
    """
    from benanza.pipelines.drafting import draft
    from benanza.pipelines.reading import pipeline_text
    from benanza_ingest.limits import limits_of

    drafted = draft(
        model,
        source,
        kind="datasets" if kind == "datasets" else "folder",
        split=split,
        framework_name=framework,
        precision=precision,
        batch=batch,
        dims=dict(dims),
        folder=Path.cwd(),
        limits=limits_of(settings_of(None)),
    )
    click.echo(pipeline_text(drafted), nl=False)
