"""`benanza import`: measurements that were made elsewhere."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benanza.commands.options import Format, data_option, format_option, print_json
from benanza.commands.startup import settings_of

if TYPE_CHECKING:
    from benanza.results.import_recordings import Imported, Withdrawn


@click.command("import")
@click.argument(
    "files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE..."
)
@click.option(
    "--undo",
    is_flag=True,
    help="Take back what was imported from these files. They must be as they were then.",
)
@data_option
@format_option
def import_recordings(
    *, files: tuple[Path, ...], undo: bool, data: Path | None, output: Format
) -> None:
    """Imports measurements that were recorded on another system.

    Every published model with these layers then has bounds for that system, too. The measurements
    go to the Kafka that BENANZA_KAFKA names; without it, into the embedded log, and bounds are
    computed at once. Those that are there already are left out, and so are layers that were
    measured here on the same system. What is measured here later counts instead of them. A damaged
    file is not imported at all, and one that was imported before is not read again, unless
    something was taken back or forgotten since.

    With --undo, the measurements, profiles and witnesses that came in a file count no more, and
    bounds are computed without them. Importing the file again makes them count again.

    \b
    Examples:
      benanza import recordings/nvidia-h200.xz
      benanza publish zoo:resnet50
      benanza bounds --precision fp32,fp16
      benanza import --undo recordings/nvidia-h200.xz
    """
    from benanza.importing.import_recordings import import_recordings as take_in
    from benanza.looking.bounds import brought_up_to_date
    from benanza.render.units import plural

    if undo:
        _take_back(files, data, output)
        return
    settings = settings_of(data)
    imported = take_in(files, settings)
    all_known = imported.unread == len(set(files))
    known = None if all_known else brought_up_to_date(settings)
    if output == "json":
        print_json(imported)
    else:
        click.echo(
            f"{plural(imported.measurements, 'measurement')} of "
            f"{plural(imported.systems, 'system')}, {imported.new:,} of them new"
            + (f"; {imported.left_out:,} left out, measured here" if imported.left_out else "")
            + _runs(imported)
            + ("; imported before" if all_known else "")
        )
        if all_known:
            return
        models = len({bound.model_id for bound in known.bounds}) if known else 0
        click.echo(
            f"{plural(models, 'model')} {'has' if models == 1 else 'have'} bounds now; say: "
            "benanza bounds"
            if models
            else "bounds follow from them for published models; say: benanza publish MODEL"
        )


def _take_back(files: tuple[Path, ...], data: Path | None, output: Format) -> None:
    from benanza.importing.withdraw_recordings import withdraw_recordings
    from benanza.looking.bounds import brought_up_to_date
    from benanza.render.units import plural

    settings = settings_of(data)
    withdrawn = withdraw_recordings(files, settings)
    brought_up_to_date(settings)
    if output == "json":
        print_json(withdrawn)
        return
    click.echo(f"took back {plural(withdrawn.measurements, 'measurement')}{_runs(withdrawn)}")


def _runs(counts: "Imported | Withdrawn") -> str:
    from benanza.render.units import plural

    profiles, witnesses = (
        plural(counts.profiles, "profile"),
        plural(counts.witnesses, "witness run"),
    )
    return f"; {profiles}" * bool(counts.profiles) + f"; {witnesses}" * bool(counts.witnesses)
