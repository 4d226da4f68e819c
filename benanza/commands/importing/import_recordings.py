"""`benanza import`: measurements that were made elsewhere."""

from pathlib import Path

import click

from benanza.commands.options import Format, data_option, format_option, print_json
from benanza.commands.startup import settings_of


@click.command("import")
@click.argument(
    "files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE..."
)
@data_option
@format_option
def import_recordings(files: tuple[Path, ...], data: Path | None, output: Format) -> None:
    """Imports measurements that were recorded on another system.

    Every published model with these layers then has bounds for that system, too. The measurements
    go to the Kafka that BENANZA_KAFKA names; without it, into the embedded log. Those that are
    there already are left out, and so are layers that were measured here on the same system. Each
    measurement names in its environment the file that it came in. A damaged file is not imported
    at all.

    \b
    Examples:
      benanza import recordings/nvidia-h200.xz
      benanza publish zoo:resnet50
      benanza bounds --precision fp32,fp16
    """
    from benanza.importing.import_recordings import import_recordings as take_in
    from benanza.render.units import plural

    found = take_in(files, settings_of(data))
    if output == "json":
        print_json(found)
    else:
        click.echo(
            f"{plural(found.measurements, 'measurement')} of {plural(found.systems, 'system')}, "
            f"{found.new:,} of them new"
            + (f"; {found.left_out:,} left out, measured here" if found.left_out else "")
            + (f"; {plural(found.profiles, 'profile')}" if found.profiles else "")
        )
        click.echo("bounds follow from them for published models; say: benanza publish MODEL")
