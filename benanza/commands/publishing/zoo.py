"""`benanza zoo`: models to try."""

import click

from benanza.commands.options import Format, format_option, print_json


@click.command()
@click.option(
    "--all",
    "exported",
    is_flag=True,
    help="Also those exported from torchvision, timm, transformers and diffusers.",
)
@format_option
def zoo(*, exported: bool, output: Format) -> None:
    """Models to try, one a line.

    They are the nine models inside the onnx package and, with --all, about a hundred that PyTorch
    exported: real graphs, without weights. --format json says what each is for, where it is from,
    and under which licence.

    \b
    Examples:
      benanza zoo
      benanza run $(benanza zoo)
      benanza run zoo:timm:levit_192
      benanza zoo --all | grep swin
    """
    from benanza.publishing.zoo_models import zoo as known

    zoo_models = known(exported=exported)
    if output == "json":
        print_json(zoo_models)
        return
    for model in zoo_models.models:
        click.echo(model.model)
