"""`benanza zoo`: models to try."""

import click

from benanza.commands.options import Format, format_option, print_json


@click.command()
@click.option(
    "--all",
    "whole",
    is_flag=True,
    help="Also those exported from torchvision, timm, transformers and diffusers, and decoders.",
)
@format_option
def zoo(*, whole: bool, output: Format) -> None:
    """Models to try, one a line.

    They are the nine models inside the onnx package and, with --all, about a hundred that PyTorch
    exported, and decoders of today of which each has a step and a prefill with four blocks: real
    graphs, without weights. --format json says what each is for, where it is from, and under which
    licence.

    \b
    Examples:
      benanza zoo
      benanza run $(benanza zoo)
      benanza run zoo:timm:levit_192
      benanza zoo --all | grep swin
      benanza run zoo:decoder:llama-3.1-8b-step --dim past=1024,4096
    """
    from benanza.publishing.zoo_models import whole_zoo
    from benanza.publishing.zoo_models import zoo as nine

    zoo_models = whole_zoo() if whole else nine(exported=False)
    if output == "json":
        print_json(zoo_models)
        return
    for model in zoo_models.models:
        click.echo(model.model)
