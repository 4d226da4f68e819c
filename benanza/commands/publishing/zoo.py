"""`benanza zoo`: models to try."""

import click


@click.command()
def zoo() -> None:
    """Models to try, one a line.

    They are the nine models inside the onnx package: real graphs, without weights.

    \b
    Examples:
      benanza zoo
      benanza run $(benanza zoo)
    """
    from benanza_ingest.reading.zoo import PREFIX, zoo_names

    for name in zoo_names():
        click.echo(PREFIX + name)
