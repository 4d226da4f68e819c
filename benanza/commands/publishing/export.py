"""`benanza export`: PyTorch models as ONNX files."""

from pathlib import Path

import click


@click.command()
@click.argument("name")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="The batch size of the inputs.",
    show_default=True,
)
def export(name: str, out: Path, batch: int) -> None:
    """Exports a PyTorch model by NAME, without weights.

    A NAME is one of torchvision's, such as resnet50, one of timm's, such as timm:levit_192, or a
    configured model of transformers or diffusers, such as transformers:llama-small. Nothing is
    downloaded: weights are random, and are not in the file. The file says of each node which of
    PyTorch's it was made for, which is how `benanza profile --framework pytorch` finds its layers.
    This needs the extra pytorch: pip install 'benanza[pytorch]'

    \b
    Examples:
      benanza export resnet50 -o resnet50.onnx
      benanza export timm:levit_192 -o levit.onnx --batch 8
      benanza profile resnet50.onnx --framework pytorch
    """
    from benanza.publishing.export import export as write_export

    nodes = write_export(name, batch, out)
    click.echo(f"wrote {out}: {nodes:,} nodes")
